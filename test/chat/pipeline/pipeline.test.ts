/** The path of a request: contract sections 1.1 to 1.5. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import { type Client, openTestChat } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const BASE = 'http://chat.example/api/v1'

const authorization = (client: Client, key = client.key) =>
  `Basic ${Buffer.from(`${client.user.email}:${key}`).toString('base64')}`

async function request(path: string, init: RequestInit = {}, headers: Record<string, string> = {}) {
  const all = { authorization: authorization(hamlet), ...headers }
  const response = await rig.chat.api.request(`${BASE}${path}`, { ...init, headers: all })
  // biome-ignore lint/suspicious/noExplicitAny: members of any answer are looked at
  return { status: response.status, headers: response.headers, body: (await response.json()) as any }
}

test('an unknown path is 404 with the envelope, a wrong method 405 with those that are right', async () => {
  const unknown = await request('/nowhere')
  assert.equal(unknown.status, 404)
  assert.equal(unknown.body.result, 'error')
  assert.equal(unknown.body.code, 'NOT_FOUND')
  const wrong = await request('/events', { method: 'POST' })
  assert.equal(wrong.status, 405)
  assert.deepEqual(wrong.body.allowed_methods, ['DELETE', 'GET', 'HEAD'])
  assert.equal(wrong.headers.get('allow'), 'DELETE, GET, HEAD')
  assert.equal((await request('/messages/abc')).status, 404)
})

test('programs that fork keep no connection, whatever they are answered; others do', async () => {
  for (const [userAgent, expected] of [
    ['ZulipPython/0.9.0 (Linux; 6.1)', 'close'],
    ['irc_mirror (Linux; 6.1)', 'close'],
    ['ZulipTerminal/0.7.0 (Linux; 6.1)', null],
    ['ZulipPythonic/1.0', null],
    ['', null],
  ] as const)
    for (const path of ['/server_settings', '/users/me', '/nowhere']) {
      const { headers } = await request(path, {}, { 'user-agent': userAgent })
      assert.equal(headers.get('connection'), expected, `${userAgent} ${path}`)
    }
})

test('without credentials each row says so; with wrong ones all say the same', async () => {
  for (const { method, path, who } of DECLARATIONS) {
    if (who === 'nobody' || who === 'anyone' || who === 'webhook') continue // a webhook has no header
    const target = path.replace(/:\w+/g, '1')
    const { status, body, headers } = await request(target, { method }, { authorization: '' })
    assert.equal(status, 401, `${method} ${path}`)
    assert.equal(body.code, 'UNAUTHORIZED')
    assert.equal(headers.get('www-authenticate'), 'Basic realm="zulip"')
  }
  const bodies = []
  for (const wrong of [
    authorization(hamlet, 'x'.repeat(32)),
    authorization(hamlet, 'short'),
    authorization(hamlet, rig.owner.key),
    `Basic ${Buffer.from(`nobody@example.com:${hamlet.key}`).toString('base64')}`,
  ]) {
    const { status, body } = await request('/users/me', {}, { authorization: wrong })
    assert.equal(status, 401)
    bodies.push(body)
  }
  for (const body of bodies) assert.deepEqual(body, bodies[0])
  assert.equal(bodies[0].code, 'INVALID_API_KEY')
})

test('parameters come in the query, a urlencoded or a multipart body, with every method; the body wins', async () => {
  const form = new FormData()
  form.set('event_types', '["message"]')
  form.set('unknown', '1')
  const multipart = await request('/register?unknown=2&other=3', { method: 'POST', body: form })
  assert.deepEqual(multipart.body.ignored_parameters_unsupported, ['other', 'unknown'])
  const urlencoded = await request('/register', { method: 'POST', body: new URLSearchParams({ event_types: '[]' }) })
  assert.equal('ignored_parameters_unsupported' in urlencoded.body, false)
  const queue_id = urlencoded.body.queue_id
  const query = await request(`/events?queue_id=${queue_id}&last_event_id=-1&dont_block=true`)
  assert.deepEqual(query.body.events, [])
  const both = await request(`/events?queue_id=nothing`, { method: 'DELETE', body: new URLSearchParams({ queue_id }) })
  assert.equal(both.status, 200)
  const gone = await request(`/events?queue_id=${queue_id}`, { method: 'DELETE' })
  assert.equal(gone.body.code, 'BAD_EVENT_QUEUE_ID')
})

async function botOf(owner: Client): Promise<Client> {
  const { user_id } = await owner.post('/bots', { full_name: 'Keeper', short_name: 'keeper' })
  return rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
}

const BARE = [
  ['GET', '/users/me'],
  ['POST', '/mark_all_as_read'],
  ['PUT', '/bot_storage'],
  ['PATCH', '/settings'],
  ['DELETE', '/users/me/alert_words'],
] as const

for (const [method, path] of BARE)
  test(`${method} reads the query and both kinds of body, and lists what it does not know`, async () => {
    const values = { storage: '{}', alert_words: '[]', timezone: 'Europe/Berlin', unheard_of: '1' }
    const form = new FormData()
    for (const [name, value] of Object.entries(values)) form.set(name, value)
    const encoded = new URLSearchParams(values)
    const headers = { authorization: authorization(method === 'PUT' ? await botOf(hamlet) : hamlet) } // it stores of bots
    const ways = [await request(`${path}?${encoded}`, { method }, headers)]
    if (method !== 'GET') for (const body of [encoded, form]) ways.push(await request(path, { method, body }, headers))
    for (const { status, body } of ways) {
      assert.equal(status, 200, JSON.stringify(body))
      assert.deepEqual(body.ignored_parameters_unsupported, ways[0]!.body.ignored_parameters_unsupported)
      assert.ok(body.ignored_parameters_unsupported.includes('unheard_of'))
    }
  })

test('every answer to an account says how many calls it has left', async () => {
  const limit = { calls: 9, withinMs: 60_000 }
  const limited = await openTestChat({ nowMs: () => 0, rateLimits: { account: limit, address: limit, media: limit } })
  try {
    for (const [index, { method, path, who }] of DECLARATIONS.entries()) {
      if (who === 'nobody' || who === 'webhook') continue // api/external.test.ts
      const caller = limited.account(`caller${index}`)
      // A queue that there is not, so that none waits.
      const target = `${BASE}${path.replace(/:\w+/g, '1')}?queue_id=none&last_event_id=0`
      const sent = { method, headers: { authorization: authorization(caller) } }
      const { headers } = await limited.chat.api.request(target, sent)
      const told = ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`))
      const reset = limited.chat.realm.clock.now() / 1000 + limit.withinMs / 1000
      assert.deepEqual(told, ['9', '8', String(reset)], `${method} ${path}`)
    }
  } finally {
    limited.close()
  }
})

test('every answer can neither be stored nor be taken for something else', async () => {
  for (const { headers } of [await request('/server_settings'), await request('/nowhere')]) {
    assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
  }
})

test('a page of another origin does not get to try credentials', async () => {
  const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const { status } = await request('/register', { method: 'POST' }, headers)
  assert.equal(status, 403)
})

test('large bodies, many parameters and bad encodings are refused', async () => {
  const large = await request('/register', {
    method: 'POST',
    body: new URLSearchParams({ x: 'x'.repeat(1024 * 1024) }),
  })
  assert.equal(large.status, 413)
  const many = new URLSearchParams(Array.from({ length: 201 }, (_, index): [string, string] => [`p${index}`, '']))
  assert.equal((await request('/register', { method: 'POST', body: many })).status, 400)
  const binary = await request(
    '/register',
    { method: 'POST', body: new Uint8Array([0xff, 0xfe]) },
    {
      'content-type': 'application/x-www-form-urlencoded',
    },
  )
  assert.equal(binary.status, 400)
})

test('rate limits are one share for an account and one for an address, with their headers', async () => {
  let nowMs = 0
  const withinMs = 60_000
  const limits = {
    account: { calls: 3, withinMs },
    address: { calls: 2, withinMs },
    media: { calls: 4, withinMs },
  }
  const limited = await openTestChat({ rateLimits: limits, nowMs: () => nowMs })
  try {
    const first = await limited.owner.call('POST', '/register', { event_types: [] })
    assert.equal(first.headers.get('x-ratelimit-limit'), '3')
    assert.equal(first.headers.get('x-ratelimit-remaining'), '2')
    assert.equal(Number(first.headers.get('x-ratelimit-reset')), limited.chat.realm.clock.now() / 1000 + 60)
    await limited.owner.call('POST', '/register', { event_types: [] })
    await limited.owner.call('POST', '/register', { event_types: [] })
    const { status, body, headers } = await limited.owner.call('POST', '/register', { event_types: [] })
    assert.equal(status, 429)
    assert.equal(body.code, 'RATE_LIMIT_HIT')
    assert.equal(body['retry-after'], 60)
    assert.equal(headers.get('retry-after'), '60')
    for (let call = 0; call < 2; call++) assert.equal((await limited.anonymous('GET', '/server_settings')).status, 200)
    assert.equal((await limited.anonymous('GET', '/server_settings')).status, 429)
    // Pictures come from a share of their own: a page shows many.
    const picture = () => limited.anonymous('GET', '/user_avatars/2/1-00000000000000000000000000000000.png')
    for (let call = 0; call < 4; call++) assert.equal((await picture()).status, 404)
    assert.equal((await picture()).status, 429)
    nowMs = 60_000
    assert.equal((await limited.owner.call('POST', '/register', { event_types: [] })).status, 200)
  } finally {
    limited.close()
  }
})

test('an account that is deactivated, and a key that is replaced, end what they began', async () => {
  const doomed = rig.account('doomed')
  const { queue_id } = await doomed.post('/register', { event_types: ['message'] })
  const poll = doomed.call('GET', '/events', { queue_id, last_event_id: -1 })
  await new Promise((resolve) => setImmediate(resolve))
  const { realm } = rig.chat
  realm.transaction((turn) => {
    turn.put('user', { ...realm.state.user.get(doomed.user.id)!, isActive: false })
    turn.onCommit(() => realm.events.dropQueuesOf(doomed.user.id))
  })
  assert.equal((await poll).body.code, 'USER_DEACTIVATED')
  await doomed.refused('USER_DEACTIVATED', 'POST', '/register')

  const renewed = rig.account('renewed')
  const { queue_id: queue } = await renewed.post('/register', { event_types: ['message'] })
  const waiting = renewed.call('GET', '/events', { queue_id: queue, last_event_id: -1 })
  await new Promise((resolve) => setImmediate(resolve))
  const { api_key } = await renewed.post('/users/me/api_key/regenerate')
  assert.notEqual(api_key, renewed.key)
  realm.events.drop(realm.events.find(queue, renewed.user.id))
  assert.equal((await waiting).body.code, 'INVALID_API_KEY')
  await renewed.refused('INVALID_API_KEY', 'POST', '/register')
})
