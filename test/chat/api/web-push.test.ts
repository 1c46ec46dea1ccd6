/** Web Push: contract section 3.9.1, rows E152 to E155. */

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { openSession, requestsOf } from '../page/requests.ts'
import type { Client } from '../support/chat.ts'
import { newBrowser, openPushService, PUSH_HOST } from '../support/push.ts'
import { chatSuite } from '../support/suite.ts'

const service = await openPushService()
const { rig, hamlet, ophelia } = await chatSuite(
  { hamlet: 'member', ophelia: 'member' },
  { push: service.requests.push, webPush: () => service.settings, pushPauseMs: 0 },
)
const request = requestsOf(rig)
const castle = rig.channel('castle', [hamlet, ophelia])
const SETTINGS = service.settings!

type Browser = ReturnType<typeof newBrowser>
let made = 0

async function subscribe(client: Client, host = PUSH_HOST): Promise<Browser & { cookie: string }> {
  const cookie = await openSession(rig, client)
  const browser = newBrowser(`/endpoint/${made++}`, host)
  const { status, body } = await request('POST', '/web_push', { cookie, values: browser.subscription })
  assert.equal(status, 200, JSON.stringify(body))
  return { ...browser, cookie }
}

/** Notifications of the browsers since the last call, in the order in which they came. */
async function told(...browsers: readonly Browser[]) {
  await new Promise((resolve) => setImmediate(resolve)) // the queue is filled after the answer to the sender
  await rig.chat.pushesSent()
  return service.received.splice(0).map((push) => {
    const browser = browsers.find(({ path }) => path === push.path)
    return browser === undefined ? push.path : [browsers.indexOf(browser), browser.open(push.body)]
  })
}

const toCastle = (content: string, topic = 'walls', from = ophelia) =>
  from.post('/messages', { type: 'channel', to: 'castle', topic, content })
const toHamlet = (content: string, from = ophelia) =>
  from.post('/messages', { type: 'direct', to: [hamlet.user.id], content })
const keyIds = () => [...rig.chat.realm.state.webPush.all()].map(({ keyId }) => keyId)

beforeEach(() => {
  service.settings = SETTINGS
  service.answer = () => ({ status: 201 })
  service.addresses = ['203.0.113.9']
  service.received.length = 0
  const { state, transaction } = rig.chat.realm
  transaction((tx) => {
    for (const { keyId } of [...state.webPush.all()]) tx.remove('webPush', keyId)
  })
})

describe('a subscription', () => {
  it('is of one session, which sees it; the key for browsers stays the same', async () => {
    const { cookie } = await subscribe(hamlet)
    const other = await openSession(rig, hamlet)
    const shown = async (of: string) => (await request('GET', '/web_push', { cookie: of })).body
    const { key } = await shown(cookie)
    assert.equal(Buffer.from(key, 'base64url').length, 65)
    const expected = { result: 'success', msg: '', key, hosts: [PUSH_HOST], content: false }
    assert.deepEqual(await shown(cookie), { ...expected, subscribed: true })
    assert.deepEqual(await shown(other), { ...expected, subscribed: false })
    await request('DELETE', '/web_push', { cookie: other })
    assert.equal((await shown(cookie)).subscribed, true)
    assert.equal((await request('DELETE', '/web_push', { cookie })).status, 200)
    assert.equal((await request('DELETE', '/web_push', { cookie })).status, 200)
    assert.deepEqual(keyIds(), [])
    rig.reopen()
    assert.equal((await shown(cookie)).key, key)
  })

  it('replaces the earlier one of its session, and of any other with the same endpoint', async () => {
    const { cookie } = await subscribe(hamlet)
    const again = newBrowser('/again')
    await request('POST', '/web_push', { cookie, values: again.subscription })
    assert.equal(keyIds().length, 1)
    // Another account has signed in with the same browser.
    const others = await openSession(rig, ophelia)
    await request('POST', '/web_push', { cookie: others, values: again.subscription })
    assert.equal(keyIds().length, 1)
    assert.equal((await request('GET', '/web_push', { cookie })).body.subscribed, false)
    await toHamlet('not for the other account')
    assert.deepEqual(await told(again), [])
  })

  it('is refused unless its endpoint is https at a listed host that is not this computer', async () => {
    const cookie = await openSession(rig, hamlet)
    const { subscription } = newBrowser('/a')
    const hosts = [
      PUSH_HOST,
      '*.notify.example.org',
      '127.0.0.1',
      '[::1]',
      '169.254.169.254',
      'localhost',
      'a.localhost',
    ]
    service.settings = { ...SETTINGS, hosts: [...hosts, '[fe80::1]', '198.51.100.7', `${PUSH_HOST}:8443`] }
    const post = (values: object) => request('POST', '/web_push', { cookie, values: { ...subscription, ...values } })
    for (const endpoint of [
      ...[
        '',
        'x',
        'push.example.org/a',
        `http://${PUSH_HOST}/a`,
        `https://${PUSH_HOST}:444/a`,
        'https://other.example.org/',
      ],
      ...[
        `https://user@${PUSH_HOST}/a`,
        `https://${PUSH_HOST}/a#b`,
        `https://${PUSH_HOST}./a`,
        `https://${PUSH_HOST.toUpperCase()}/a`,
        `https://${PUSH_HOST}:443/a`,
        `https://${PUSH_HOST}/a\n`,
        `ftp://${PUSH_HOST}/a`,
      ],
      ...[
        'https://127.0.0.1/a',
        'https://127.1/a',
        'https://[::1]/a',
        'https://169.254.169.254/a',
        'https://[fe80::1]/a',
      ],
      ...[
        'https://localhost/a',
        'https://a.localhost/a',
        'https://notify.example.org/',
        'https://a.notify.example.org.evil.test/',
      ],
      ...['https://xnotify.example.org/', `https://${PUSH_HOST}/${'x'.repeat(1024)}`, 'https://[::ffff:127.0.0.1]/'],
    ]) {
      const { status, body } = await post({ endpoint })
      assert.deepEqual([status, body.code, body.var_name], [400, 'REQUEST_VARIABLE_INVALID', 'endpoint'], endpoint)
    }
    const bad = Buffer.from(subscription.p256dh, 'base64url')
    bad[64]! ^= 1
    for (const p256dh of ['', 'AAAA', bad.toString('base64url')])
      assert.equal((await post({ p256dh })).body.var_name, 'p256dh', p256dh)
    for (const auth of ['', 'AAAA', 'x'.repeat(40)]) assert.equal((await post({ auth })).body.var_name, 'auth', auth)
    assert.deepEqual(keyIds(), [])
    for (const endpoint of [
      ...['https://a.b.notify.example.org/x?y=z', 'https://198.51.100.7/', `https://${PUSH_HOST}:8443/`],
    ])
      assert.equal((await post({ endpoint })).status, 200, endpoint)
  })

  it('is refused to API keys and to sessions that end with the browser', async () => {
    const { subscription } = newBrowser('/a')
    const refused = await hamlet.refused('BAD_REQUEST', 'POST', '/web_push', subscription)
    assert.match(refused.body.msg, /session/)
    const cookie = await openSession(rig, hamlet, { remember: false })
    assert.equal((await request('POST', '/web_push', { cookie, values: subscription })).status, 400)
    assert.deepEqual(keyIds(), [])
  })

  const ends: readonly (readonly [how: string, end: (client: Client, cookie: string) => Promise<unknown>])[] = [
    ['the sign-out', (_, cookie) => request('DELETE', '/session', { cookie })],
    [
      'its revocation by another session',
      async (client) => {
        const { api_keys: keys } = await client.get('/users/me/api_keys')
        await client.delete(`/users/me/api_keys/${keys.find(({ device }: { device: string }) => device !== null).id}`)
      },
    ],
    ['new keys of the account', (client) => client.post('/users/me/api_key/regenerate')],
    ['the deactivation of the account', (client) => rig.owner.delete(`/users/${client.user.id}`)],
  ]
  for (const [how, end] of ends)
    it(`ends with ${how}, and stays ended after a start`, async () => {
      const yorick = rig.account(`yorick${made++}`)
      const { cookie } = await subscribe(yorick)
      assert.equal(keyIds().length, 1)
      await end(yorick, cookie)
      assert.deepEqual(keyIds(), [])
      rig.reopen()
      assert.deepEqual(keyIds(), [])
    })

  it('is not used after 30 days in which its session was not', async () => {
    const browser = await subscribe(hamlet)
    rig.advance(32 * 86_400)
    await toHamlet('after a month')
    assert.deepEqual(await told(browser), [])
  })
})

describe('a notification', () => {
  it('has a body of one length, a token, a topic, and no word of the message', async () => {
    const [phone, desk] = [await subscribe(hamlet), await subscribe(hamlet)]
    await subscribe(ophelia)
    const { id } = await toHamlet('the play is the thing')
    const { id: other } = await toCastle(`@**${hamlet.user.fullName}** ${'word '.repeat(1000)}`)
    await new Promise((resolve) => setImmediate(resolve))
    await rig.chat.pushesSent()
    const pushes = service.received.splice(0)
    const ids = (browser: Browser) =>
      pushes.filter(({ path }) => path === browser.path).map(({ body }) => browser.open(body))
    assert.deepEqual(ids(phone), [{ id }, { id: other }])
    assert.deepEqual(ids(desk), [{ id }, { id: other }])
    assert.equal(pushes.length, 4)
    for (const { method, headers, body } of pushes) {
      assert.equal(method, 'POST')
      assert.equal(body.length, 2150)
      const { authorization, topic, date: _, ...others } = headers
      assert.match(String(authorization), /^vapid t=[\w-]+\.[\w-]+\.[\w-]{86}, k=[\w-]{87}$/)
      assert.match(String(topic), /^[\w-]{32}$/)
      assert.deepEqual(others, {
        ...{ host: PUSH_HOST, connection: 'keep-alive', 'content-length': '2150', 'user-agent': 'Coffer' },
        ...{ 'content-type': 'application/octet-stream', 'content-encoding': 'aes128gcm' },
        ...{ ttl: '86400', urgency: 'high' },
      })
    }
    const topics = pushes.map(({ headers }) => headers.topic)
    assert.equal(new Set(topics).size, 4, 'a push service can tell which browsers are in one conversation')
  })

  it('contains sender, place and text if the operator wants it, and no text that the account hides', async () => {
    service.settings = { ...SETTINGS, content: true }
    const browser = await subscribe(hamlet)
    const text = '😀'.repeat(300)
    const { id } = await toHamlet(text)
    const sender = ophelia.user.fullName
    const { conversationByUsers } = rig.chat.realm.state
    const ids = [hamlet.user.id, ophelia.user.id].sort((a, b) => a - b).join(',')
    const conversation = conversationByUsers.get(ids)!.recipientId
    assert.deepEqual(await told(browser), [[0, { id, conversation, sender, text: '😀'.repeat(200) }]])
    await hamlet.patch('/settings', { pm_content_in_desktop_notifications: false })
    const { id: hidden } = await toHamlet('hidden')
    assert.deepEqual(await told(browser), [[0, { id: hidden, hidden: true, conversation, sender }]])
    service.settings = SETTINGS
    const { id: without } = await toHamlet('hidden')
    assert.deepEqual(await told(browser), [[0, { id: without, hidden: true }]])
    service.settings = { ...SETTINGS, content: true }
    await hamlet.patch('/settings', { pm_content_in_desktop_notifications: true })
    const content = `@**${hamlet.user.fullName}** look`
    const { id: inChannel } = await toCastle(content, 'x'.repeat(60))
    const place = { conversation: castle.recipientId, channel: 'castle', topic: 'x'.repeat(60) }
    assert.deepEqual(await told(browser), [[0, { id: inChannel, sender, ...place, text: content }]])
  })

  it('holds the longest texts that there are', async () => {
    service.settings = { ...SETTINGS, content: true }
    const { fullName } = ophelia.user
    await rig.owner.patch(`/users/${ophelia.user.id}`, { full_name: '😀'.repeat(100) })
    const channel = rig.channel('😀'.repeat(60), [hamlet, ophelia])
    const browser = await subscribe(hamlet)
    await hamlet.post('/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: channel.id, property: 'push_notifications', value: true }],
    })
    const content = '😀'.repeat(200)
    await ophelia.post('/messages', { type: 'channel', to: channel.id, topic: '😀'.repeat(60), content })
    const [[, push]] = (await told(browser)) as [[number, Record<string, string>]]
    assert.deepEqual(
      ['sender', 'channel', 'topic', 'text'].map((name) => [...push[name]!].length),
      [100, 60, 60, 200],
    )
    await rig.owner.patch(`/users/${ophelia.user.id}`, { full_name: fullName })
  })

  it('goes nowhere once the host is not listed, while Web Push is off, and if devices keep nothing', async () => {
    const browser = await subscribe(hamlet)
    service.settings = { ...SETTINGS, hosts: ['other.example.org'] }
    await toHamlet('to a host that is not listed')
    assert.deepEqual(await told(browser), [])
    service.settings = null
    await toHamlet('off')
    assert.deepEqual(await told(browser), [])
    const { body } = await request('GET', '/web_push', { cookie: browser.cookie })
    assert.deepEqual([body.key, body.hosts, body.subscribed], ['', [], true])
    assert.equal((await request('POST', '/web_push/test', { cookie: browser.cookie })).status, 400)
    const again = { cookie: browser.cookie, values: newBrowser('/b').subscription }
    assert.equal((await request('POST', '/web_push', again)).status, 400)
    service.settings = SETTINGS
    await rig.owner.patch('/realm', { page_offline_days: 0 })
    await toHamlet('devices keep nothing')
    assert.deepEqual(await told(browser), [])
    assert.equal((await request('POST', '/web_push', again)).status, 400)
    await rig.owner.patch('/realm', { page_offline_days: 14 })
    const { id } = await toHamlet('on')
    assert.deepEqual(await told(browser), [[0, { id }]])
  })

  it('is not sent to a listed name that leads to this computer or to a link-local address', async () => {
    const browser = await subscribe(hamlet)
    for (const addresses of [['127.0.0.1'], ['203.0.113.9', '::1'], ['169.254.1.1'], ['fe80::1']]) {
      service.addresses = addresses
      await toHamlet(addresses.join())
      assert.deepEqual(await told(browser), [])
      const { status, body } = await request('POST', '/web_push/test', { cookie: browser.cookie })
      assert.equal(status, 400)
      assert.match(body.msg, /its name leads to an address that nothing is sent to/)
    }
    rig.advance(60) // tests are limited
  })

  it('is not sent of a message that was read or deleted meanwhile, or to who has left the channel', async () => {
    rig.channel('keep', [hamlet, ophelia], { isPrivate: true, historyPublicToSubscribers: false })
    const browser = await subscribe(hamlet)
    let release = () => {}
    const held = new Promise<{ status: number }>((resolve) => {
      release = () => resolve({ status: 201 })
    })
    service.answer = () => held
    await toHamlet('one', rig.owner)
    await toHamlet('two', rig.account('laertes')) // two at once of one account
    while (service.received.length < 2) await wait(5)
    const { id } = await toHamlet('read meanwhile')
    const { id: deleted } = await toCastle(`@**${hamlet.user.fullName}** deleted`, 'gone')
    const left = { type: 'channel', to: 'keep', topic: 'left', content: `@**${hamlet.user.fullName}** left` }
    await ophelia.post('/messages', left)
    await hamlet.post('/messages/flags', { messages: [id], op: 'add', flag: 'read' })
    await rig.owner.delete(`/messages/${deleted}`)
    await hamlet.delete('/users/me/subscriptions', { subscriptions: ['keep'] })
    release()
    assert.equal((await told(browser)).length, 2)
  })
})

describe('who is told', () => {
  const mention = `@**${hamlet.user.fullName}** words`
  const set = (property: string, value: boolean) =>
    hamlet.post('/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: castle.id, property, value }],
    })
  const policy = (topic: string, visibility_policy: number) =>
    hamlet.post('/user_topics', { stream_id: castle.id, topic, visibility_policy })
  let browser: Browser
  /** True if the browser is told of a message. */
  const isTold = async (send: () => Promise<unknown>) => {
    await send()
    return (await told(browser)).length > 0
  }
  beforeEach(async () => {
    browser = await subscribe(hamlet)
  })

  it('not the sender, also of a message to oneself', async () => {
    assert.equal(await isTold(() => toHamlet('to myself', hamlet)), false)
    assert.equal(await isTold(() => toCastle(mention, 'own', hamlet)), false)
  })

  it('of direct messages and mentions by one setting, also in what is muted', async () => {
    await policy('muted', 1)
    assert.equal(await isTold(() => toHamlet('direct')), true)
    assert.equal(await isTold(() => toCastle(mention)), true)
    assert.equal(await isTold(() => toCastle(mention, 'muted')), true)
    await hamlet.patch('/settings', { enable_offline_push_notifications: false })
    assert.equal(await isTold(() => toHamlet('direct')), false)
    assert.equal(await isTold(() => toCastle(mention)), false)
    await hamlet.patch('/settings', { enable_offline_push_notifications: true })
    await policy('muted', 0)
  })

  it('of other messages by the setting of the channel or of the account, unless they are muted', async () => {
    assert.equal(await isTold(() => toCastle('words', 'plain')), false)
    await set('push_notifications', true)
    assert.equal(await isTold(() => toCastle('words', 'plain')), true)
    await policy('quiet', 1)
    assert.equal(await isTold(() => toCastle('words', 'quiet')), false)
    await set('is_muted', true)
    assert.equal(await isTold(() => toCastle('words', 'plain')), false)
    await policy('loud', 2)
    assert.equal(await isTold(() => toCastle('words', 'loud')), true)
    await set('is_muted', false)
    await set('push_notifications', false)
    await hamlet.patch('/settings', { enable_stream_push_notifications: true })
    assert.equal(await isTold(() => toCastle('words', 'plain')), false)
    await hamlet.patch('/settings', { enable_stream_push_notifications: false })
  })

  it('of topics that are followed', async () => {
    await policy('followed', 3)
    assert.equal(await isTold(() => toCastle('words', 'followed')), true)
    await set('is_muted', true)
    assert.equal(await isTold(() => toCastle('words', 'followed')), true)
    await set('is_muted', false)
    await hamlet.patch('/settings', { enable_followed_topic_push_notifications: false })
    assert.equal(await isTold(() => toCastle('words', 'followed')), false)
    await hamlet.patch('/settings', { enable_followed_topic_push_notifications: true })
  })

  it('of wildcard mentions by their settings, but not in what is muted', async () => {
    const all = '@**all** words'
    assert.equal(await isTold(() => toCastle(all, 'crowd')), true)
    await set('wildcard_mentions_notify', false)
    assert.equal(await isTold(() => toCastle(all, 'crowd')), false)
    await policy('all', 3)
    await hamlet.patch('/settings', { enable_followed_topic_push_notifications: false })
    assert.equal(await isTold(() => toCastle(all, 'all')), true)
    await hamlet.patch('/settings', { enable_followed_topic_wildcard_mentions_notify: false })
    assert.equal(await isTold(() => toCastle(all, 'all')), false)
    await set('wildcard_mentions_notify', true)
    await policy('hushed', 1)
    assert.equal(await isTold(() => toCastle(all, 'hushed')), false)
    const values = {
      enable_followed_topic_push_notifications: true,
      enable_followed_topic_wildcard_mentions_notify: true,
    }
    await hamlet.patch('/settings', values)
  })

  it('not of messages of muted users', async () => {
    await hamlet.post(`/users/me/muted_users/${ophelia.user.id}`)
    assert.equal(await isTold(() => toHamlet('muted')), false)
    await hamlet.delete(`/users/me/muted_users/${ophelia.user.id}`)
  })

  it('while the account is active only by a setting of its own', async () => {
    await hamlet.patch('/settings', { enable_online_push_notifications: false })
    await hamlet.post('/users/me/presence', { status: 'active' })
    assert.equal(await isTold(() => toHamlet('here')), false)
    rig.advance(201)
    assert.equal(await isTold(() => toHamlet('away')), true)
    await hamlet.patch('/settings', { enable_online_push_notifications: true })
    await hamlet.post('/users/me/presence', { status: 'active' })
    assert.equal(await isTold(() => toHamlet('here')), true)
  })
})

describe('answers of the push service', () => {
  for (const status of [401, 403, 404, 410])
    it(`${status} ends the subscription`, async () => {
      const [gone, other] = [await subscribe(hamlet), await subscribe(hamlet)]
      service.answer = ({ path }) => ({ status: path === gone.path ? status : 201 })
      await toHamlet('gone')
      assert.equal((await told(gone, other)).length, 2)
      assert.equal(keyIds().length, 1)
      const { body } = await request('GET', '/web_push', { cookie: gone.cookie })
      assert.equal(body.subscribed, false)
    })

  it('a redirect and 413 are not tried again, and leave the subscription', async () => {
    const browser = await subscribe(hamlet)
    for (const status of [302, 413]) {
      service.answer = () => ({ status, headers: { location: `https://${PUSH_HOST}/elsewhere` } })
      await toHamlet(`answered ${status}`)
      assert.equal((await told(browser)).length, 1)
      assert.equal(keyIds().length, 1)
    }
  })

  it('429 and 5xx are tried three times, after the time that the push service tells', async () => {
    const browser = await subscribe(hamlet)
    for (const status of [429, 503]) {
      service.answer = () => ({ status, headers: { 'retry-after': '0' } })
      await toHamlet(`answered ${status}`)
      while (service.received.length < 3) await wait(5)
      await wait(50)
      assert.equal((await told(browser)).length, 3)
    }
    service.answer = () => ({ status: 503, headers: { 'retry-after': '601' } })
    await toHamlet('too long')
    await told(browser)
    await wait(50)
    assert.equal(service.received.length, 0)
    assert.equal(keyIds().length, 1)
    assert.ok(!JSON.stringify(rig.logged).includes(browser.path), 'the log has the endpoint')
    assert.match(rig.logged.at(-1)!, /^warning chat: cannot send a notification: push\.example\.org/)
  })
})

describe('POST /web_push/test', () => {
  it('tells the browser of the session at once, and what the push service has answered', async () => {
    const [browser, other] = [await subscribe(hamlet), await subscribe(hamlet)]
    const test = () => request('POST', '/web_push/test', { cookie: browser.cookie })
    const { body } = await test()
    assert.equal(body.status, 201)
    assert.deepEqual(await told(browser, other), [[0, { test: true }]])
    service.answer = () => ({ status: 507 })
    assert.equal((await test()).body.status, 507)
    service.answer = () => ({ status: 410 })
    assert.equal((await test()).body.status, 410)
    assert.equal((await test()).status, 400) // there is no subscription any more
    rig.advance(60)
  })

  it('does so five times a minute', async () => {
    const { cookie } = await subscribe(hamlet)
    for (let n = 0; n < 5; n++) assert.equal((await request('POST', '/web_push/test', { cookie })).status, 200)
    const { status, body } = await request('POST', '/web_push/test', { cookie })
    assert.deepEqual([status, body.code], [429, 'RATE_LIMIT_HIT'])
    assert.ok(body['retry-after'] > 0 && body['retry-after'] <= 60)
    rig.advance(60)
    assert.equal((await request('POST', '/web_push/test', { cookie })).status, 200)
  })
})

it('a send does not wait for a push service, and the queue is forgotten at the stop', async () => {
  const browser = await subscribe(hamlet)
  service.answer = () => new Promise(() => {})
  for (let n = 0; n < 5; n++) await toCastle(`@**${hamlet.user.fullName}** ${n}`, `topic ${n}`)
  while (service.received.length < 2) await wait(5)
  rig.reopen()
  service.answer = () => ({ status: 201 })
  service.received.length = 0
  const { id } = await toHamlet('after the start')
  assert.deepEqual(await told(browser), [[0, { id }]])
})
