/**
 * The chat over TLS: opening, reading, registering, sending, all clients at once, waiting for events. Rates take turns with the bare server
 * (bare.ts) and are printed beside it; a send is printed beside one synced write, which sets its pace. Searches are measured
 * without TLS, by the processor time of each.
 *
 * node tools/bench/chat.ts [--users=1000] [--channels=200] [--messages=1000000] [--rounds=5] [--requests=200] [--searches=200] [--clients=200]
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { closeSync, fdatasyncSync, mkdtempSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { measureFlood } from './chat-flood.ts'
import { measureStorm } from './chat-storm.ts'
import {
  cpuUs,
  createClient,
  KEYS,
  median,
  OPERATOR,
  othersShare,
  quantile,
  residentMib,
  root,
  type Server,
  signRequest,
  startBare,
  writeResults,
} from './harness.ts'

const WARM_UP = 50 // requests
const POLLS_WOKEN = 500
const POLLS_IDLE = 1000
const SENDS = 20
const FILL_MS_MAX = 1_800_000

const { values } = parseArgs({
  options: {
    users: { type: 'string', default: '1000' },
    channels: { type: 'string', default: '200' },
    messages: { type: 'string', default: '1000000' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '200' },
    searches: { type: 'string', default: '200' },
    clients: { type: 'string', default: '200' }, // that register at once
  },
})
const [rounds, requests] = [Number(values.rounds), Number(values.requests)]

type Key = { email: string; key: string }

await othersShare()
const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-chat-'))
const SERVER = [join(root, 'tools/bench/chat-server.ts'), directory, values.users, values.channels, values.messages]
try {
  console.log(
    `an organization of ${values.users} users, ${values.channels} channels, ${values.messages} messages is made`,
  )
  await (await startChat()).stop()
  const searches = measureSearches()
  const { openedMs, ...chat } = await startChat()
  const bare = await startBare()
  const measured = await measure(chat, bare)
  await Promise.all([chat.stop(), bare.stop()])
  const limited = await startChat('limited')
  const flood = await measureFlood(limited, readKeys(), createAsker(limited))
  await limited.stop()
  writeResults('chat', { openedMs, searches, ...measured, flood })
} finally {
  rmSync(directory, { recursive: true, force: true })
}

function readKeys(): Key[] {
  return JSON.parse(readFileSync(join(directory, 'keys.json'), 'utf8'))
}

async function measure(chat: Server, bare: Server) {
  const keys = readKeys()
  const asked = createAsker(chat)
  const toBare = createClient(bare)
  const [me] = keys as [Key, ...Key[]]
  const sign = () => toBare.call('POST', '/keys/any/sign', OPERATOR, signRequest(KEYS[0]))
  const newest = { anchor: 'newest', num_before: '100', num_after: '0', narrow: '[["channel","channel 7"]]' }
  const registration = {
    event_types: '["message"]',
    fetch_event_types: '["realm","realm_user","subscription","stream","message","update_message_flags"]',
  }

  console.log('                                   p50 ms    p99 ms    CPU us   bare p50   times the bare server')
  const rows = {
    messages: await compare('100 messages of a channel', chat, () => asked('GET', '/messages', me, newest), sign),
    register: await compare('register', chat, () => asked('POST', '/register', me, registration), sign, 20),
    send: await compare(
      'send',
      chat,
      () =>
        asked('POST', '/messages', me, {
          type: 'channel',
          to: '"channel 9"',
          topic: 'a topic',
          content: 'a message of some words',
        }),
      syncedWrite(),
      100,
    ),
  }
  console.log('(beside a send stands one write that is synced to the disk)')
  const message = { type: 'channel', to: '"channel 9"', topic: 'a topic', content: 'sent during a storm' }
  const storm = await measureStorm(chat, keys.slice(1), () => asked('POST', '/messages', me, message), {
    clients: Number(values.clients),
    rounds,
  })
  const fanOut = await measureFanOut(chat, bare, keys)
  const idle = await measureIdle(chat, bare, keys)
  toBare.close()
  return { ...rows, storm, fanOut, idle }
}

/** One after another, in rounds that take turns. */
async function compare(
  name: string,
  { listener }: Server,
  act: () => Promise<unknown>,
  beside: () => Promise<unknown>,
  count = requests,
) {
  const [own, other]: [number[], number[]] = [[], []]
  let cpu = 0
  for (let n = 0; n < WARM_UP; n++) await act().then(beside)
  for (let round = 0; round < rounds; round++) {
    const before = cpuUs(listener)
    for (let n = 0; n < count; n++) own.push(await timed(act))
    cpu += cpuUs(listener) - before
    for (let n = 0; n < count; n++) other.push(await timed(beside))
  }
  const [p50, p99, barePart] = [median(own), quantile(own, 0.99), median(other)]
  const cpuOfOne = cpu / own.length
  console.log(
    `${name.padEnd(32)}${p50.toFixed(2).padStart(9)}${p99.toFixed(2).padStart(10)}${cpuOfOne.toFixed(0).padStart(10)}${barePart.toFixed(2).padStart(11)}${(p50 / barePart).toFixed(1).padStart(10)}`,
  )
  return { p50, p99, cpuUs: cpuOfOne, bareP50: barePart }
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now()
  await act()
  return performance.now() - startedMs
}

function syncedWrite(): () => Promise<void> {
  const file = openSync(join(directory, 'synced'), 'w')
  process.once('exit', () => closeSync(file))
  return async () => {
    writeSync(file, Buffer.alloc(4096))
    fdatasyncSync(file)
  }
}

/** One message to many that wait, and the same answer from the bare server to as many, in turn. */
async function measureFanOut(chat: Server, bare: Server, keys: readonly Key[]) {
  const [asked, askedBare] = [createAsker(chat), createAsker(bare)]
  const readers = keys.slice(1, 1 + POLLS_WOKEN)
  const queues = await openQueues(asked, readers)
  const message = { type: 'channel', to: '"channel 0"', topic: 'a topic', content: 'for everybody' }
  const [own, other]: [Woken[], Woken[]] = [[], []]
  for (let n = 0; n <= SENDS; n++) {
    const polls = () =>
      queues.map(({ key, queue }) =>
        asked('GET', '/events', key, { queue_id: queue.id, last_event_id: String(queue.last) }),
      )
    const woken = await wake(chat, polls, () => asked('POST', '/messages', keys[0]!, message))
    woken.answers.forEach((answer, at) => {
      queues[at]!.queue.last = (answer as { events: { id: number }[] }).events.at(-1)!.id
    })
    const text = JSON.stringify(woken.answers[0])
    const held = () => readers.map((key) => askedBare('GET', '/events', key, {}))
    const send = async () => {
      const path = `/messages?waiting=${readers.length}`
      while (((await askedBare('POST', path, keys[0]!, text)) as { isEarly?: boolean }).isEarly) await wait(100)
    }
    const wokenBare = await wake(bare, held, send)
    if (n === 0) continue // code that runs for the first time
    own.push(woken)
    other.push(wokenBare)
  }
  const of = (all: readonly Woken[]) => ({
    cpuMs: median(all.map((one) => one.cpuMs)),
    lastMs: median(all.map((one) => one.lastMs)),
  })
  const [figures, bareFigures] = [of(own), of(other)]
  const said = ({ cpuMs, lastMs }: ReturnType<typeof of>) =>
    `${cpuMs.toFixed(0)} ms of processor time, the last answer after ${lastMs.toFixed(0)} ms`
  console.log(`a message to ${readers.length} polls: ${said(figures)}`)
  console.log(
    `the bare server: ${said(bareFigures)}; ${(figures.cpuMs / bareFigures.cpuMs).toFixed(1)} times its processor time`,
  )
  return { polls: readers.length, ...figures, bareCpuMs: bareFigures.cpuMs, bareLastMs: bareFigures.lastMs }
}

interface Woken {
  cpuMs: number
  lastMs: number
  answers: unknown[]
}

async function wake(
  { listener }: Server,
  polls: () => Promise<unknown>[],
  send: () => Promise<unknown>,
): Promise<Woken> {
  const waiting = polls()
  await wait(500) // they have arrived
  const before = cpuUs(listener)
  const startedMs = performance.now()
  await send()
  const answers = await Promise.all(waiting)
  return { cpuMs: (cpuUs(listener) - before) / 1000, lastMs: performance.now() - startedMs, answers }
}

async function measureIdle(chat: Server, bare: Server, keys: readonly Key[]) {
  const before = residentMib(chat.listener)
  const people = Array.from({ length: POLLS_IDLE }, (_, n) => keys[n % keys.length]!)
  const queues = await openQueues(createAsker(chat), people)
  const paths = queues.map(({ queue }) => `/events?queue_id=${queue.id}&last_event_id=-1`)
  const mib = (await holding(chat, paths, people)) - before
  const bareBefore = residentMib(bare.listener)
  const ofBare = paths.map(() => '/events')
  const bareMib = (await holding(bare, ofBare, people)) - bareBefore
  console.log(
    `${POLLS_IDLE} idle polls: ${mib.toFixed(0)} MiB on top of ${before.toFixed(0)}; the bare server's: ${bareMib.toFixed(0)} MiB`,
  )
  return { polls: POLLS_IDLE, mib, beforeMib: before, bareMib }
}

/** How much memory a server has while it lets these wait. MiB. */
async function holding({ port, listener }: Server, paths: readonly string[], keys: readonly Key[]): Promise<number> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const waiting = paths.map((path, n) => {
    const { email, key } = keys[n]!
    const held = request({ agent, host: '127.0.0.1', port, path: `/api/v1${path}`, auth: `${email}:${key}` })
    held.on('error', () => {}).end()
    return held
  })
  await wait(5000)
  const mib = residentMib(listener)
  for (const held of waiting) held.destroy()
  return mib
}

async function openQueues(asked: Asked, keys: readonly Key[]) {
  const queues: { key: Key; queue: { id: string; last: number } }[] = []
  for (const key of keys) {
    const { queue_id: id } = (await asked('POST', '/register', key, {
      event_types: '["message"]',
      fetch_event_types: '[]',
    })) as { queue_id: string }
    queues.push({ key, queue: { id, last: -1 } })
  }
  return queues
}

/** `values` that are text are the body as it is. */
type Asked = (method: string, path: string, key: Key, values: Record<string, string> | string) => Promise<unknown>

/** Throws unless the answer is a success. */
function createAsker({ port }: Server): Asked {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  process.once('exit', () => agent.destroy())
  return (method, path, { email, key }, values) =>
    new Promise((resolve, reject) => {
      const encoded = typeof values === 'string' ? values : new URLSearchParams(values).toString()
      const inQuery = method === 'GET'
      const options = {
        agent,
        host: '127.0.0.1',
        port,
        method,
        path: `/api/v1${path}${inQuery ? `?${encoded}` : ''}`,
        auth: `${email}:${key}`,
        headers: inQuery
          ? {}
          : { 'content-type': 'application/x-www-form-urlencoded', 'content-length': Buffer.byteLength(encoded) },
      }
      const sent = request(options, (answer) => {
        let text = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        answer.once('end', () => {
          const body = JSON.parse(text) as { result: string; msg: string }
          if (body.result === 'success') resolve(body)
          else reject(new Error(`${method} ${path}: ${body.msg}`))
        })
      })
      sent.once('error', reject).end(inQuery ? undefined : encoded)
    })
}

function measureSearches(): unknown {
  execFileSync(process.execPath, [...SERVER, values.searches], { stdio: 'inherit' })
  return JSON.parse(readFileSync(join(directory, 'searches.json'), 'utf8'))
}

async function startChat(...options: 'limited'[]): Promise<Server & { openedMs: number }> {
  const child = spawn(process.execPath, [...SERVER, ...options], { stdio: ['pipe', 'pipe', 'inherit'] })
  const [openedMs, port] = await announced(child)
  console.log(`opened in ${openedMs.toFixed(0)} ms`)
  const stop = async () => {
    const ended = new Promise((resolve) => child.once('exit', resolve))
    child.stdin.end()
    await ended
  }
  return { openedMs, port, listener: child.pid!, processes: [child.pid!], stop }
}

function announced(child: ChildProcess): Promise<[number, number]> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('The chat does not start')), FILL_MS_MAX)
    let output = ''
    child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text
      const [, opened, port] = /opened in ([\d.]+) ms\n[^:]*:\/\/127\.0\.0\.1:(\d+): /.exec(output) ?? []
      if (port === undefined) return
      clearTimeout(late)
      resolve([Number(opened), Number(port)])
    })
    child.once('exit', () => reject(new Error(`The chat ended at its start: ${output}`)))
  })
}
