// @test long 20
/** Devices of an account outlast a restart, and come back with a backup of Coffer's own form. Contract sections 2.5, 8 and 9. */

import assert from 'node:assert/strict'
import { before, type TestContext, test } from 'node:test'
import { ADMIN, expect, stateOf, UNLOCK_PASSPHRASE } from '../../support/appliance.ts'
import { buildForTests } from '../../support/build.ts'
import { type Coffer, makeDataDirectory, startCoffer } from '../../support/process.ts'
import { backUp, provisionForBackups, restore } from '../support/backups.ts'
import { type Account, ask, askUntil, keyOf, makeOrganization, reach } from '../support/process.ts'

let program: string
before(async () => {
  program = await buildForTests()
})

const PUSH = {
  push_key_id: '2408',
  push_key: Buffer.from([0x31, ...new Uint8Array(32).fill(7)]).toString('base64'),
  token_kind: 'fcm',
  token_id: 'hGsEWGmyyfI=',
  bouncer_public_key: 'AAAA',
  encrypted_push_registration: 'BBBB',
}

type Devices = Record<string, { push_key_id: number | null; pending_push_token_id: string | null }>

async function started(t: TestContext, data = makeDataDirectory(t)): Promise<Coffer> {
  const coffer = startCoffer(t, { program, data, settings: { COFFER_CHAT_PORT: '0' } })
  await coffer.target()
  return coffer
}

/** The port of its chat once that runs. */
async function unlocked(coffer: Coffer): Promise<number> {
  assert.equal(await stateOf(coffer), 'Locked')
  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  return (await reach(coffer, 'running')).port!
}

async function addDevice(port: number, as: Account): Promise<number> {
  const { status, body } = await ask(port, 'POST', '/register_client_device', { as })
  assert.equal(status, 200, JSON.stringify(body))
  return body.device_id
}

async function registerPush(port: number, as: Account, device_id: number, push_key_id = PUSH.push_key_id) {
  const form = { ...PUSH, push_key_id, device_id: String(device_id) }
  const { body } = await ask(port, 'POST', '/mobile_push/register', { as, form })
  assert.equal(body.code, 'PUSH_SERVICE_NOT_CONFIGURED', JSON.stringify(body))
}

async function devices(port: number, as: Account): Promise<Devices> {
  const form = { fetch_event_types: '["device"]', event_types: '[]' }
  const { body } = await askUntil(({ status }) => status === 200, port, 'POST', '/register', { as, form })
  return body.devices
}

test('devices outlast a restart, and a backup brings them to the same Coffer and to another', async (t) => {
  const data = makeDataDirectory(t)
  const first = await started(t, data)
  await provisionForBackups(first)
  await makeOrganization(first)
  let { port } = await reach(first, 'running')
  const account = await keyOf(port!)
  const laterKey = await keyOf(port!)
  const registered = await addDevice(port!, account)
  await registerPush(port!, account, registered)
  const plain = await addDevice(port!, laterKey)
  const saved = await devices(port!, account)
  assert.deepEqual(Object.keys(saved), [String(registered), String(plain)])
  assert.equal(saved[registered]!.push_key_id, 2408)
  assert.equal(saved[registered]!.pending_push_token_id, 'hGsEWGmyyfI=')
  const backup = await backUp(first)
  const text = backup.toString('latin1')
  for (const secret of [PUSH.push_key, 'hGsEWGmyyfI=']) assert.ok(!text.includes(secret), 'sealed')

  assert.equal(await first.stop(), 0)
  const again = await started(t, data)
  port = await unlocked(again)
  assert.deepEqual(await devices(port, account), saved)

  await registerPush(port, account, registered, '7')
  const { body } = await ask(port, 'POST', '/remove_client_device', { as: account, form: { device_id: String(plain) } })
  assert.equal(body.result, 'success')
  const added = await addDevice(port, account)
  assert.ok(added > plain, 'an id is given once')
  assert.notDeepEqual(await devices(port, account), saved)
  await expect(204, restore(again, backup, ADMIN))
  port = (await reach(again, 'running')).port!
  assert.deepEqual(await devices(port, account), saved)
  assert.equal(await again.stop(), 0)

  const other = await started(t)
  await expect(204, restore(other, backup))
  port = await unlocked(other)
  assert.deepEqual(await devices(port, account), saved)
  // A restored device still belongs to the key that made it.
  const { api_keys } = (await ask(port, 'GET', '/users/me/api_keys', { as: laterKey })).body
  const { id } = api_keys.find(({ is_current }: { is_current: boolean }) => is_current)
  const ended = await ask(port, 'DELETE', `/users/me/api_keys/${id}`, { as: account })
  assert.equal(ended.body.result, 'success', JSON.stringify(ended.body))
  assert.deepEqual(Object.keys(await devices(port, account)), [String(registered)])
})
