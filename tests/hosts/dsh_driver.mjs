/**
 * Drives the plugin as the host does, for what the real host does not do when asked: it gives up a
 * turn while memory is being recalled, or speaks faster than a child reads.
 *
 * Arguments: the plugin's file, the row's config as JSON, and the steps as JSON. Prints one JSON
 * object a step.
 */
import { pathToFileURL } from 'node:url'

const [plugin, config, steps] = process.argv.slice(2)
const { apply } = await import(pathToFileURL(plugin).href)

const listeners = {}
const disposers = []
const tools = {}
const context = {
  on: (event, listener) => { listeners[event] = listener },
  effect: (begin) => disposers.push(begin()),
  tools: { register: (tool) => { tools[tool.name] = tool } },
  systemPrompt: { section: () => {} },
}
apply(context, JSON.parse(config))

function sessionOf({ session = 'one', header = {} }) {
  return { id: session, header: { version: 4, id: session, cwd: '/', ...header } }
}

function personSays(text) {
  return { role: 'user', source: { kind: 'user' }, content: [{ type: 'text', text }] }
}

const acts = {
  pause: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)),
  close: async () => { for (const dispose of disposers) await dispose() },
  flush: () => listeners['session/flush'](sessionOf({})),
  say: (step) => {
    for (let seq = 0; seq < (step.times ?? 1); seq++) {
      const event = { type: 'user/message', seq, time: 1000 * seq, data: personSays(step.text) }
      listeners['session/event'](sessionOf(step), event)
    }
  },
  begin: async (step) => {
    const messages = [personSays(step.text)]
    const agent = { session: sessionOf(step) }
    const signal = step.abortMs === undefined ? undefined : AbortSignal.timeout(step.abortMs)
    const given = { messages, turn: 1, step: step.step ?? 1, agent, signal }
    const enter = async () => ({ kind: 'enter', messages })
    const decided = await listeners['agent/pre-step'](given, enter)
    const added = decided.messages.slice(messages.length)
    return added.map((each) => ({ source: each.source, text: each.content[0].text }))
  },
  call: (step) => tools[step.name].execute(step.arguments, { agent: { session: sessionOf(step) } }),
}

for (const step of JSON.parse(steps)) {
  const began = performance.now()
  let outcome
  try {
    outcome = { value: (await acts[step.act](step)) ?? null }
  } catch (error) {
    outcome = { error: error.message }
  }
  console.log(JSON.stringify({ ...outcome, ms: Math.round(performance.now() - began) }))
}
