/** Bots draw on the shares of their owners: contract section 9.1, "Other bounds of the same kind". */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { receiveUpload } from '../../../firmware/chat/realm/messages/upload-receive.ts'
import { SENDS_OF_ACCOUNT_MAX } from '../../../firmware/chat/store/idempotent-sends.ts'
import type { Client } from '../support/chat.ts'
import { postTo } from '../support/outgoing.ts'
import { chatSuite } from '../support/suite.ts'

const QUEUES_MAX = 20_000
const UPLOADS_OF_OWNER_MAX = 8
const BOTS_AT_ONCE = 16
const BOTS_OF_OWNER_AT_ONCE = 4
const HOST = 'hooks.example.org'

const called: string[] = []
let answerAll = () => {}
const held = new Promise<void>((resolve) => {
  answerAll = resolve
})
const server = createServer(async (request, response) => {
  called.push(request.url!)
  server.emit('called')
  if (request.url !== '/ophelia') await held
  response.end('{}')
})
await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
after(() => {
  answerAll()
  server.closeAllConnections()
  server.close()
})
const { port } = server.address() as AddressInfo
const { rig, hamlet, ophelia } = await chatSuite(
  { hamlet: 'member', ophelia: 'member' },
  { post: postTo(port, () => [HOST]) },
)
const channel = rig.channel('castle', [hamlet, ophelia])

let made = 0
async function newBot(owner: Client, values: Record<string, unknown> = {}): Promise<Client> {
  made++
  const { user_id: id } = await owner.post('/bots', { full_name: `Bot ${made}`, short_name: `bot${made}`, ...values })
  return rig.clientOf(rig.chat.realm.state.user.get(id)!)
}

test('an owner with many bots loses an event queue before others do', async () => {
  const { events } = rig.chat.realm
  const bots = [await newBot(hamlet), await newBot(hamlet), await newBot(hamlet)]
  const { snapshot } = await ophelia.register()
  const [template] = [...events.queuesOf(ophelia.user.id)]
  const register = (userId: number) => events.register({ ...template!, userId })
  for (const { user } of bots) for (let queue = 0; queue < 60; queue++) register(user.id)
  for (let user = 1_000_000; events.size < QUEUES_MAX; user++)
    for (let queue = 0; queue < 64 && events.size < QUEUES_MAX; queue++) register(user)
  const ofBots = () => bots.reduce((sum, { user }) => sum + [...events.queuesOf(user.id)].length, 0)
  const before = ofBots()
  const late = await ophelia.register()
  assert.equal(ofBots(), before - 1)
  const query = (queue_id: string) => ({ queue_id, last_event_id: -1, dont_block: true })
  for (const one of [snapshot, late.snapshot]) await ophelia.get('/events', query(one.queue_id))
})

test('the uploads of an account and its bots at once are bounded together', async () => {
  const bots = [await newBot(hamlet), await newBot(hamlet)]
  const { realm } = rig.chat
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  async function* content() {
    await released
    yield new Uint8Array(1)
  }
  const upload = ({ user }: Client) =>
    receiveUpload(realm, user, { name: 'a.txt', content: content(), check: () => {} })
  const callers = [hamlet, ...bots]
  const pending = Array.from({ length: UPLOADS_OF_OWNER_MAX }, (_, n) => upload(callers[n % callers.length]!))
  for (const caller of callers)
    await assert.rejects(upload(caller), { code: 'RATE_LIMIT_HIT', message: 'Too many files are being uploaded' })
  pending.push(upload(ophelia))
  release()
  await Promise.all(pending)
  assert.equal((await hamlet.upload('POST', '/user_uploads', new Uint8Array(1))).status, 200)
})

test('kept keys of sends are charged to the owner, and found again after the bot has another one', async () => {
  const bot = await newBot(hamlet)
  const { store } = rig.chat.realm
  const key = randomBytes(16).toString('base64url')
  const send = (content = 'Hello') =>
    bot.call(
      'POST',
      '/messages',
      { type: 'stream', to: channel.id, topic: 'plans', content },
      { 'idempotency-key': key },
    )
  await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name: 'castle' }], principals: [bot.user.id] })
  const first = await send()
  assert.equal(first.status, 200, JSON.stringify(first.body))
  rig.chat.realm.transaction((tx) => {
    const now = rig.chat.realm.state.user.require(bot.user.id)
    tx.put('user', { ...now, bot: { ...now.bot!, ownerId: ophelia.user.id } })
  })
  assert.equal((await send()).body.id, first.body.id)
  const row = (number: number) => {
    const hash = Buffer.from(`${number}`.padEnd(32, '.'))
    const time = Math.floor(rig.now() / 1000)
    return { user: hamlet.user.id, key: hash, parameters: hash, message: number, policy: 0, time }
  }
  store.transaction(() => {
    for (let number = 0; number < SENDS_OF_ACCOUNT_MAX; number++) store.sends.add(row(number), 0)
  })
  assert.notEqual((await send()).body.id, first.body.id, 'the oldest key of the owner has gone')
})

test('bots of one owner whose services are slow do not keep those of others waiting', async () => {
  const bots: Client[] = []
  for (let bot = 0; bot < 20; bot++)
    bots.push(await newBot(hamlet, { bot_type: 3, payload_url: JSON.stringify(`http://${HOST}/hamlet`) }))
  const other = await newBot(ophelia, { bot_type: 3, payload_url: JSON.stringify(`http://${HOST}/ophelia`) })
  for (const { user } of bots) await hamlet.post('/messages', { type: 'direct', to: [user.id], content: 'slow' })
  await ophelia.post('/messages', { type: 'direct', to: [other.user.id], content: 'fast' })
  const callsOf = (path: string) => called.filter((one) => one === path).length
  while (callsOf('/ophelia') === 0 && callsOf('/hamlet') < BOTS_AT_ONCE) await once(server, 'called')
  assert.equal(callsOf('/ophelia'), 1)
  assert.ok(callsOf('/hamlet') <= BOTS_OF_OWNER_AT_ONCE)
  answerAll()
  await rig.chat.botsAnswered()
  assert.equal(callsOf('/hamlet'), bots.length)
})
