/**
 * Memory of the chat's process with 50 open pages, beside 50 clients of its API that register as zulip-flutter does: rounds that take
 * turns, each in a fresh process, of the same people. Fails where the median of the paired ratios is above 1.05.
 *
 * A page is what it sends: its files, its registration, presence, the messages of a conversation, and a waiting poll, by a session. Memory is
 * read after a time without requests, in which V8 collects what is left. It is read again after all have left, and have no queue.
 *
 * node tools/bench/chat-sessions.ts [--rounds=3] [--people=50]
 */

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { REGISTRATION } from '../../firmware/chat-page/model/registration.ts'
import {
  type AskChat,
  type BenchPerson,
  type BenchSession,
  chatOf,
  createAsker,
  invite,
  join as joinChat,
  makeChat,
  openSession,
  type PersonKey,
  signIn,
} from './chat-people.ts'
import {
  ADMIN,
  bundleFor,
  createClient,
  expectSuccess,
  fillStore,
  median,
  othersShare,
  quantile,
  startCoffer,
  UNLOCK_PASSPHRASE,
  writeResults,
} from './harness.ts'

const RATIO_MAX = 1.05
const QUIET_MS = 15_000 // V8 collects garbage of an idle process within some eight seconds
const READY_MS_MAX = 60_000
const CHANNEL = 'ops'
const OLD_MESSAGES = 100

/** Contract section 10.2. */
const API_REGISTRATION = {
  ...{ idle_queue_timeout: '"mobile"', apply_markdown: true, client_gravatar: false, slim_presence: true },
  client_capabilities: {
    notification_settings_null: true,
    bulk_message_deletion: true,
    user_avatar_url_field_optional: true,
    stream_typing_notifications: true,
    user_settings_object: true,
    include_deactivated_groups: true,
    empty_topic_name: true,
    individual_emoji_changes: true,
  },
}

const KINDS = ['pages', 'clients'] as const
type Kind = (typeof KINDS)[number]
const STATES = ['open', 'left'] as const
type State = (typeof STATES)[number]

/** MiB of a process. `own` is what it shares with no other and no file. */
interface Memory {
  resident: number
  own: number
}

interface Member {
  person: BenchPerson
  session: BenchSession
}

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, people: { type: 'string', default: '50' } },
})
const [rounds, people] = [Number(values.rounds), Number(values.people)]
if (!(rounds >= 1 && people >= 1)) throw new RangeError('--rounds, --people: at least 1')

await othersShare()
const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-sessions-'))
process.once('exit', () => rmSync(directory, { recursive: true, force: true }))
await bundleFor(join(directory, 'program'))
const settings = { COFFER_CHAT_PORT: '0', COFFER_LOG: 'warning' }
const coffer = await startCoffer(join(directory, 'program'), join(directory, 'data'), undefined, settings)
const { call, close } = createClient(coffer)
try {
  await fillStore(call)
  const { port, channelId, members } = await furnish()
  const measured = Array.from({ length: rounds }, () => ({}) as Record<Kind, Record<State, Memory>>)
  for (const [round, of] of measured.entries())
    for (const kind of round % 2 === 0 ? KINDS : KINDS.toReversed())
      of[kind] = await measureOne(port, channelId, members, kind)
  const ratio = report(measured)
  writeResults('chat-sessions', { people, rounds: measured, ratio })
  process.exitCode = ratio > RATIO_MAX ? 1 : 0
} finally {
  close()
  await coffer.stop()
}

/** Each person has an API key and a session, so that the process has as much to keep in all rounds. */
async function furnish(): Promise<{ port: number; channelId: number; members: Member[] }> {
  const port = await makeChat(call)
  const ask = createAsker(port)
  const owner = await signIn(ask)
  await ask('POST', '/users/me/subscriptions', owner, { subscriptions: JSON.stringify([{ name: CHANNEL }]) })
  const { stream_id: channelId } = await ask<{ stream_id: number }>('GET', '/get_stream_id', owner, { stream: CHANNEL })
  for (let n = 0; n < OLD_MESSAGES; n++) await say(ask, owner, channelId, `an old message, the ${n}th`)
  const invitation = await invite(ask, owner, [channelId])
  const members: Member[] = []
  for (let n = 0; n < people; n++) {
    const person = await joinChat(port, invitation, n)
    const { address: localAddress, email } = person
    const second = await signIn(createAsker(port, { localAddress }), email)
    members.push({ person, session: await openSession(port, second, localAddress) })
  }
  return { port, channelId, members }
}

function say(ask: AskChat, as: PersonKey | BenchSession, channelId: number, content: string): Promise<unknown> {
  return ask('POST', '/messages', as, { type: 'stream', to: String(channelId), topic: 'memory', content })
}

async function measureOne(port: number, channelId: number, members: readonly Member[], kind: Kind) {
  const pid = await renewProcess()
  const seats: Seat[] = []
  for (const member of members) seats.push(await takeSeat(port, channelId, member, kind))
  for (const { speak } of seats) await speak()
  await wait(QUIET_MS)
  const open = memoryOf(pid)
  for (const { leave } of seats) await leave()
  await wait(QUIET_MS)
  return { open, left: memoryOf(pid) }
}

/** The lock ends the chat's process, and the unlock opens the organization in another one. Returns its pid. */
async function renewProcess(): Promise<number> {
  const before = chatOf(coffer.processes[0]!)
  await expectSuccess(call('POST', '/lock', ADMIN))
  await until(async () => !existsSync(`/proc/${before}`))
  await expectSuccess(call('POST', '/unlock', undefined, { passphrase: UNLOCK_PASSPHRASE }))
  await until(async () => JSON.parse((await expectSuccess(call('GET', '/chat', ADMIN))).text).state === 'running')
  return chatOf(coffer.processes[0]!)
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + READY_MS_MAX; !(await isDone()); await wait(100))
    if (performance.now() > deadline) throw new Error('The chat does not start again')
}

interface Registered {
  queue_id: string
  last_event_id: number
}

interface Seat {
  speak(): Promise<unknown>
  leave(): Promise<void>
}

async function takeSeat(port: number, channelId: number, { person, session }: Member, kind: Kind): Promise<Seat> {
  const { address: localAddress } = person
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const ask = createAsker(port, { agent, localAddress })
  const isPage = kind === 'pages'
  const as = isPage ? session : person
  if (isPage) await loadFiles(port, localAddress)
  const registration = formOf(isPage ? REGISTRATION : API_REGISTRATION)
  const { queue_id, last_event_id } = await ask<Registered>('POST', '/register', as, registration)
  let hasLeft = false
  const polling = poll().catch((error) => {
    if (!hasLeft) throw error
  })
  const presence = { status: 'active', ping_only: false, last_update_id: -1, slim_presence: true }
  const narrow = [{ operator: 'channel', operand: channelId }]
  await ask('POST', '/users/me/presence', as, formOf(presence))
  await ask('GET', '/messages', as, formOf({ anchor: 'newest', num_before: 50, num_after: 0, narrow }))

  async function poll(): Promise<void> {
    for (let last = last_event_id; ; ) {
      const form = { queue_id, last_event_id: String(last) }
      const { events } = await ask<{ events: { id: number }[] }>('GET', '/events', as, form)
      last = events.at(-1)?.id ?? last
    }
  }

  return {
    speak: () => say(ask, as, channelId, `a message of ${person.email}`),
    async leave() {
      hasLeft = true
      await ask('DELETE', '/events', as, { queue_id })
      agent.destroy()
      await polling
    },
  }
}

function formOf(values: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)]),
  )
}

/** Connections that served nothing but files end while a page is open. */
async function loadFiles(port: number, localAddress: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, rejectUnauthorized: false })
  const load = (path: string) =>
    new Promise<string>((resolve, reject) => {
      const headers = { 'accept-encoding': path === '/' ? 'identity' : 'br' }
      request({ agent, host: '127.0.0.1', port, path, localAddress, headers }, (answer) => {
        let text = ''
        answer.setEncoding('latin1').on('data', (piece: string) => {
          text += piece
        })
        answer.once('error', reject).once('end', () => {
          if (answer.statusCode === 200) resolve(text)
          else reject(new Error(`GET ${path}: ${answer.statusCode}`))
        })
      })
        .once('error', reject)
        .end()
    })
  const files = [...(await load('/')).matchAll(/(?:href|src)="(\/[^"]*)"/g)].map(([, path]) => path!)
  if (!files.some((path) => path.endsWith('.js'))) throw new Error('The page has no script')
  await Promise.all(files.map(load))
  agent.destroy()
}

function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mib = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)![1]) / 1024
  return { resident: mib('VmRSS'), own: mib('RssAnon') }
}

/** Returns the ratio that is judged. */
function report(measured: readonly Record<Kind, Record<State, Memory>>[]): number {
  console.log(`memory of the chat's process, MiB, medians of ${measured.length} rounds:`)
  console.log('                              pages   clients   ratio  (least to most)')
  const row = (state: State, what: keyof Memory): number => {
    const of = (kind: Kind) => measured.map((round) => round[kind][state][what])
    const ratios = measured.map(({ pages, clients }) => pages[state][what] / clients[state][what])
    const [pages, clients] = [median(of('pages')), median(of('clients'))].map((mib) => mib.toFixed(1).padStart(10))
    const [least, middle, most] = [0, 0.5, 1].map((share) => quantile(ratios, share)) as [number, number, number]
    const name = `${what}, ${state === 'open' ? `${people} of them` : 'all have left'}`
    console.log(
      `${name.padEnd(25)}${pages}${clients}   ${middle.toFixed(3)}  (${least.toFixed(3)} to ${most.toFixed(3)})`,
    )
    return middle
  }
  const ratio = row('open', 'resident')
  row('open', 'own')
  row('left', 'resident')
  row('left', 'own')
  console.log(`the first is to be at most ${RATIO_MAX}`)
  return ratio
}
