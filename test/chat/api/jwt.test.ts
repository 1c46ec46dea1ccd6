/** Signing in with a token of an identity provider: contract section 3.1, row E3. */

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test } from 'node:test'
import {
  changeOperatorSettings,
  operatorSettings,
} from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { START_MS } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig } = chatForEachTest()

const NOW_S = START_MS / 1000
const JWT = { algorithm: 'HS256', key: Buffer.from('a secret of thirty-two bytes, or more') } as const
const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const tokenOf = (claims: object, key: Uint8Array = JWT.key) => {
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ exp: NOW_S + 60, ...claims })}`
  return `${text}.${createHmac('sha256', key).update(text).digest('base64url')}`
}

test('POST /jwt/fetch_api_key: a token with a valid signature gets a new key for the user that it names, and a profile on request', async () => {
  const hamlet = rig.account('hamlet')
  changeOperatorSettings(rig.chat.realm, { jwt: JWT })
  const fetchKey = (values: Record<string, unknown>) => rig.anonymous('POST', '/jwt/fetch_api_key', values)
  const token = tokenOf({ email: 'Hamlet@example.com' })
  const { status, body } = await fetchKey({ token })
  assert.equal(status, 200, JSON.stringify(body))
  assert.deepEqual(Object.keys(body).sort(), ['api_key', 'email', 'msg', 'result'])
  assert.equal(body.email, hamlet.user.email)
  const authorization = `Basic ${Buffer.from(`${body.email}:${body.api_key}`).toString('base64')}`
  assert.equal((await hamlet.call('GET', '/users/me', {}, { authorization })).body.user_id, hamlet.user.id)
  const again = (await fetchKey({ token, include_profile: true })).body
  assert.notEqual(again.api_key, body.api_key)
  assert.equal(again.user.user_id, hamlet.user.id)
  assert.equal(again.user.delivery_email, 'hamlet@example.com')
  rig.reopen()
  assert.equal((await fetchKey({ token })).status, 200)
})

test('POST /jwt/fetch_api_key: a bad token is refused with 400, an account with 401, and all while no key is set', async () => {
  const { realm } = rig.chat
  const bot = await rig.owner.post('/bots', { full_name: 'A Bot', short_name: 'a' })
  const gone = rig.account('gone')
  await rig.owner.delete(`/users/${gone.user.id}`)
  const refused = async (status: number, code: string, token: string) => {
    const answer = await rig.anonymous('POST', '/jwt/fetch_api_key', { token })
    assert.deepEqual([answer.status, answer.body.code], [status, code], JSON.stringify(answer.body))
  }
  const good = tokenOf({ email: 'olivia@example.com' })
  await refused(400, 'BAD_REQUEST', good)
  changeOperatorSettings(realm, { jwt: JWT })
  await refused(400, 'BAD_REQUEST', tokenOf({ email: 'olivia@example.com' }, Buffer.alloc(37, 1)))
  await refused(400, 'BAD_REQUEST', tokenOf({ email: 7 }))
  await refused(400, 'BAD_REQUEST', tokenOf({ name: 'olivia@example.com' }))
  await refused(401, 'AUTHENTICATION_FAILED', tokenOf({ email: 'nobody@example.com' }))
  await refused(401, 'AUTHENTICATION_FAILED', tokenOf({ email: realm.state.user.get(bot.user_id)!.deliveryEmail }))
  await refused(401, 'USER_DEACTIVATED', tokenOf({ email: 'gone@example.com' }))
  rig.advance(60)
  await refused(400, 'BAD_REQUEST', good)
  rig.setTime(START_MS)
  assert.equal((await rig.anonymous('POST', '/jwt/fetch_api_key', { token: good })).status, 200)
  changeOperatorSettings(realm, { url: '' })
  assert.equal((await rig.anonymous('POST', '/jwt/fetch_api_key', { token: good })).status, 200, 'it stays')
  changeOperatorSettings(realm, { jwt: null })
  await refused(400, 'BAD_REQUEST', good)
})

test('the key that verifies tokens is sealed, and appears in no answer and no log', async () => {
  changeOperatorSettings(rig.chat.realm, { jwt: JWT })
  assert.deepEqual(operatorSettings(rig.chat.realm).jwt, { algorithm: 'HS256' })
  await rig.anonymous('POST', '/jwt/fetch_api_key', { token: tokenOf({ email: 'olivia@example.com' }) })
  await rig.anonymous('POST', '/jwt/fetch_api_key', { token: 'a.b.c' })
  const seen = JSON.stringify([
    rig.logged,
    (await rig.owner.register()).snapshot,
    [...rig.chat.realm.state.organization.all()],
  ])
  for (const text of [JWT.key.toString(), JWT.key.toString('base64'), JWT.key.toString('hex')])
    assert.ok(!seen.includes(text.slice(4, 24)))
})
