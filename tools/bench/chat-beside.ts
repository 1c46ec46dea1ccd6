/**
 * Cost of a busy chat for the keys: signatures a second over HTTPS, and how long one takes, of one Coffer while people send
 * in its chat and others wait, and while nobody sends, in short rounds that take turns. Fails when the median of the paired
 * rates is below 0.9, or that of the paired p99 above 1.2.
 *
 * Each message wakes those who wait in its channel: an account is answered 200 times a minute at the most, so that all who
 * wait cannot hear of all that is sent. Those who send and wait are a process of their own on the same computer, whose
 * processor time is told, since it would be that of others.
 *
 * node tools/bench/chat-beside.ts [--rounds=20] [--polls=500] [--audience=25] [--sends=20]
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { chatOf, createAsker, makeChat, PASSWORD, type PersonKey, signIn } from './chat-people.ts'
import {
  bundleFor,
  type Call,
  cpuUs,
  createClient,
  expectSuccess,
  fillStore,
  KEYS,
  makeKeys,
  OPERATOR,
  othersShare,
  quantile,
  signRequest,
  startCoffer,
  writeResults,
} from './harness.ts'

const RATE_RATIO_MIN = 0.9
const P99_RATIO_MAX = 1.2
const ROUND_MS = 2_000
const SETTLE_MS = 300
const CLIENTS = 16
const BOTS_OF_USER = 190 // of 200 that one may have
const ADMINISTRATOR = 200 // whose changes no budget ends
const KEY = KEYS[0]

interface Account extends PersonKey {
  id: number
}
interface Channel {
  name: string
  accounts: Account[]
}

if (process.argv[2] === 'load') await load()
else await measureAll()

async function measureAll(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '20' },
      polls: { type: 'string', default: '500' },
      audience: { type: 'string', default: '25' },
      sends: { type: 'string', default: '20' },
    },
  })
  const [rounds, polls, audience, sends] = [values.rounds, values.polls, values.audience, values.sends].map(Number)
  await othersShare()
  const directory = mkdtempSync(join(tmpdir(), 'coffer-bench-beside-'))
  await bundleFor(join(directory, 'program'))
  const settings = { COFFER_CHAT_PORT: '0', COFFER_LOG: 'warning' }
  const coffer = await startCoffer(join(directory, 'program'), join(directory, 'data'), undefined, settings)
  const { call, close } = createClient(coffer, CLIENTS)
  let loader: ChildProcess | undefined
  try {
    await fillStore(call)
    await makeKeys(call)
    const port = await makeChat(call)
    console.log(`${polls} accounts are made: 200 a minute`)
    const channels = await makeChannels(port, polls!, audience!)
    loader = fork(import.meta.filename, ['load'])
    loader.send({ port, channels, intervalMs: 1000 / sends! })
    await once(loader, 'message')
    await measure(call, chatOf(coffer.processes[0]!), loader, rounds!, { polls, audience, sends })
  } finally {
    loader?.kill()
    close()
    await coffer.stop()
    rmSync(directory, { recursive: true, force: true })
  }
}

async function measure(call: Call, chat: number, loader: ChildProcess, rounds: number, load: object): Promise<void> {
  const rates = { with: [] as number[], without: [] as number[] }
  const p99s = { with: [] as number[], without: [] as number[] }
  let sent = 0
  let told = 0
  const spentMs = { chat: 0, clients: 0 }
  let loadedMs = 0
  await signFor(call, ROUND_MS) // code that runs for the first time
  for (let round = 0; round < rounds; round++)
    for (const which of round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const)) {
      const before = { ms: performance.now(), chat: cpuUs(chat), clients: cpuUs(loader.pid!) }
      if (which === 'with') loader.send('go')
      await wait(SETTLE_MS)
      const { rate, p99 } = await signFor(call, ROUND_MS)
      rates[which].push(rate)
      p99s[which].push(p99)
      if (which === 'without') continue
      loader.send('rest')
      const [counts] = (await once(loader, 'message')) as [{ sent: number; told: number }]
      sent += counts.sent
      told += counts.told
      spentMs.chat += (cpuUs(chat) - before.chat) / 1000
      spentMs.clients += (cpuUs(loader.pid!) - before.clients) / 1000
      loadedMs += performance.now() - before.ms
    }
  const report = (name: string, values: typeof rates) => {
    const paired = values.with.map((value, round) => value / values.without[round]!)
    const middle = (list: number[]) => quantile(list, 0.5).toFixed(1).padStart(9)
    const [low, ratio, high] = [0.25, 0.5, 0.75].map((share) => quantile(paired, share))
    console.log(
      `${name.padEnd(22)}${middle(values.with)}${middle(values.without)}   ${ratio!.toFixed(3)}  (${low!.toFixed(3)} to ${high!.toFixed(3)})`,
    )
    return ratio!
  }
  console.log(`${KEY.name}, medians of ${rounds} rounds:`)
  console.log('                           with  without   ratio  (quartiles)')
  const rateRatio = report('signatures a second', rates)
  const p99Ratio = report('p99 of one, ms', p99s)
  const sendsASecond = sent / (loadedMs / 1000)
  console.log(`sent a second: ${sendsASecond.toFixed(1)}, told: ${(told / (loadedMs / 1000)).toFixed(0)}`)
  const processorsMs = loadedMs * availableParallelism()
  const [chatShare, clientsShare] = [spentMs.chat / processorsMs, spentMs.clients / processorsMs]
  const ofAll = (share: number) => `${(share * 100).toFixed(1)} %`
  console.log(
    `of the time of all processors: the chat's process ${ofAll(chatShare)}, its clients ${ofAll(clientsShare)}`,
  )
  const rateRatioOwn = rateRatio / (1 - clientsShare)
  console.log(`ratio of signatures a second in the time that the clients leave: ${rateRatioOwn.toFixed(3)}`)
  writeResults('chat-beside', {
    rounds,
    ...load,
    sendsASecond,
    chatShare,
    clientsShare,
    rateRatio,
    rateRatioOwn,
    p99Ratio,
  })
  process.exitCode = rateRatio < RATE_RATIO_MIN || p99Ratio > P99_RATIO_MAX ? 1 : 0
}

async function signFor(call: Call, ms: number): Promise<{ rate: number; p99: number }> {
  const took: number[] = []
  const startedMs = performance.now()
  const one = async () => {
    while (performance.now() - startedMs < ms) {
      const beforeMs = performance.now()
      await expectSuccess(call('POST', `/keys/${KEY.id}/sign`, OPERATOR, signRequest(KEY)))
      took.push(performance.now() - beforeMs)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, one))
  return { rate: took.length / ((performance.now() - startedMs) / 1000), p99: quantile(took, 0.99) }
}

/** Bots, since their keys need no password: each waits in one channel, and sends there in its turn. */
async function makeChannels(port: number, polls: number, audience: number): Promise<Channel[]> {
  const ask = createAsker(port)
  const owner = await signIn(ask)
  const makers = [owner]
  while (makers.length * BOTS_OF_USER < polls) {
    const username = `maker${makers.length}@example.org`
    const values = { email: username, password: PASSWORD, full_name: `Maker ${makers.length}` }
    const { user_id } = await ask<{ user_id: number }>('POST', '/users', owner, values)
    await ask('PATCH', `/users/${user_id}`, owner, { role: String(ADMINISTRATOR) })
    makers.push(await signIn(ask, username))
  }
  const channels: Channel[] = []
  for (let first = 0; first < polls; first += audience) {
    const accounts: Account[] = []
    for (let n = first; n < Math.min(polls, first + audience); n++) {
      const bot = { full_name: `Bot ${n}`, short_name: `b${n}` }
      const maker = makers[n % makers.length]!
      const made = await ask<{ user_id: number; api_key: string }>('POST', '/bots', maker, bot)
      const { user } = await ask<{ user: { email: string } }>('GET', `/users/${made.user_id}`, maker, {})
      accounts.push({ id: made.user_id, email: user.email, key: made.api_key })
    }
    const name = `channel ${channels.length}`
    await ask('POST', '/users/me/subscriptions', owner, {
      subscriptions: JSON.stringify([{ name }]),
      principals: JSON.stringify(accounts.map(({ id }) => id)),
    })
    channels.push({ name, accounts })
  }
  return channels
}

/** In a process of its own: all wait for events, and on `go` somebody sends at each interval until `rest`. */
async function load(): Promise<void> {
  const [{ port, channels, intervalMs }] = (await once(process, 'message')) as [
    { port: number; channels: Channel[]; intervalMs: number },
  ]
  const ask = createAsker(port)
  const poll = async (account: Account) => {
    const registration = { event_types: '["message"]', fetch_event_types: '[]' }
    const { queue_id } = await ask<{ queue_id: string }>('POST', '/register', account, registration)
    void (async () => {
      for (let last = -1; ; ) {
        const { events } = await ask<{ events: { id: number }[] }>('GET', '/events', account, {
          queue_id,
          last_event_id: String(last),
        })
        last = events.at(-1)?.id ?? last
        told += events.length
      }
    })()
  }
  let sent = 0
  let told = 0
  for (const { accounts } of channels) await Promise.all(accounts.map(poll))
  let turn = 0
  let sending: NodeJS.Timeout | undefined
  process.on('message', (order) => {
    if (order === 'go') {
      sending = setInterval(() => {
        const { name, accounts } = channels[turn % channels.length]!
        const account = accounts[Math.floor(turn / channels.length) % accounts.length]!
        turn++
        const message = { type: 'channel', to: JSON.stringify(name), topic: 'a topic', content: 'some words for all' }
        void ask('POST', '/messages', account, message).then(() => sent++)
      }, intervalMs)
      return
    }
    clearInterval(sending)
    process.send!({ sent, told })
    sent = told = 0
  })
  process.once('disconnect', () => process.exit())
  process.send!(0)
}
