/** Tests of Web Push are few at once, and requests end with what they are for. Contract section 3.9.1, row E155. */

import assert from 'node:assert/strict'
import { beforeEach, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { SendPush } from '../../../firmware/chat/outgoing/web-push.ts'
import { OutgoingError } from '../../../firmware/outgoing/error.ts'
import { openSession, requestsOf } from '../page/requests.ts'
import type { Client } from '../support/chat.ts'
import { newBrowser, PUSH_HOST } from '../support/push.ts'
import { chatSuite } from '../support/suite.ts'

const SETTINGS = { hosts: [PUSH_HOST], contact: 'mailto:operator@example.org', content: false }

interface Asked {
  url: string
  answer: (status: number) => void
  isCanceled: boolean
}

/** A push service that answers when the test wants it to. */
const asked: Asked[] = []
const push: SendPush = ({ url, signal }) => {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; retryAfterS: undefined }>()
  const one: Asked = { url, isCanceled: false, answer: (status) => resolve({ status, retryAfterS: undefined }) }
  asked.push(one)
  signal.addEventListener('abort', () => {
    one.isCanceled = true
    reject(new OutgoingError('it was canceled', true))
  })
  return promise
}

let settings = SETTINGS
let reads = 0
const readSettings = () => {
  reads++
  return settings
}
const { rig, hamlet, ophelia } = await chatSuite(
  { hamlet: 'member', ophelia: 'member' },
  { push, webPush: readSettings, pushPauseMs: 0 },
)
const request = requestsOf(rig)
let made = 0

async function subscribe(client: Client): Promise<string> {
  const cookie = await openSession(rig, client)
  const values = newBrowser(`/endpoint/${made++}`).subscription
  assert.equal((await request('POST', '/web_push', { cookie, values })).status, 200)
  return cookie
}

const testOf = (cookie: string) => request('POST', '/web_push/test', { cookie })
const until = async (count: number) => {
  while (asked.length < count) await wait(5)
}

beforeEach(() => {
  asked.length = 0
  settings = SETTINGS
  const { state, transaction } = rig.chat.realm
  transaction((tx) => {
    for (const { keyId } of [...state.webPush.all()]) tx.remove('webPush', keyId)
  })
})

it('one test of an account and four in all run at once', async () => {
  const people = [...'abcdef'].map((name) => rig.account(`tester${name}`))
  const cookies = await Promise.all(people.map(subscribe))
  const running = [testOf(cookies[0]!)]
  await until(1)
  const again = await testOf(cookies[0]!)
  assert.deepEqual([again.status, again.body.code], [429, 'RATE_LIMIT_HIT'])
  for (const cookie of cookies.slice(1, 4)) running.push(testOf(cookie))
  await until(4)
  const fifth = await testOf(cookies[4]!)
  assert.deepEqual([fifth.status, fifth.body.code], [429, 'RATE_LIMIT_HIT'])
  for (const { answer } of asked) answer(201)
  for (const { status } of await Promise.all(running)) assert.equal(status, 200)
  const after = testOf(cookies[0]!)
  await until(5)
  asked[4]!.answer(201)
  assert.equal((await after).status, 200)
})

it('tests of a time that the clock was set back from do not count for ever', async () => {
  const cookie = await subscribe(hamlet)
  const test = async () => {
    const before = asked.length
    const running = testOf(cookie)
    await until(before + 1)
    asked.at(-1)!.answer(201)
    return (await running).status
  }
  for (let n = 0; n < 5; n++) assert.equal(await test(), 200)
  assert.equal((await testOf(cookie)).status, 429)
  rig.advance(-3600)
  assert.equal(await test(), 200)
  rig.advance(3600)
})

it('a request under way is canceled when its subscription ends', async () => {
  const cookie = await subscribe(hamlet)
  await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'words' })
  await until(1)
  await request('DELETE', '/session', { cookie })
  while (!asked[0]!.isCanceled) await wait(20)
  await rig.chat.pushesSent()
  assert.equal(asked.length, 1)
})

it('the appliance is asked for nothing to a host that is not listed any more', async () => {
  await subscribe(hamlet)
  settings = { ...SETTINGS, hosts: ['other.example.org'] }
  await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'words' })
  await new Promise((resolve) => setImmediate(resolve))
  await rig.chat.pushesSent()
  assert.equal(asked.length, 0)
})

it('of several messages one is taken up in each turn of the event loop', async () => {
  await subscribe(ophelia) // who is not told of own messages
  const { realm } = rig.chat
  const deliver = realm.onDelivered!
  const delivered = Promise.withResolvers<Parameters<typeof deliver>[0]>()
  realm.onDelivered = delivered.resolve
  await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'words' })
  realm.onDelivered = deliver
  const message = await delivered.promise
  for (let n = 0; n < 5; n++) deliver(message)
  const first = reads
  const taken: number[] = []
  const takeTurn = async () => {
    const before = reads
    await new Promise((resolve) => setImmediate(resolve))
    taken.push(reads - before)
  }
  while (reads - first < 5) await takeTurn() // they begin when the sender has the answer
  for (let turn = 0; turn < 5; turn++) await takeTurn()
  assert.equal(Math.max(...taken), 1)
  assert.equal(
    taken.reduce((sum, one) => sum + one),
    5,
  )
})
