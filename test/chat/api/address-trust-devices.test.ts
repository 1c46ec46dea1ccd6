/** The first token of a new holder ends other ways to the account: devices, webhook addresses and addresses of bots. Section 1.2. */

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { START_MS } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, mallory } = chatForEachTest({ mallory: 'member' })

const JWT = { algorithm: 'HS256', key: Buffer.from('a secret of thirty-two bytes, or more') } as const
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const EMAIL = 'director@example.org'
const ADDRESS = 'https://hooks.example.org/mallory'

async function signIn() {
  changeOperatorSettings(rig.chat.realm, { jwt: JWT })
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ exp: START_MS / 1000 + 3600, email: EMAIL })}`
  const token = `${text}.${createHmac('sha256', JWT.key).update(text).digest('base64url')}`
  const { status, body } = await rig.anonymous('POST', '/jwt/fetch_api_key', { token })
  assert.equal(status, 200)
  return { authorization: `Basic ${Buffer.from(`${EMAIL}:${body.api_key}`).toString('base64')}` }
}

test('registered devices of both kinds end', async () => {
  await mallory.post('/users/me/android_gcm_reg_id', { token: 'of a phone' })
  await mallory.post('/users/me/apns_device_token', { token: 'abcd', appid: 'org.example' })
  const fields = { push_key: 'AAAA', bouncer_public_key: 'AAAA', encrypted_push_registration: 'AAAA' }
  await mallory.call('POST', '/mobile_push/register', { token_kind: 'fcm', push_account_id: 7, ...fields })
  await mallory.patch('/settings', { email: EMAIL })
  const { state } = rig.chat.realm
  const count = () => [state.pushTokensOf.get(mallory.user.id).size, state.pushDevicesOf.get(mallory.user.id).size]
  assert.deepEqual(count(), [2, 1])
  await signIn()
  assert.deepEqual(count(), [0, 0])
  rig.reopen()
  assert.equal([...rig.chat.realm.state.pushToken.all()].length, 0, 'after a start as well')
})

test('an incoming webhook is known by its new address alone', async () => {
  const { user_id, api_key } = await mallory.post('/bots', { full_name: 'Alerts', short_name: 'alerts', bot_type: 2 })
  await mallory.patch('/settings', { email: EMAIL })
  const text = { text: 'from the former holder' }
  const call = (key: string) => rig.anonymous('POST', `/external/slack_incoming?api_key=${key}`, { payload: text })
  assert.equal((await call(api_key)).status, 200)
  const headers = await signIn()
  const { status, body } = await call(api_key)
  assert.deepEqual([status, body.code], [401, 'INVALID_API_KEY'])
  const { bots } = (await mallory.call('GET', '/bots', {}, headers)).body
  const own = bots.find(
    (bot: { user_id: number; username: string }) => bot.user_id === user_id || bot.username.startsWith('alerts'),
  )
  assert.equal((await call(own.api_key)).status, 200)
})

test('an outgoing webhook tells its address nothing more, until its owner sets another one', async () => {
  const { user_id } = await mallory.post('/bots', {
    full_name: 'Caller',
    short_name: 'caller',
    bot_type: 3,
    payload_url: JSON.stringify(ADDRESS),
  })
  await mallory.patch('/settings', { email: EMAIL })
  const service = async (headers: Record<string, string>) => {
    const snapshot = (await mallory.call('POST', '/register', { fetch_event_types: ['realm_bot'] }, headers)).body
    return snapshot.realm_bots.find((bot: { user_id: number }) => bot.user_id === user_id).services[0]
  }
  const basic = (key: string) => ({ authorization: `Basic ${Buffer.from(`${EMAIL}:${key}`).toString('base64')}` })
  const before = await service(basic(mallory.key))
  assert.equal(before.base_url, ADDRESS)
  const headers = await signIn()
  const after = await service(headers)
  assert.equal(after.base_url, '')
  assert.notEqual(after.token, before.token)

  const values = { type: 'direct', to: [user_id], content: 'a secret' }
  assert.equal((await mallory.call('POST', '/messages', values, headers)).status, 200)
  await rig.chat.botsAnswered()
  const newest = { anchor: 'newest', num_before: 5, num_after: 0, apply_markdown: false }
  const { messages } = (await mallory.call('GET', '/messages', newest, headers)).body
  assert.match(messages.at(-1).content, /was not answered: its address has ended, set another one/)
  const url = 'https://hooks.example.org/director'
  await mallory.call('PATCH', `/bots/${user_id}`, { service_payload_url: JSON.stringify(url) }, headers)
  assert.equal((await service(headers)).base_url, url)
})
