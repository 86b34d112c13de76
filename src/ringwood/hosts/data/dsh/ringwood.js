/**
 * Ringwood in DeepSeek Harness: hands what person and assistant say to a Python child, and puts
 * what the child recalls into the turn that is about to begin.
 *
 * One file without dependencies. Whatever fails here leaves the turn as it would be without it:
 * every entrance is guarded, every wait has an end, and a child that is gone or silent is done
 * without.
 * The child speaks one JSON object a line: `{id, method, params}`, and `{id, result | error}` back.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { appendFileSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const name = 'ringwood'
export const inject = ['tools', 'agents', 'sessions', 'systemPrompt']

const HERE = dirname(fileURLToPath(import.meta.url))
const PROTOCOL = 1
const RECALL_MS = 1500 // of the turn that waits for its memory, unless the row says `deadlineMs`
const TOOL_MS = 60_000
const SETTLE_MS = 1000 // how long the end of a turn waits until its words are on disk
const CLOSE_MS = 4000 // the host allows five seconds
const CLOSE_SILENT_MS = 1500
const SILENT_MS = 30_000 // a child that answers nothing for so long is replaced
const RESPAWNS_MS = [500, 2000, 10_000, 60_000] // then it stays away until the host starts again
const QUEUE_LINES = 2000
const QUEUE_CHARS = 8_000_000
const PIPE_BYTES = 262_144 // handed to the pipe at most: the rest waits here, where it is counted
const COMPLAINTS = 50 // lines of a child's standard error that the log takes
const LOG_BYTES = 262_144
const POLICY_ORDER = 3150 // after the host's own sections on tools

/** What the row's `config` may set, and the child's environment variable for it. */
const SETTINGS = {
  maxNodes: 'RINGWOOD_BUDGET_MAX_NODES',
  maxChars: 'RINGWOOD_BUDGET_MAX_CHARS',
  maxNodeChars: 'RINGWOOD_BUDGET_MAX_NODE_CHARS',
  expansionDamping: 'RINGWOOD_SPREAD_EXPANSION_DAMPING',
  dropColdVectors: 'RINGWOOD_TIERS_DROP_COLD_VECTORS',
  vacuumAfterRotate: 'RINGWOOD_TIERS_VACUUM_AFTER_ROTATE',
}

/** Start. Never throws: on old hosts an exception here keeps the whole program from booting. */
export function apply(ctx, config) {
  let log = () => {}
  try {
    const row = config ?? {}
    const home = homeOf(row)
    log = logger(join(home, 'logs'))
    const child = new Child(commandOf(row), environmentOf(row, home), log)
    const capture = new Capture(child)
    const guard = (what, body) => guarded(log, what, body)

    ctx.on('session/event', guard('event', (session, event) => capture.take(session, event)))
    ctx.on('session/disposed', guard('disposed', (session) => capture.end(session)))
    ctx.on('session/flush', guard('flush', () => child.settle(SETTLE_MS)))
    const deadlineMs = Number(row.deadlineMs) || RECALL_MS
    ctx.on('agent/pre-step', (step, next) => recall(child, log, deadlineMs, step, next))
    ctx.effect(() => guard('close', () => child.close()))
    offer(ctx, child, guard)
    child.start()
  } catch (error) {
    log(`not started: ${oneLine(error)}`)
  }
}

/** Offer the policy line and the tools, as the file beside this one says. */
function offer(ctx, child, guard) {
  const { policy, tools } = JSON.parse(readFileSync(join(HERE, 'tools.json'), 'utf8'))
  guard('policy', () => {
    ctx.systemPrompt.section({ name: 'ringwood:policy', order: POLICY_ORDER, text: policy })
  })()
  for (const tool of tools) {
    guard(tool.name, () => {
      ctx.tools.register({
        ...tool,
        output: { schema: {}, render: (_, answer) => [{ type: 'text', text: answer.text }] },
        execute: (given, run) => callTool(child, tool.name, given, run),
      })
    })()
  }
}

/** Let the child run a tool; what it says went wrong becomes the tool's error. */
async function callTool(child, name, given, run) {
  const params = { name, arguments: given, ...placeOf(run?.agent?.session) }
  const answer = await child.ask('tool', params, TOOL_MS, run?.signal)
  if (answer.failed) throw new Error(answer.text)
  return answer
}

/** Let a step go ahead, the first of a turn with what memory has to say to the person's words. */
async function recall(child, log, deadlineMs, step, next) {
  const decision = await next()
  try {
    const session = step.agent.session
    if (decision?.kind !== 'enter' || step.step !== 1) return decision
    const said = decision.messages.filter(isPersons).map((each) => textOf(each.content))
    const query = said.join('\n\n')
    if (!query.trim() || isDelegated(session.header)) return decision
    const params = { query, deadline_ms: deadlineMs, ...placeOf(session) }
    const { block } = await child.ask('recall', params, deadlineMs, step.signal)
    if (!block) return decision
    return { ...decision, messages: [...decision.messages, recalled(block, session.header)] }
  } catch (error) {
    log(`turn without memory: ${oneLine(error)}`)
    return decision
  }
}

/** Build the message that carries a block; from version 4 on a session refuses the older source. */
function recalled(block, header) {
  const source = header.version >= 4
    ? { kind: 'plugin:ringwood', form: 'recall' }
    : { kind: 'plugin', plugin: 'ringwood', form: 'recall' }
  return { id: randomUUID(), role: 'user', content: [{ type: 'text', text: block }], source }
}

/** Turns a session's events into what the child keeps: the words of person and assistant alone. */
class Capture {
  #child
  #opened = new Map() // session id -> number of the first event that was kept of the current turn

  constructor(child) {
    this.#child = child
  }

  take(session, { type, seq, time, data }) {
    if (isDelegated(session.header)) return
    if (type === 'turn/start') this.#opened.delete(session.id)
    else if (type === 'turn/end') this.end(session, time)
    else if (type.startsWith('compaction/')) this.#child.tell('compacted', placeOf(session))
    else if (type === 'user/message' && isPersons(data)) {
      this.#keep(session, 'person', data.content, seq, time)
    } else if (type === 'assistant/message') {
      this.#keep(session, 'assistant', (data.message ?? data).content, seq, time)
    }
  }

  end(session, time = Date.now()) {
    const sequence = this.#opened.get(session.id)
    if (sequence === undefined) return
    this.#opened.delete(session.id)
    this.#send(session, 'end', '', sequence, time)
  }

  #keep(session, kind, content, seq, time) {
    const text = textOf(content)
    if (!text.trim()) return
    if (!this.#opened.has(session.id)) this.#opened.set(session.id, seq)
    this.#send(session, kind, text, this.#opened.get(session.id), time)
  }

  #send(session, kind, text, sequence, time) {
    const event = { kind, text, sequence: String(sequence), at: time / 1000, ...placeOf(session) }
    this.#child.tell('event', event)
  }
}

/** The Python child: started, fed, asked, replaced when it dies, given up when it cannot be. */
class Child {
  #command
  #environment
  #log
  #process = null
  #partial = ''
  #asked = new Map() // id -> {resolve, reject} of who waits for an answer
  #queue = [] // lines to send, oldest first
  #sent = new Map() // id -> line sent that must not be lost and is not acknowledged yet
  #chars = 0
  #dropped = 0
  #settled = [] // who waits until everything is acknowledged
  #lastId = 0
  #respawns = 0
  #heard = 0 // when it last said something
  #silent = false // somebody waited for it in vain, and nothing came since
  #closing = false
  #dormant = false // there is no child any more, and there will be none

  constructor(command, environment, log) {
    this.#command = command
    this.#environment = environment
    this.#log = log
  }

  start() {
    const [program, ...rest] = this.#command
    const options = {
      cwd: HERE, // the host's may be gone, and Python must not find its modules in a workspace
      env: this.#environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    }
    const started = spawn(program, rest, options)
    let complaint = ''
    let complaints = 0
    this.#process = started
    this.#partial = ''
    this.#heard = Date.now()
    started.on('error', (error) => this.#gone(started, oneLine(error)))
    started.on('close', (code, signal) => {
      this.#gone(started, `ended with ${signal ?? code}${complaint}`)
    })
    started.stderr.setEncoding('utf8').on('data', (text) => {
      for (const line of text.split('\n').filter((each) => each.trim())) {
        complaint = `: ${oneLine(line)}`
        if (++complaints <= COMPLAINTS) this.#log(`child ${started.pid} says${complaint}`)
      }
    })
    started.stdin.on('error', () => {}) // `close` says the same
    started.stdin.on('drain', () => this.#pump())
    started.stdout.setEncoding('utf8')
    started.stdout.on('data', (text) => this.#read(text))
    for (const held of [started, ...started.stdio]) held.unref?.()
    this.ask('hello', {}, SILENT_MS).then(
      ({ protocol, version }) => {
        this.#log(`child ${started.pid} of Ringwood ${version}`)
        if (protocol === PROTOCOL) return
        this.#log('it speaks another protocol: start the host again')
        this.#respawns = RESPAWNS_MS.length
        started.kill()
      },
      (error) => this.#log(`no greeting: ${oneLine(error)}`),
    )
  }

  /** Hand over what must not be lost: it is kept until acknowledged, and sent again if need be. */
  tell(method, params) {
    if (this.#dormant) return
    const id = ++this.#lastId
    const line = `${JSON.stringify({ id, method, params })}\n`
    this.#queue.push({ id, line, kept: true })
    this.#chars += line.length
    this.#bound()
    this.#pump()
  }

  /** Drop the oldest of what waits for a child that does not read; a later one catches up. */
  #bound() {
    const isFull = () => this.#queue.length > QUEUE_LINES || this.#chars > QUEUE_CHARS
    while (isFull() && this.#queue.length > 1) {
      this.#chars -= this.#queue.shift().line.length
      if (++this.#dropped === 1) this.#log('too much waits for the child: the oldest is dropped')
    }
  }

  /** Ask, and wait for the answer; rejects when it is late, given up, or the child is away. */
  ask(method, params, deadlineMs, signal) {
    if (!this.#process || this.#closing) return Promise.reject(new Error('the child is away'))
    if (this.#silent && method !== 'hello') return Promise.reject(new Error('the child is silent'))
    if (signal?.aborted) return Promise.reject(new Error('given up'))
    const id = ++this.#lastId
    const line = `${JSON.stringify({ id, method, params })}\n`
    return new Promise((resolve, reject) => {
      const late = () => this.#late(id, `no answer to ${method} within ${deadlineMs} ms`)
      const giveUp = () => this.#answer(id, { error: { message: 'given up' } })
      const timer = setTimeout(late, deadlineMs)
      const done = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', giveUp)
      }
      this.#asked.set(id, { resolve, reject, done })
      signal?.addEventListener('abort', giveUp, { once: true })
      this.#queue.push({ id, line })
      this.#chars += line.length
      this.#pump()
    })
  }

  /** Wait until all that was told is acknowledged, at most so long. */
  settle(ms) {
    if (!this.#process || this.#silent || this.#isSettled()) return undefined
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#silent = true
        resolve()
      }, ms)
      this.#settled.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }

  /** Let the child end: it reads to the end of the pipe, then goes. Waits for it, within bounds. */
  close() {
    const ending = this.#process
    this.#closing = true
    if (!ending) return undefined
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        ending.kill('SIGKILL')
        resolve()
      }, this.#silent ? CLOSE_SILENT_MS : CLOSE_MS)
      ending.once('close', () => {
        clearTimeout(timer)
        resolve()
      })
      this.#pump()
      ending.stdin.end()
    })
  }

  #pump() {
    const pipe = this.#process?.stdin
    const hasRoom = () => this.#closing || pipe.writableLength < PIPE_BYTES
    while (this.#queue.length && pipe?.writable && hasRoom()) {
      const next = this.#queue.shift()
      this.#chars -= next.line.length
      if (next.kept) this.#sent.set(next.id, next)
      pipe.write(next.line)
    }
    const isLost = this.#silent && Date.now() - this.#heard > SILENT_MS
    if (isLost && !this.#closing) this.#process?.kill('SIGKILL')
  }

  #read(text) {
    this.#heard = Date.now()
    this.#silent = false
    const lines = (this.#partial + text).split('\n')
    this.#partial = lines.pop()
    if (this.#partial.length > QUEUE_CHARS) this.#process?.kill('SIGKILL') // this is no answer
    for (const line of lines) {
      try {
        const { id, ...answer } = JSON.parse(line)
        this.#answer(id, answer)
      } catch (error) {
        this.#log(`unreadable answer: ${oneLine(error)}`)
      }
    }
  }

  #answer(id, { result, error }) {
    if (this.#sent.delete(id) && error) this.#log(`not kept: ${error.message}`)
    const waiting = this.#asked.get(id)
    this.#asked.delete(id)
    waiting?.done()
    if (error) waiting?.reject(new Error(error.message))
    else waiting?.resolve(result)
    if (this.#isSettled()) this.#settled.splice(0).forEach((resolve) => resolve())
  }

  #late(id, message) {
    this.#silent = true
    this.#answer(id, { error: { message } })
  }

  #isSettled() {
    return this.#sent.size === 0 && !this.#queue.some((each) => each.kept)
  }

  /** Let these lines wait for a child, in this order, and no others. */
  #requeue(lines) {
    this.#queue = lines
    this.#chars = lines.reduce((sum, each) => sum + each.line.length, 0)
    this.#sent.clear()
  }

  /** Note that a child is gone; start another after a pause, a few times in the host's life. */
  #gone(ended, why) {
    if (ended !== this.#process) return
    this.#process = null
    this.#silent = false
    this.#requeue([...this.#sent.values(), ...this.#queue.filter((each) => each.kept)])
    for (const id of [...this.#asked.keys()]) {
      this.#answer(id, { error: { message: `the child ${why}` } })
    }
    this.#settled.splice(0).forEach((resolve) => resolve())
    if (this.#closing) return
    const pause = ended.pid === undefined ? undefined : RESPAWNS_MS[this.#respawns++]
    if (pause === undefined) {
      this.#dormant = true
      this.#requeue([])
      this.#log(`no memory from here on: ${this.#command[0]} ${why}. ringwood dsh status says more`)
      return
    }
    this.#log(`the child ${why}; another in ${pause} ms`)
    setTimeout(() => guarded(this.#log, 'start', () => this.start())(), pause).unref()
  }
}

/** Run something of ours inside the host: what it throws goes to the log and no further. */
function guarded(log, what, body) {
  return (...given) => {
    try {
      const result = body(...given)
      return result?.catch ? result.catch((error) => log(`${what}: ${oneLine(error)}`)) : result
    } catch (error) {
      log(`${what}: ${oneLine(error)}`)
      return undefined
    }
  }
}

/** Say whether an agent talks in a session instead of a person. A person's branch is no such. */
function isDelegated({ origin, delegationDepth, parentSession, isSeeded, seedLength }) {
  if (origin === 'subagent' || delegationDepth > 0) return true
  return parentSession !== undefined && !isSeeded && !seedLength
}

function isPersons(message) {
  return message?.role !== 'assistant' && message?.source?.kind === 'user'
}

function textOf(content) {
  if (typeof content === 'string') return content
  const parts = (content ?? []).filter((part) => part.type === 'text')
  return parts.map((part) => part.text).join('\n\n')
}

function placeOf(session) {
  return { session: session?.id ?? '', directory: session?.header?.cwd ?? '' }
}

/** Find the program: the row's `command`, else RINGWOOD_CMD, else `ringwood` on PATH. */
function commandOf({ command }) {
  if (Array.isArray(command) && command.length) return command.map(String)
  const words = (process.env.RINGWOOD_CMD ?? '').split(/\s+/).filter(Boolean)
  return [...(words.length ? words : ['ringwood']), 'dsh', 'child']
}

/** Find the home as the child does; the log lies in it. */
function homeOf({ dataDir }) {
  const given = dataDir || process.env.RINGWOOD_HOME
  if (given) return resolve(given.replace(/^~(?=$|[\\/])/, homedir()))
  const below = (...folders) => join(homedir(), ...folders)
  const { LOCALAPPDATA, XDG_DATA_HOME } = process.env
  const data = {
    win32: LOCALAPPDATA || below('AppData', 'Local'),
    darwin: below('Library', 'Application Support'),
  }
  return join(data[process.platform] ?? (XDG_DATA_HOME || below('.local', 'share')), 'ringwood')
}

function environmentOf(row, home) {
  const environment = { ...process.env, RINGWOOD_HOME: home }
  for (const [key, variable] of Object.entries(SETTINGS)) {
    if (row[key] !== undefined && row[key] !== null) environment[variable] = String(row[key])
  }
  return environment
}

/** Write a log that never grows beyond twice its bound, and holds no words of the conversation. */
function logger(folder) {
  const file = join(folder, 'dsh.log')
  return (line) => {
    try {
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0
      if (size > LOG_BYTES) renameSync(file, `${file}.1`)
      const stamped = `${new Date().toISOString()} ${process.pid} ${line}\n`
      appendFileSync(file, stamped, { mode: 0o600 })
    } catch {
      // A disk that is full or read-only is no reason to break a turn.
    }
  }
}

function oneLine(error) {
  return String(error?.message ?? error).replace(/\s+/g, ' ').slice(0, 300)
}
