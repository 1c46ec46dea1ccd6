/**
 * How long a send takes while 500 browsers are told of it by a push service, beside the same send to the same people while Web Push is off,
 * in rounds that take turns. Fails where the median of the paired p50 is above 1.1.
 *
 * The push service is another computer as tests have it: a network namespace, which needs root. Its processor time is that of this
 * computer, and is told.
 *
 * node tools/bench/chat-push.ts [--rounds=5] [--people=500] [--sends=20]
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenThere, makeElsewhere, NO_NAMESPACES, withNames } from '../../test/chat/support/elsewhere.ts'
import { newBrowser } from '../../test/chat/support/push.ts'
import { childrenOf, commandLineOf } from '../../test/support/proc.ts'
import { startCoffer } from '../../test/support/process.ts'
import {
  type AskChat,
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
  cpuUs,
  createClient,
  expectSuccess,
  fillStore,
  isInstalled,
  median,
  othersShare,
  quantile,
  writeResults,
} from './harness.ts'

const RATIO_MAX = 1.1
const ROUND_MS = 10_000 // a conversation is pushed once in ten seconds, and then forgotten
const SETTLE_MS = 1_000
const TOPICS = 20 // of each, every subscription waits once: notifications are under way all the time
const NAME = 'push.test'

const WHICH = ['without', 'with'] as const
type Which = (typeof WHICH)[number]
const SENDS_OF_PERSON = 3 // a second; a person is answered 200 times a minute

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    people: { type: 'string', default: '500' },
    sends: { type: 'string', default: '20' }, // a second
  },
})
const [rounds, people, sends] = [values.rounds, values.people, values.sends].map(Number) as [number, number, number]

const ends: (() => unknown)[] = []
const life = { after: (end: () => unknown) => void ends.push(end) } as never
const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-push-'))
ends.push(() => rmSync(directory, { recursive: true, force: true }))
async function measureAll(): Promise<void> {
  const elsewhere = isInstalled('ip') ? makeElsewhere(life) : null
  if (elsewhere === null) return console.log(`Sends beside notifications are not measured: ${NO_NAMESPACES}`)
  await othersShare()
  const { key, cert } = await makeTlsIdentity(systemRandom, undefined, [NAME])
  const files = { key: join(directory, 'push.key'), cert: join(directory, 'push.pem') }
  writeFileSync(files.key, key)
  writeFileSync(files.cert, cert)
  const service = await listenThere(life, elsewhere, serviceAt(elsewhere.there, files))
  await bundleFor(join(directory, 'program'))
  const coffer = startCoffer(life, {
    program: join(directory, 'program/boot.js'),
    data: join(directory, 'data'),
    settings: { COFFER_CHAT_PORT: '0', COFFER_LOG: 'warning' },
    through: withNames(life, { [NAME]: [elsewhere.there] }),
  })
  const { call, close } = createClient(await coffer.target())
  ends.push(close)
  await fillStore(call)
  await expectSuccess(call('PUT', '/config/outgoing', ADMIN, { authorities: cert, publicAuthorities: false }))
  const port = await makeChat(call)
  const setPush = async (isOn: boolean) => {
    const webPush = isOn ? { hosts: [NAME], contact: 'mailto:operator@example.org', content: true } : null
    await expectSuccess(call('PUT', '/chat/settings', ADMIN, { webPush }))
  }
  await setPush(true)
  console.log(`${people} people join, and subscribe their browsers`)
  const furnished = await furnish(port)
  const heard = () => service.heard().length
  await measure(createAsker(port), furnished, { spentUs: spentBy(coffer.bootPid()), setPush, heard })
}

/** Prints a line for each notification. */
const serviceAt = (address: string, { key, cert }: { key: string; cert: string }) => `
  const { readFileSync } = require('node:fs')
  const tls = { key: readFileSync('${key}'), cert: readFileSync('${cert}') }
  require('node:https').createServer(tls, (request, response) => {
    request.resume().once('end', () => {
      console.log(1)
      response.writeHead(201).end()
    })
  }).listen(443, '${address}', () => console.log('listening'))`

interface Furnished {
  channelId: number
  /** Have no browser. */
  senders: readonly PersonKey[]
}

async function furnish(port: number): Promise<Furnished> {
  const ask = createAsker(port)
  const owner = await signIn(ask)
  await ask('POST', '/users/me/subscriptions', owner, { subscriptions: '[{"name":"ops"}]' })
  const { stream_id: channelId } = await ask<{ stream_id: number }>('GET', '/get_stream_id', owner, { stream: 'ops' })
  await ask('PATCH', '/realm/user_settings_defaults', owner, { enable_stream_push_notifications: 'true' })
  const invitation = await invite(ask, owner, [channelId])
  for (let n = 0; n < people; n++) {
    const person = await joinChat(port, invitation, n)
    const session = await openSession(port, person, person.address)
    const { subscription } = newBrowser(`/browser/${n}`, NAME)
    await createAsker(port, { localAddress: person.address })('POST', '/web_push', session, subscription)
  }
  const senders: PersonKey[] = []
  for (let n = 0; n * SENDS_OF_PERSON < sends; n++) senders.push(await joinChat(port, invitation, people + n))
  return { channelId, senders }
}

interface Round {
  p50: number
  /** Notifications that arrived. */
  told: number
  /** Microseconds of processor time by process. */
  spent: Record<string, number>
}

interface Rig {
  setPush(isOn: boolean): Promise<void>
  /** Number of notifications that the push service has. */
  heard(): number
  /** Processor time of each process so far. */
  spentUs(): Record<string, number>
}

/** Processes of one Coffer by their program. */
const spentBy = (boot: number) => (): Record<string, number> =>
  Object.fromEntries(
    childrenOf(boot).map((pid) => [/\/(\w+)\.js/.exec(commandLineOf(pid))?.[1] ?? 'other', cpuUs(pid)]),
  )

async function measure(
  ask: AskChat,
  { channelId, senders }: Furnished,
  { setPush, heard, spentUs }: Rig,
): Promise<void> {
  const all: Record<Which, Round[]> = { with: [], without: [] }
  let turn = 0

  const send = async (): Promise<number> => {
    const as = senders[turn % senders.length]!
    const topic = `topic ${turn++ % TOPICS}`
    const startedMs = performance.now()
    await ask('POST', '/messages', as, { type: 'stream', to: String(channelId), topic, content: 'some words for all' })
    return performance.now() - startedMs
  }

  async function sendFor(ms: number): Promise<number[]> {
    const took: number[] = []
    const startedMs = performance.now()
    for (let dueMs = startedMs; dueMs < startedMs + ms; dueMs += 1000 / sends) {
      await wait(Math.max(0, dueMs - performance.now()))
      took.push(await send())
    }
    return took
  }

  async function measureRound(which: Which): Promise<Round> {
    await setPush(which === 'with')
    await wait(SETTLE_MS)
    const before = { told: heard(), spent: spentUs() }
    const p50 = median(await sendFor(ROUND_MS))
    const spent = Object.entries(spentUs()).map(([name, us]) => [name, us - (before.spent[name] ?? 0)] as const)
    return { p50, told: heard() - before.told, spent: Object.fromEntries(spent) }
  }

  for (const which of WHICH) await measureRound(which) // code that runs for the first time
  for (let round = 0; round < rounds; round++)
    for (const which of round % 2 === 0 ? WHICH : WHICH.toReversed()) all[which].push(await measureRound(which))
  report(all)
}

function report(all: Record<Which, Round[]>): void {
  const p50Of = (which: Which) => all[which].map(({ p50 }) => p50)
  const ratios = all.with.map(({ p50 }, round) => p50 / all.without[round]!.p50)
  const [least, ratio, most] = [0, 0.5, 1].map((share) => quantile(ratios, share)) as [number, number, number]
  const [withMs, withoutMs] = [median(p50Of('with')), median(p50Of('without'))]
  const toldASecond = (median(all.with.map(({ told }) => told)) * 1000) / ROUND_MS
  console.log(`${sends} sends a second to ${people} subscriptions, ${toldASecond.toFixed(0)} notifications a second`)
  console.log(`p50 of a send: ${withMs.toFixed(2)} ms, without notifications ${withoutMs.toFixed(2)} ms`)
  console.log(`ratio: ${ratio.toFixed(3)} (${least.toFixed(3)} to ${most.toFixed(3)}); at most ${RATIO_MAX} is wanted`)
  for (const which of WHICH) {
    const { spent } = all[which].at(-1)!
    const shares = Object.entries(spent).map(([name, us]) => `${name} ${(us / 10 / ROUND_MS).toFixed(0)} %`)
    console.log(`of one processor in the last round ${which} notifications: ${shares.join(', ')}`)
  }
  if (toldASecond === 0) throw new Error('The push service has had no notification')
  writeResults('chat-push', { people, sends, ...all, toldASecond, withMs, withoutMs, ratio })
  process.exitCode = ratio > RATIO_MAX ? 1 : 0
}

try {
  await measureAll()
} finally {
  for (const end of ends.toReversed()) await end()
}
