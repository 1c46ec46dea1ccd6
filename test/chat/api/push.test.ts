/** Devices and calls, as far as they go without services of others: contract rows E134 to E139, section 12; V20. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const DEVICE = {
  token_kind: 'fcm',
  push_account_id: 2408,
  push_key: 'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=',
  bouncer_public_key: 'MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=',
  encrypted_push_registration: 'MTIz',
}

test('POST /mobile_push/register: without a relay a registration is kept, told to its owner as pending, and the answer says why', async () => {
  const own = await hamlet.register({ event_types: ['push_device'] })
  const other = await rig.owner.register({ event_types: ['push_device'] })
  await hamlet.refused('PUSH_SERVICE_NOT_CONFIGURED', 'POST', '/mobile_push/register', DEVICE)
  const [{ id: _, ...event }] = await own.events()
  assert.deepEqual(event, { type: 'push_device', push_account_id: 2408, status: 'pending' })
  assert.deepEqual(await other.events(), [])
  rig.reopen()
  assert.deepEqual((await hamlet.register()).snapshot.push_devices, { 2408: { status: 'pending' } })
  assert.deepEqual((await rig.owner.register()).snapshot.push_devices, {})
  for (const wrong of [{ token_kind: 'web' }, { push_key: '' }, { push_key: '%' }, { push_account_id: 'x' }])
    assert.equal((await hamlet.call('POST', '/mobile_push/register', { ...DEVICE, ...wrong })).body.result, 'error')
})

test('/users/me/apns_device_token, /users/me/android_gcm_reg_id, POST /mobile_push/test_notification: tokens are kept and removed; a test says that there is no service', async () => {
  await hamlet.post('/users/me/apns_device_token', { token: 'ABCD', appid: 'org.zulip.Zulip' })
  await hamlet.post('/users/me/apns_device_token', { token: 'ABCD', appid: 'org.zulip.Zulip' })
  await hamlet.post('/users/me/android_gcm_reg_id', { token: 'any text:at-all' })
  rig.reopen()
  await hamlet.refused('PUSH_SERVICE_NOT_CONFIGURED', 'POST', '/mobile_push/test_notification', { token: 'ABCD' })
  await hamlet.refused('PUSH_SERVICE_NOT_CONFIGURED', 'POST', '/mobile_push/test_notification')
  await hamlet.refused('INVALID_PUSH_DEVICE_TOKEN', 'POST', '/mobile_push/test_notification', { token: 'other' })
  await rig.owner.post('/mobile_push/test_notification') // who has no device
  await rig.owner.refused('INVALID_PUSH_DEVICE_TOKEN', 'DELETE', '/users/me/apns_device_token', { token: 'ABCD' })
  await hamlet.delete('/users/me/apns_device_token', { token: 'ABCD' })
  await hamlet.refused('INVALID_PUSH_DEVICE_TOKEN', 'DELETE', '/users/me/apns_device_token', { token: 'ABCD' })
  await hamlet.delete('/users/me/android_gcm_reg_id', { token: 'any text:at-all' })
  await hamlet.refused('INVALID_PUSH_DEVICE_TOKEN', 'DELETE', '/users/me/android_gcm_reg_id', {
    token: 'any text:at-all',
  })
  await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/apns_device_token', { token: 'not hex', appid: 'a' })
  await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/users/me/apns_device_token', { token: 'ABCD' })
  await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/android_gcm_reg_id', { token: 'x'.repeat(4097) })
})

test('POST /mobile_push/e2ee/test_notification: no device is active', async () => {
  for (const values of [{}, { push_account_id: 2408 }])
    await hamlet.refused('NO_ACTIVE_PUSH_DEVICE', 'POST', '/mobile_push/e2ee/test_notification', values)
})

test('/calls: no provider of calls is configured', async () => {
  await hamlet.refused('BAD_REQUEST', 'POST', '/calls/zoom/create', { is_video_call: true })
  await hamlet.refused('BAD_REQUEST', 'POST', '/calls/constructorgroups/create')
  await hamlet.refused('BAD_REQUEST', 'GET', '/calls/bigbluebutton/create', { meeting_name: 'play' })
})
