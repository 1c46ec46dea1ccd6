// @test long 30
/** Attacks by strangers and former users on the port of the chat, over TLS, like tools/attack on that of the appliance. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { RATE_LIMITS } from '../../../firmware/chat/pipeline/rate-limit.ts'
import { makeTlsIdentity } from '../../../firmware/crypto/tls/identity.ts'
import type { Connection } from '../../../firmware/http/server/exchange.ts'
import type { ListenerLimits } from '../../../firmware/http/server/limits.ts'
import { listenTls } from '../../../firmware/http/server/listener.ts'
import { sampleApi } from '../../http/sample-api.ts'
import { type RawAnswer, RawClient } from '../../support/raw-client.ts'
import { type Client, OWNER_PASSWORD, openTestChat, type TestChat } from '../support/chat.ts'

const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))
const NEVER_MS = 1e9
const DEADLINE_MS = 60_000 // the machine may be busy
const BOUNDED = { timeout: DEADLINE_MS }

interface Scene {
  rig: TestChat
  hamlet: Client
  connect(): Promise<RawClient>
}

async function scene(
  t: TestContext,
  limits: Partial<ListenerLimits> = {},
  options: Parameters<typeof openTestChat>[0] = {},
): Promise<Scene> {
  const rig = await openTestChat({ heartbeatMs: () => NEVER_MS, ...options }) // nothing but the matter itself ends a poll
  const { log } = sampleApi()
  const app = { fetch: (request: Request, env: Connection) => rig.chat.api.fetch(request, env) }
  const listener = await listenTls({
    ...{ app, host: '127.0.0.1', port: 0, identity: () => identity, log, now: rig.now },
    limits: { ...limits, closeMs: 200 },
  })
  const clients: RawClient[] = []
  t.after(async () => {
    for (const client of clients) client.destroy()
    await listener.close()
    rig.close()
  })
  const connect = async () => {
    const client = await RawClient.connect(listener)
    clients.push(client)
    return client
  }
  return { rig, hamlet: rig.account('hamlet'), connect }
}

const HOST = 'host: chat.example\r\nuser-agent: hostile/1.0\r\n'

const authorization = ({ user, key }: Pick<Client, 'user' | 'key'>) =>
  `authorization: Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}\r\n`

const get = (path: string, as?: Client) =>
  `GET /api/v1${path} HTTP/1.1\r\n${HOST}${as === undefined ? '' : authorization(as)}\r\n`

const posted = (path: string, body: string, as?: Client) =>
  `POST /api/v1${path} HTTP/1.1\r\n${HOST}${as === undefined ? '' : authorization(as)}content-type: ` +
  `application/x-www-form-urlencoded\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`

const form = (values: Record<string, string>): string => new URLSearchParams(values).toString()

function assertRefused(answer: RawAnswer | null, status: number, code: string): void {
  assert.equal(answer?.status, status, answer?.body)
  assert.equal(JSON.parse(answer.body).code, code)
}

async function until(isSo: () => boolean, what: string): Promise<void> {
  const deadline = Date.now() + DEADLINE_MS
  while (!isSo()) {
    assert.ok(Date.now() < deadline, what)
    await wait(5)
  }
}

async function heldPoll(
  { rig, connect }: Scene,
  as: Client,
): Promise<{ id: string; answer: Promise<RawAnswer | null> }> {
  const { snapshot } = await as.register({ event_types: ['alert_words'] })
  const connection = await connect()
  connection.send(get(`/events?queue_id=${snapshot.queue_id}&last_event_id=-1`, as))
  const queue = rig.chat.realm.events.find(snapshot.queue_id, as.user.id)
  await until(() => queue.poll !== null, 'the poll has not come')
  return { id: snapshot.queue_id, answer: connection.answer() }
}

const well = async (connect: Scene['connect']): Promise<void> => {
  const connection = await connect()
  connection.send(get('/server_settings'))
  assert.equal((await connection.answer())?.status, 200)
  connection.destroy()
}

test(
  'a poll that waits ends with 401 when its key is revoked; the queue goes on with the new key',
  BOUNDED,
  async (t) => {
    const its = await scene(t)
    const poll = await heldPoll(its, its.hamlet)
    const { api_key: key } = await its.hamlet.post('/users/me/api_key/regenerate')
    assertRefused(await poll.answer, 401, 'INVALID_API_KEY')
    const connection = await its.connect()
    const path = `/events?queue_id=${poll.id}&last_event_id=-1&dont_block=true`
    connection.send(get(path, { ...its.hamlet, key }))
    assert.equal((await connection.answer())?.status, 200)
    connection.send(get(path, its.hamlet))
    assertRefused(await connection.answer(), 401, 'INVALID_API_KEY')
  },
)

test(
  'a poll that waits ends with 401 when its account is deactivated, and so does that of its bot',
  BOUNDED,
  async (t) => {
    const its = await scene(t)
    const made = await its.hamlet.post('/bots', { full_name: 'Ghost', short_name: 'ghost' })
    const bot = its.rig.clientOf(its.rig.chat.realm.state.user.get(made.user_id)!)
    const polls = [await heldPoll(its, its.hamlet), await heldPoll(its, bot)]
    await its.rig.owner.delete(`/users/${its.hamlet.user.id}`)
    for (const poll of polls) assertRefused(await poll.answer, 401, 'USER_DEACTIVATED')
    assert.equal(its.rig.chat.realm.events.size, 0)
  },
)

test(
  'a poll of a bot ends with 401 when its owner makes a new key, and one that a hundred newer ones push out',
  BOUNDED,
  async (t) => {
    const its = await scene(t)
    const made = await its.hamlet.post('/bots', { full_name: 'Ghost', short_name: 'ghost' })
    const bot = its.rig.clientOf(its.rig.chat.realm.state.user.get(made.user_id)!)
    const poll = await heldPoll(its, bot)
    await its.hamlet.post(`/bots/${made.user_id}/api_key/regenerate`)
    assertRefused(await poll.answer, 401, 'INVALID_API_KEY')
    const pushedOut = await heldPoll(its, its.hamlet)
    for (let n = 0; n < 100; n++) its.rig.clientOf(its.hamlet.user)
    assertRefused(await pushedOut.answer, 401, 'INVALID_API_KEY')
  },
)

test('what arrives for an account that is deactivated meanwhile is not done', async (t) => {
  const { rig, hamlet, connect } = await scene(t)
  const channel = rig.channel('denmark', [hamlet])
  const body = form({ type: 'channel', to: String(channel.id), topic: 'late', content: 'too late' })
  const request = posted('/messages', body, hamlet)
  const connection = await connect()
  connection.send(request.slice(0, -3))
  await well(connect) // the first part has been read by now, as it came before
  await rig.owner.delete(`/users/${hamlet.user.id}`)
  connection.send(request.slice(-3))
  assertRefused(await connection.answer(), 401, 'USER_DEACTIVATED')
  assert.equal(rig.chat.realm.store.messages.newestOf(channel.recipientId), undefined)
})

test('pipelined sends are answered in order, and a poll among them holds back those behind it alone', async (t) => {
  const { rig, hamlet, connect } = await scene(t)
  const channel = rig.channel('denmark', [hamlet])
  const { snapshot } = await hamlet.register({ event_types: ['alert_words'] })
  const connection = await connect()
  const send = (n: number) =>
    posted(
      '/messages',
      form({ type: 'channel', to: String(channel.id), topic: 'many', content: `number ${n}` }),
      hamlet,
    )
  const numbers = Array.from({ length: 60 }, (_, n) => n)
  connection.send(numbers.map(send).join(''))
  for (const n of numbers) {
    const { id } = JSON.parse((await connection.answer())!.body)
    assert.equal(rig.chat.realm.store.messages.get(id)?.content, `number ${n}`)
  }
  connection.send(get(`/events?queue_id=${snapshot.queue_id}&last_event_id=-1`, hamlet) + send(60))
  const queue = rig.chat.realm.events.find(snapshot.queue_id, hamlet.user.id)
  await until(() => queue.poll !== null, 'the poll has not come')
  await well(connect)
  await hamlet.post('/users/me/alert_words', { alert_words: ['ghost'] })
  assert.match((await connection.answer())!.body, /"type":"alert_words"/)
  assert.equal((await connection.answer())?.status, 200)
})

test('a flood of connections ends its own oldest ones; a poll goes on, and newcomers are answered', async (t) => {
  const its = await scene(t, { connectionsMax: 24 })
  const poll = await heldPoll(its, its.hamlet)
  const flood = (await Promise.allSettled(Array.from({ length: 60 }, () => its.connect()))).flatMap((one) =>
    one.status === 'fulfilled' ? [one.value.socket] : [],
  )
  await well(its.connect)
  await until(() => flood.filter((socket) => !socket.destroyed && !socket.readableEnded).length < 24, 'all were let in')
  await its.hamlet.post('/users/me/alert_words', { alert_words: ['ghost'] })
  assert.match((await poll.answer)!.body, /"type":"alert_words"/)
})

test('big and deeply nested parameters are refused, and neither a crash nor an entry of an error comes of them', async (t) => {
  const { rig, hamlet, connect } = await scene(t)
  const deep = (open: string, close: string, times: number) => `${open.repeat(times)}${close.repeat(times)}`
  const values = [
    deep('[', ']', 50_000),
    `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
    `[${'[],'.repeat(50_000)}[]]`,
    `[${'1'.repeat(100_000)}]`,
    `{"__proto__": {"polluted": true}}`,
    '[["channel"',
    '9'.repeat(400),
    '1e999',
  ]
  const rows: readonly (readonly [path: string, name: string])[] = [
    ['/register', 'narrow'],
    ['/register', 'client_capabilities'],
    ['/register', 'event_types'],
    ['/messages/flags/narrow?anchor=newest&num_before=1&num_after=0&op=add&flag=read', 'narrow'],
    ['/users/me/subscriptions', 'subscriptions'],
    ['/messages?type=direct&content=x', 'to'],
    ['/messages/flags?op=add&flag=read', 'messages'],
  ]
  for (const [path, name] of rows)
    for (const value of values) {
      const connection = await connect()
      connection.send(posted(path, form({ [name]: value }), hamlet))
      const answer = await connection.answer()
      const place = `${path} ${name} ${value.slice(0, 20)}: ${answer?.body.slice(0, 200)}`
      assert.ok(answer !== null && answer.status >= 400 && answer.status < 500, place)
      connection.destroy()
    }
  const connection = await connect()
  connection.send(posted('/messages/render', form({ content: 'x'.repeat(2 * 1024 * 1024) }), hamlet))
  assert.equal((await connection.answer())?.status, 413)
  assert.equal(({} as { polluted?: boolean }).polluted, undefined)
  assert.deepEqual(
    rig.logged.filter((line) => line.startsWith('error')),
    [],
  )
})

test('an account that registers a thousand times keeps 64 queues, and those of others go on', async (t) => {
  const its = await scene(t)
  const ophelia = its.rig.account('ophelia')
  const poll = await heldPoll(its, ophelia)
  const connection = await its.connect()
  const request = posted(
    '/register',
    form({ event_types: '["alert_words"]', fetch_event_types: '["alert_words"]' }),
    its.hamlet,
  )
  for (let round = 0; round < 40; round++) {
    connection.send(request.repeat(26))
    for (let n = 0; n < 26; n++) assert.equal((await connection.answer())?.status, 200)
  }
  assert.equal(its.rig.chat.realm.events.size, 65)
  await ophelia.post('/users/me/alert_words', { alert_words: ['brook'] })
  assert.match((await poll.answer)!.body, /"type":"alert_words"/)
})

test('the limit on calls counts each account by itself, and strangers of one address together', async (t) => {
  const { rig, hamlet, connect } = await scene(t, {}, { rateLimits: RATE_LIMITS })
  const connection = await connect()
  for (let n = 0; n < RATE_LIMITS.account.calls; n++) {
    connection.send(get('/users/me', hamlet))
    assert.equal((await connection.answer())?.status, 200)
  }
  connection.send(get('/users/me', hamlet))
  assertRefused(await connection.answer(), 429, 'RATE_LIMIT_HIT')
  const wrong = { ...hamlet, key: 'x'.repeat(32) }
  for (let n = 0; n < RATE_LIMITS.address.calls; n++) {
    connection.send(get('/users/me', wrong))
    assert.equal((await connection.answer())?.status, 401)
  }
  connection.send(get('/users/me', wrong))
  assertRefused(await connection.answer(), 429, 'RATE_LIMIT_HIT')
  connection.send(get('/users/me', rig.owner)) // at the same address
  assert.equal((await connection.answer())?.status, 200)
})

test('a queue that nobody reads is given up when it is full; others hear everything', async (t) => {
  const { rig, hamlet } = await scene(t)
  const ophelia = rig.account('ophelia')
  rig.channel('denmark', [hamlet, ophelia])
  const { snapshot } = await hamlet.register({ event_types: ['update_message'] })
  const read = await ophelia.register({ event_types: ['update_message'] })
  const content = 'x'.repeat(9900) // an edit says it four times: before and after, with the HTML of each
  let heard = 0
  for (let n = 0; n < 8; n++) {
    const message = { type: 'channel', to: 'denmark', topic: 'much', content }
    const { id } = await ophelia.post('/messages', message)
    for (let k = 0; k < 16; k++) await ophelia.patch(`/messages/${id}`, { content: `${content} ${k}` })
    heard += (await read.events()).length
  }
  assert.equal(heard, 8 * 16)
  const query = { queue_id: snapshot.queue_id, last_event_id: -1, dont_block: true }
  await hamlet.refused('BAD_EVENT_QUEUE_ID', 'GET', '/events', query)
})

test('uploads that stop leave nothing behind, and their places are free again', async (t) => {
  const { rig, hamlet, connect } = await scene(t)
  const { files } = rig.chat.realm.store
  const head =
    `POST /api/v1/user_uploads HTTP/1.1\r\n${HOST}${authorization(hamlet)}content-type: multipart/form-data; boundary=b\r\n` +
    `content-length: 5000000\r\n\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n`
  const stopped: RawClient[] = []
  for (let n = 0; n < 8; n++) {
    const connection = await connect()
    connection.send(head + 'x'.repeat(1_500_000))
    stopped.push(connection)
  }
  await until(() => files.all().length === 8, 'the first MiB of each is on the disk')
  assert.equal((await hamlet.upload('POST', '/user_uploads', Buffer.from('one too many'))).status, 429)
  for (const connection of stopped) connection.destroy()
  await until(() => files.all().length === 0, 'pieces stay')
  assert.equal((await hamlet.upload('POST', '/user_uploads', Buffer.from('whole'))).status, 200)
})

test('names that are other names in other cases or compositions are the same names', async (t) => {
  const { rig, hamlet, connect } = await scene(t)
  await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name: 'Élan' }] })
  for (const name of ['élan', 'ÉLAN', 'E\u0301lan', ' Élan '])
    await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name }] })
  assert.equal([...rig.chat.realm.state.channel.all()].length, 1)
  for (const topic of ['Café', 'café', 'CAFÉ', 'Cafe\u0301'])
    await hamlet.post('/messages', { type: 'channel', to: 'ÉLAN', topic, content: 'x' })
  const [channel] = [...rig.chat.realm.state.channel.all()]
  const { topics } = await hamlet.get(`/users/me/${channel!.id}/topics`)
  assert.equal(topics.length, 1)
  const email = 'OLIVIA@Example.Com'
  const connection = await connect()
  connection.send(posted('/fetch_api_key', form({ username: email, password: OWNER_PASSWORD })))
  assert.equal((await connection.answer())?.status, 200)
  const again = await rig.owner.call('POST', '/users', {
    email,
    full_name: 'Another',
    password: 'long enough a password',
  })
  assert.equal(again.status, 400)
})

test('bodies that come slowly cost their senders the connection, and nobody else anything', BOUNDED, async (t) => {
  const { hamlet, connect } = await scene(t, { drainMs: 500 })
  const announced = (path: string, as?: Client) =>
    posted(path, 'type=direct', as).replace('content-length: 11', 'content-length: 1000000')
  const slow: RawClient[] = []
  for (let n = 0; n < 3; n++)
    for (const request of [
      announced('/messages', hamlet),
      announced('/fetch_api_key'),
      announced('/user_uploads', hamlet),
    ]) {
      const connection = await connect()
      connection.send(request)
      slow.push(connection)
    }
  const dripping = setInterval(() => {
    for (const connection of slow) if (connection.socket.writable) connection.send('x')
  }, 100)
  t.after(() => clearInterval(dripping))
  for (let n = 0; n < 5; n++) await well(connect)
  for (const connection of slow) {
    const answer = await connection.answer()
    assert.equal(answer?.status, 408, answer?.body)
    await until(() => connection.socket.destroyed || connection.socket.readableEnded, 'it is still open')
  }
  await well(connect)
})
