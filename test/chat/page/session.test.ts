/** Sessions of the page: contract section 1.2.1, rows E150, E151, E141, E142 and E5. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { DECLARATIONS, OTHER_DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import type { ChatAuditEvent } from '../../../firmware/chat/link/chat-audit-event.ts'
import { keysOf } from '../../../firmware/chat/realm/objects/keys.ts'
import { NO_LIMITS, openTestChat } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'
import { openSession, type PageRequest, requestsOf } from './requests.ts'

const DAY_S = 86_400
const COOKIE = /^__Host-Http-coffer=([a-zA-Z0-9]{32}); Path=\/; Secure; HttpOnly; SameSite=Strict(; Max-Age=2592000)?$/
const EXPIRED = '__Host-Http-coffer=; Path=/; Secure; HttpOnly; SameSite=Strict; Max-Age=0'
const FOREIGN = ['same-site', 'cross-site', 'none', undefined]

const acts: ChatAuditEvent[] = []
const { rig } = await chatSuite({}, { record: (act) => void acts.push(act) })
const request = requestsOf(rig)

let accounts = 0
const newAccount = () => rig.account(`person${accounts++}`)
const sessionOf = (client = newAccount(), remember = true) => openSession(rig, client, { remember })

async function expectEnded(answer: Promise<{ status: number; headers: Headers }>): Promise<void> {
  const { status, headers } = await answer
  assert.equal(status, 401)
  assert.equal(headers.get('set-cookie'), EXPIRED)
  assert.equal(headers.get('clear-site-data'), '"cache", "storage"')
}

test('a key becomes a session: the cookie has the secret, the key is revoked, and both are told', async () => {
  const client = newAccount()
  acts.length = 0
  const values = { device: 'A phone', remember: true }
  const answer = await request('POST', '/session', { basic: client, values })
  assert.equal(answer.status, 200, JSON.stringify(answer.body))
  assert.deepEqual(answer.body, { result: 'success', msg: '', user_id: client.user.id, email: client.user.email })
  const [, secret] = COOKIE.exec(answer.headers.get('set-cookie')!)!
  await client.refused('INVALID_API_KEY', 'GET', '/users/me')
  const me = await request('GET', '/users/me', { cookie: secret })
  assert.equal(me.body.user_id, client.user.id)
  assert.ok(!JSON.stringify([...rig.chat.realm.state.apiKey.all()]).includes(secret!), 'the secret is stored')
  const { status } = await request('DELETE', '/session', { cookie: secret })
  assert.equal(status, 200)
  assert.deepEqual(
    acts.map(({ user, method, path, result }) => [user, method, path, result]),
    [
      [client.user.id, 'POST', '/session', 200],
      [client.user.id, 'GET', '/users/me', 401],
      [client.user.id, 'DELETE', '/session', 200],
    ],
  )
})

test('without `remember` the cookie ends with the browser; device is required, and bounded', async () => {
  const client = newAccount()
  for (const device of [undefined, '', ' ', 'x'.repeat(61), 'a\nb'])
    assert.equal((await request('POST', '/session', { basic: client, values: { device } })).status, 400, device)
  const values = { device: '\u{1f4bb}'.repeat(60), remember: false }
  const { headers } = await request('POST', '/session', { basic: client, values })
  const [, secret, age] = COOKIE.exec(headers.get('set-cookie')!)!
  assert.equal(age, undefined)
  rig.advance(DAY_S)
  assert.equal((await request('GET', '/users/me', { cookie: secret })).headers.get('set-cookie'), null)
})

test('only a page of this origin opens a session, and only with a key of a person', async () => {
  const client = newAccount()
  const values = { device: 'x' }
  for (const site of FOREIGN) {
    const { status, headers } = await request('POST', '/session', { basic: client, site, values })
    assert.equal(status, 403, String(site))
    assert.equal(headers.get('set-cookie'), null)
  }
  await client.get('/users/me') // the key goes on
  const again = await request('POST', '/session', { cookie: await sessionOf(client), values })
  assert.equal(again.status, 403)
  const owner = newAccount()
  const { user_id } = await owner.post('/bots', { full_name: 'Robot', short_name: 'robot' })
  const bot = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
  assert.equal((await request('POST', '/session', { basic: bot, values })).status, 400)
})

const endpoints = [
  ...DECLARATIONS.map((one) => ({ ...one, path: `/api/v1${one.path}` })),
  ...OTHER_DECLARATIONS.filter(({ path }) => !path.startsWith('/static/')),
].map(({ method, path, who, isMedia = false }) => ({ method, path: path.replace(/:\w+/g, '1'), who, isMedia }))

for (const { method, path, who, isMedia } of endpoints)
  test(`${method} ${path} takes the cookie from pages of this origin alone`, async () => {
    const cookie = await sessionOf()
    const at = (how: PageRequest) => request(method, path, { ...how, isWhole: true })
    for (const site of FOREIGN) {
      if (isMedia && who === 'anyone' && site === 'none') continue
      const [withCookie, without] = [await at({ cookie, site }), await at({ site })]
      assert.equal(withCookie.status, without.status, String(site))
      assert.deepEqual(withCookie.body, without.body)
      if (who !== 'nobody' && who !== 'anyone' && who !== 'webhook')
        assert.ok([401, 403].includes(withCookie.status), String(site))
    }
    if (who === 'nobody' || who === 'webhook') return
    // From here on whatever the endpoint does to the account of a member who owns nothing.
    const own = await at({ cookie })
    assert.notEqual(own.status, 401, JSON.stringify(own.body))
    assert.equal(own.headers.has('x-ratelimit-limit'), true)
  })

test('media may be opened by their address, other rows may not', async () => {
  const cookie = await sessionOf()
  const path = '/user_uploads/2/ab/abcdefghijklmnop/x.png'
  const limits = async (site: string) =>
    (await request('GET', path, { cookie, site, isWhole: true })).headers.get('x-ratelimit-limit')
  assert.notEqual(await limits('none'), null)
  assert.equal(await limits('cross-site'), null)
  assert.equal((await request('GET', '/users/me', { cookie, site: 'none' })).status, 401)
})

test('Basic is what counts where both are sent', async () => {
  const [one, other] = [newAccount(), newAccount()]
  const cookie = await sessionOf(one)
  const both = await request('GET', '/users/me', { cookie, basic: other })
  assert.equal(both.body.user_id, other.user.id)
  const wrong = await request('GET', '/users/me', { cookie, basic: { user: other.user, key: 'x'.repeat(32) } })
  assert.equal(wrong.status, 401)
  assert.equal(wrong.headers.get('set-cookie'), null)
})

test('a key is no session, and the secret of a session no key', async () => {
  const client = newAccount()
  await expectEnded(request('GET', '/users/me', { cookie: client.key }))
  const key = await sessionOf(client)
  const answer = await request('GET', '/users/me', { basic: { user: client.user, key }, site: undefined })
  assert.deepEqual([answer.status, answer.body.code], [401, 'INVALID_API_KEY'])
})

test('a session gets no API key of its account', async () => {
  const client = newAccount()
  const cookie = await sessionOf(client)
  const answer = await request('POST', '/users/me/api_key/regenerate', { cookie })
  assert.equal(answer.status, 403)
  assert.equal((await request('GET', '/users/me', { cookie })).status, 200)
})

test('unknown sessions, revoked ones and those of a deactivated account end with an empty browser', async () => {
  for (const cookie of ['', 'short', 'x'.repeat(32), 'x'.repeat(5000)])
    await expectEnded(request('GET', '/users/me', { cookie }))
  const client = newAccount()
  const [phone, desk] = [await sessionOf(client), await sessionOf(client)]
  const { body: queue } = await request('POST', '/register', { cookie: phone })
  const poll = request('GET', '/events', { cookie: phone, values: { queue_id: queue.queue_id, last_event_id: -1 } })
  const { body } = await request('GET', '/users/me/api_keys', { cookie: desk })
  const { id } = body.api_keys.find(({ is_current: isCurrent, device }: Session) => device !== null && !isCurrent)
  assert.equal((await request('DELETE', `/users/me/api_keys/${id}`, { cookie: desk })).status, 200)
  await expectEnded(poll)
  await expectEnded(request('GET', '/users/me', { cookie: phone }))
  assert.equal((await request('GET', '/users/me', { cookie: desk })).status, 200)
  await rig.owner.delete(`/users/${client.user.id}`)
  await expectEnded(request('GET', '/users/me', { cookie: desk }))
  // Who may do this without an account is not asked for one.
  assert.equal((await request('GET', '/server_settings', { cookie: 'x'.repeat(32) })).status, 200)
})

test('a new password ends the other sessions of the account with their polls, and neither its keys nor other accounts', async () => {
  const email = 'new-words@example.com'
  const [first, second, third] = ['words of before', 'words of afterwards', 'words of a program']
  const { user_id: id } = await rig.owner.post('/users', { email, full_name: 'New Words', password: first })
  const client = rig.clientOf(rig.chat.realm.state.user.require(id))
  const [here, phone, other] = [await sessionOf(client), await sessionOf(client), await sessionOf()]
  const { body: queue } = await request('POST', '/register', { cookie: phone })
  const poll = request('GET', '/events', { cookie: phone, values: { queue_id: queue.queue_id, last_event_id: -1 } })
  const change = (old_password: string, new_password: string) => ({ values: { old_password, new_password } })
  const statusOf = async (cookie: string) => (await request('GET', '/users/me', { cookie })).status

  assert.equal((await request('PATCH', '/settings', { cookie: here, ...change(first, 'short') })).status, 400)
  assert.deepEqual([await statusOf(here), await statusOf(phone)], [200, 200])

  assert.equal((await request('PATCH', '/settings', { cookie: here, ...change(first, second) })).status, 200)
  await expectEnded(poll)
  await expectEnded(request('GET', '/users/me', { cookie: phone }))
  assert.deepEqual([await statusOf(here), await statusOf(other)], [200, 200])
  await client.get('/users/me')

  await client.patch('/settings', change(second, third).values)
  await expectEnded(request('GET', '/users/me', { cookie: here }))
  assert.equal(await statusOf(other), 200)
  await client.get('/users/me')
})

interface Session {
  id: number
  device: string | null
  is_current: boolean
}

test('sign-out revokes that session alone; a key cannot', async () => {
  const client = newAccount()
  const [one, other] = [await sessionOf(client), await sessionOf(client)]
  const { status, headers } = await request('DELETE', '/session', { cookie: one })
  assert.equal(status, 200)
  assert.equal(headers.get('set-cookie'), EXPIRED)
  assert.equal(headers.get('clear-site-data'), '"cache", "storage"')
  await expectEnded(request('GET', '/users/me', { cookie: one }))
  assert.equal((await request('GET', '/users/me', { cookie: other })).status, 200)
  assert.equal((await client.call('DELETE', '/session')).status, 400)
  await client.get('/users/me')
})

test('sessions are listed with their devices, which of them asks, and end after 30 days without use', async () => {
  const client = newAccount()
  const cookie = await sessionOf(client)
  const other = await openSession(rig, client, { device: 'An office', remember: false })
  const list = async () => (await request('GET', '/users/me/api_keys', { cookie })).body.api_keys as Session[]
  const seen = (await list()).map(({ device, is_current: isCurrent }) => [device, isCurrent])
  assert.deepEqual(seen, [
    [null, false],
    ['A browser', true],
    ['An office', false],
  ])
  rig.advance(30 * DAY_S)
  const renewed = await request('GET', '/users/me', { cookie })
  assert.equal(COOKIE.exec(renewed.headers.get('set-cookie')!)![1], cookie)
  assert.equal((await request('GET', '/users/me', { cookie })).headers.get('set-cookie'), null)
  rig.reopen()
  assert.equal((await request('GET', '/users/me', { cookie })).status, 200)
  rig.advance(DAY_S)
  await expectEnded(request('GET', '/users/me', { cookie: other }))
  assert.deepEqual(
    (await list()).map(({ device }) => device),
    [null, 'A browser'],
  )
  assert.equal(keysOf(rig.chat.realm, client.user).length, 3)
  await sessionOf(client)
  assert.equal(keysOf(rig.chat.realm, client.user).length, 3, 'a session that has ended is kept')
  rig.advance(31 * DAY_S)
  await expectEnded(request('GET', '/users/me', { cookie }))
})

test('no browser asks for a password by itself', async () => {
  const challenge = async (path: string, mode: string | undefined) =>
    (await request('GET', path, { mode })).headers.get('www-authenticate')
  assert.equal(await challenge('/users/me', 'cors'), 'Session realm="zulip"')
  assert.equal(await challenge('/users/me', 'same-origin'), 'Session realm="zulip"')
  assert.equal(await challenge('/users/me', 'navigate'), 'Basic realm="zulip"')
  assert.equal(await challenge('/users/me', undefined), 'Basic realm="zulip"')
})

test('messages of the page are of the client website', async () => {
  const client = newAccount()
  const cookie = await sessionOf(client)
  const values = { type: 'direct', to: [client.user.id], content: 'Hello' }
  const { body } = await request('POST', '/messages', { cookie, values })
  const { message } = await client.get(`/messages/${body.id}`)
  assert.deepEqual([message.client, message.flags], ['website', ['read']])
})

test('large answers to sessions are compressed where that is accepted', async () => {
  const client = newAccount()
  const cookie = await sessionOf(client)
  const read = async (encoding: string) => {
    const url = 'http://chat.example/api/v1/users'
    const session = { cookie: `__Host-Http-coffer=${cookie}`, 'sec-fetch-site': 'same-origin' }
    const headers = { host: 'chat.example', 'accept-encoding': encoding, ...session }
    const answer = await rig.chat.api.request(url, { headers })
    return { headers: answer.headers, bytes: Buffer.from(await answer.arrayBuffer()) }
  }
  const small = await read('br, gzip;q=0.8')
  assert.equal(small.headers.get('content-encoding'), 'gzip')
  assert.equal(small.headers.get('vary'), 'accept-encoding')
  assert.equal(small.headers.get('content-length'), String(small.bytes.length))
  const plain = await read('gzip;q=0, br')
  assert.equal(plain.headers.get('content-encoding'), null)
  assert.deepEqual(JSON.parse(gunzipSync(small.bytes).toString()), JSON.parse(plain.bytes.toString()))
})

test('media take from a share of the account that no call takes from', async (t) => {
  const rate = { calls: 2, withinMs: 1e9 }
  const other = await openTestChat({ rateLimits: { ...NO_LIMITS, media: rate }, nowMs: () => 0 })
  t.after(other.close)
  const cookie = await openSession(other, other.account('hamlet'))
  const send = requestsOf(other)
  const picture = () => send('GET', '/user_uploads/2/ab/abcdefghijklmnop/x.png', { cookie, isWhole: true })
  assert.deepEqual([(await picture()).status, (await picture()).status, (await picture()).status], [404, 404, 429])
  assert.equal((await send('GET', '/users/me', { cookie })).status, 200)
})
