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

const acts = {
  pause: ({ ms }) => new Promise((resolve) => setTimeout(resolve, ms)),
  close: async () => { for (const dispose of disposers) await dispose() },
  flush: () => listeners['session/flush'](sessionOf({})),
  say: (step) => {
    for (let n = 0; n < (step.times ?? 1); n++) {
      const data = { role: 'user', source: { kind: 'user' }, content: [{ type: 'text', text: step.text }] }
      listeners['session/event'](sessionOf(step), { type: 'user/message', seq: n, time: 1000 * n, data })
    }
  },
  begin: async (step) => {
    const person = { role: 'user', source: { kind: 'user' }, content: [{ type: 'text', text: step.text }] }
    const given = { messages: [person], turn: 1, step: step.step ?? 1, agent: { session: sessionOf(step) } }
    if (step.abortMs !== undefined) given.signal = AbortSignal.timeout(step.abortMs)
    const decided = await listeners['agent/pre-step'](given, async () => ({ kind: 'enter', messages: [person] }))
    return decided.messages.slice(1).map((each) => ({ source: each.source, text: each.content[0].text }))
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
