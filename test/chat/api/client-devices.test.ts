/** Devices on which an account is signed in: contract rows E134, E136, E145, E146, V63; levels 468, 470 and 492. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, hamlet, ophelia } = chatForEachTest({ hamlet: 'member', ophelia: 'member' })

const KEY = Buffer.from([0x31, ...new Uint8Array(32).fill(7)]).toString('base64')
const OTHER_KEY = Buffer.from([0x31, ...new Uint8Array(32).fill(8)]).toString('base64')
const TOKEN = {
  token_kind: 'fcm',
  token_id: 'hGsEWGmyyfI=',
  bouncer_public_key: 'AAAA',
  encrypted_push_registration: 'BBBB',
}
const BOTH = { push_key_id: 2408, push_key: KEY, ...TOKEN }
const EMPTY = {
  push_key_id: null,
  push_token_id: null,
  pending_push_token_id: null,
  push_token_last_updated_timestamp: null,
  push_registration_error_code: null,
}

const add = async (client: Client): Promise<number> => (await client.post('/register_client_device')).device_id
const push = (client: Client, device_id: number, values: object) =>
  client.call('POST', '/mobile_push/register', { device_id, ...values })
const pending = async (client: Client, device_id: number, values: object): Promise<void> => {
  const { body } = await push(client, device_id, values)
  assert.equal(body.code, 'PUSH_SERVICE_NOT_CONFIGURED', JSON.stringify(body))
}
const devices = async (client: Client): Promise<Record<string, object>> =>
  (await client.register({ fetch_event_types: ['device'], event_types: [] })).snapshot.devices
const seconds = (): number => Math.floor(rig.now() / 1000)

const again = ({ user }: Client): Client => rig.clientOf(user)

async function keyIdOf(client: Client): Promise<number> {
  const { api_keys } = await client.get('/users/me/api_keys')
  return api_keys.find(({ is_current }: { is_current: boolean }) => is_current).id
}

test('a device is made, told to its account alone, and removed', async () => {
  const own = await hamlet.register({ event_types: ['device'] })
  const other = await ophelia.register({ event_types: ['device'] })
  const id = await add(hamlet)
  assert.deepEqual(await devices(hamlet), { [id]: EMPTY })
  assert.deepEqual(await devices(ophelia), {})
  await hamlet.post('/remove_client_device', { device_id: id })
  assert.deepEqual(await devices(hamlet), {})
  assert.deepEqual(await own.events(), [
    { type: 'device', op: 'add', device_id: id, id: 0 },
    { type: 'device', op: 'remove', device_id: id, id: 1 },
  ])
  assert.deepEqual(await other.events(), [])
  assert.ok((await add(hamlet)) > id, 'an id is given once')
})

test('it registers key and token together, then each by itself; events tell only what has changed', async () => {
  const id = await add(hamlet)
  const { events } = await hamlet.register({ event_types: ['device'] })
  await pending(hamlet, id, BOTH)
  const first = seconds()
  const registered = {
    ...EMPTY,
    push_key_id: 2408,
    pending_push_token_id: TOKEN.token_id,
    push_token_last_updated_timestamp: first,
  }
  assert.deepEqual(await devices(hamlet), { [id]: registered })
  rig.advance(60)
  await pending(hamlet, id, { push_key_id: 0, push_key: OTHER_KEY })
  rig.advance(60)
  await pending(hamlet, id, { ...TOKEN, token_id: 'AAAAAAAAAAA=' })
  await pending(hamlet, id, { push_key_id: 0, push_key: OTHER_KEY })
  const told = (await events()).map(({ id: _, ...event }) => event)
  assert.deepEqual(told, [
    {
      type: 'device',
      op: 'update',
      device_id: id,
      push_key_id: 2408,
      pending_push_token_id: TOKEN.token_id,
      push_token_last_updated_timestamp: first,
    },
    { type: 'device', op: 'update', device_id: id, push_key_id: 0 },
    {
      type: 'device',
      op: 'update',
      device_id: id,
      pending_push_token_id: 'AAAAAAAAAAA=',
      push_token_last_updated_timestamp: first + 120,
    },
  ])
  rig.reopen()
  const last = { ...registered, push_key_id: 0, pending_push_token_id: 'AAAAAAAAAAA=' }
  assert.deepEqual(await devices(hamlet), { [id]: { ...last, push_token_last_updated_timestamp: first + 120 } })
})

test('a part that is not whole, or alone the first time, is refused and changes nothing', async () => {
  const id = await add(hamlet)
  const { events } = await hamlet.register({ event_types: ['device'] })
  const { push_key_id, push_key } = BOTH
  const { token_id: _, ...noTokenId } = TOKEN
  for (const values of [
    {},
    { push_key_id, push_key },
    TOKEN,
    { push_key },
    { ...BOTH, ...noTokenId, token_id: undefined },
    { push_key_id, ...TOKEN },
  ])
    assert.equal((await push(hamlet, id, values)).body.code, 'BAD_REQUEST', JSON.stringify(values))
  assert.deepEqual(await devices(hamlet), { [id]: EMPTY })
  await pending(hamlet, id, BOTH)
  const before = await devices(hamlet)
  for (const wrong of [
    { push_key: 'AAAA' },
    { push_key: Buffer.from(new Uint8Array(33)).toString('base64') },
    { push_key: Buffer.from([0x31, ...new Uint8Array(31)]).toString('base64') },
    { push_key: `${KEY.slice(0, -1)}%` },
    { push_key: '' },
    { push_key_id: -1 },
    { push_key_id: 2 ** 32 },
    { push_key_id: 1.5 },
    { token_id: 'AAAA' },
    { token_id: 'AAAAAAAAAAAA' },
    { token_kind: 'web' },
    { bouncer_public_key: '' },
    { encrypted_push_registration: 'A'.repeat(4100) },
    { encrypted_push_registration: 'no base64' },
  ]) {
    const { status, body } = await push(hamlet, id, { ...BOTH, ...wrong })
    const [name] = Object.keys(wrong)
    assert.deepEqual([status, body.code, body.var_name], [400, 'REQUEST_VARIABLE_INVALID', name], JSON.stringify(wrong))
  }
  assert.deepEqual(await devices(hamlet), before)
  assert.equal((await events()).length, 1)
  await pending(hamlet, id, { ...BOTH, push_key_id: 2 ** 32 - 1, encrypted_push_registration: 'A'.repeat(4096) })
})

test("another account's device and an unknown one are one answer", async () => {
  const id = await add(hamlet)
  for (const path of ['/mobile_push/register', '/remove_client_device']) {
    const answers = await Promise.all(
      [id, id + 1000].map((device_id) => ophelia.call('POST', path, { device_id, ...BOTH })),
    )
    assert.deepEqual(answers[0]!.body, answers[1]!.body)
    assert.deepEqual([answers[0]!.status, answers[0]!.body.code], [400, 'BAD_REQUEST'])
  }
  assert.deepEqual(await devices(hamlet), { [id]: EMPTY })
  await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/remove_client_device')
})

test('the fifty-first device of an account is refused; another account has its own fifty', async () => {
  for (let count = 0; count < 50; count++) await add(hamlet)
  const { body } = await hamlet.refused('BAD_REQUEST', 'POST', '/register_client_device')
  assert.equal(body.msg, 'More than 50 devices')
  await add(ophelia)
  const [first] = Object.keys(await devices(hamlet))
  await hamlet.post('/remove_client_device', { device_id: Number(first) })
  await add(hamlet)
})

test('a device ends with the key that made it, and with no other', async () => {
  const other = again(hamlet)
  const [ofFirst, ofOther] = [await add(hamlet), await add(other)]
  const { events } = await hamlet.register({ event_types: ['device'] })
  await hamlet.delete(`/users/me/api_keys/${await keyIdOf(other)}`)
  assert.deepEqual(await devices(hamlet), { [ofFirst]: EMPTY })
  assert.deepEqual(
    (await events()).map(({ op, device_id }) => [op, device_id]),
    [['remove', ofOther]],
  )
  rig.reopen()
  assert.deepEqual(Object.keys(await devices(hamlet)), [String(ofFirst)])
})

test('a new key for the old ones ends the devices of all of them', async () => {
  const id = await add(hamlet)
  const kept = await add(ophelia)
  await add(again(hamlet))
  const { api_key } = await hamlet.post('/users/me/api_key/regenerate')
  const { state } = rig.chat.realm
  assert.ok(state.clientDevice.get(id) === undefined && api_key !== hamlet.key)
  assert.deepEqual(
    [...state.clientDevice.all()].map((device) => device.id),
    [kept],
  )
})

test('one key too many takes the devices of the key that goes', async () => {
  const id = await add(hamlet)
  rig.advance(86_400)
  const newer = again(hamlet)
  await newer.get('/users/me')
  for (let count = 0; count < 99; count++) again(hamlet)
  assert.equal((await hamlet.call('GET', '/users/me')).status, 401)
  assert.equal(rig.chat.realm.state.clientDevice.get(id), undefined)
})

test('a deactivated account has no devices, also when it is active again', async () => {
  const id = await add(hamlet)
  await pending(hamlet, id, BOTH)
  await rig.owner.delete(`/users/${hamlet.user.id}`)
  assert.equal(rig.chat.realm.state.clientDevice.get(id), undefined)
  await rig.owner.post(`/users/${hamlet.user.id}/reactivate`)
  assert.deepEqual(await devices(hamlet), {})
})

test('the form of 406 goes on beside devices, with its own event and member', async () => {
  const id = await add(hamlet)
  await pending(hamlet, id, BOTH)
  const before = await devices(hamlet)
  const { events } = await hamlet.register({ event_types: ['device', 'push_device'] })
  const old = { ...TOKEN, token_id: undefined, push_account_id: 2408, push_key: 'AAAA' }
  await hamlet.refused('PUSH_SERVICE_NOT_CONFIGURED', 'POST', '/mobile_push/register', old)
  assert.deepEqual(
    (await events()).map(({ id: _, ...event }) => event),
    [{ type: 'push_device', push_account_id: 2408, status: 'pending' }],
  )
  const { snapshot } = await hamlet.register()
  assert.deepEqual([snapshot.devices, snapshot.push_devices], [before, { 2408: { status: 'pending' } }])
  for (const name of [
    'token_kind',
    'push_account_id',
    'push_key',
    'bouncer_public_key',
    'encrypted_push_registration',
  ]) {
    const { body } = await hamlet.call('POST', '/mobile_push/register', { ...old, [name]: undefined })
    assert.deepEqual([body.code, body.var_name], ['REQUEST_VARIABLE_MISSING', name])
  }
})

test('POST /mobile_push/e2ee/test_notification: a device that is pending is no active one', async () => {
  const device_id = await add(hamlet)
  await pending(hamlet, device_id, BOTH)
  for (const values of [{ device_id }, { device_id: 99 }, { push_account_id: 1 }, {}])
    await hamlet.refused('NO_ACTIVE_PUSH_DEVICE', 'POST', '/mobile_push/e2ee/test_notification', values)
})

test('bots have no devices', async () => {
  const { user_id } = await hamlet.post('/bots', { full_name: 'Robot', short_name: 'robot' })
  const bot = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
  for (const path of ['/register_client_device', '/remove_client_device'])
    assert.equal((await bot.call('POST', path, { device_id: 1 })).body.result, 'error')
})
