/** Info, health, provisioning, unlock, lock, metrics. Contract sections 2, 3.1, 4.2, 7.1; more is in test/contract. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { ADMIN, openRig, operationalRig, UNLOCK } from '../../support/in-process.ts'

const PROVISION = { unlockPassphrase: UNLOCK, adminPassphrase: ADMIN, systemTime: '2030-01-02T03:04:05Z' }

test('tells vendor and product, with an etag that answers 304', async (t) => {
  const rig = await openRig(t)
  const { json, headers } = await rig.call('GET', '/info')
  assert.deepEqual(json(), { vendor: 'Coffer', product: 'Coffer' })
  assert.equal(await rig.status('GET', '/info', { headers: { 'if-none-match': headers.etag! } }), 304)
})

test('health answers per state', async (t) => {
  const rig = await openRig(t)
  const seen = async () => [
    (await rig.call('GET', '/health/state')).json().state,
    await rig.status('GET', '/health/alive'),
    await rig.status('GET', '/health/ready'),
    await rig.status('GET', '/health/diagnose'),
    await rig.status('GET', '/health/diagnose', { as: 'admin' }),
  ]
  assert.deepEqual(await seen(), ['Unprovisioned', 200, 412, 200, 200])
  assert.equal(await rig.status('POST', '/provision', { json: PROVISION }), 204)
  assert.deepEqual(await seen(), ['Operational', 412, 200, 401, 200])
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  assert.deepEqual(await seen(), ['Locked', 200, 412, 200, 200])
  const { headers, text } = await rig.call('GET', '/health/alive')
  assert.equal(headers['content-length'], '0')
  assert.equal(headers['cache-control'], 'no-cache')
  assert.equal(text(), '')
})

test('without credentials a body has 16 KiB at most, which holds any passphrase', async (t) => {
  const rig = await openRig(t)
  const longest = '\\u20ac'.repeat(66) // 200 bytes of UTF-8, written as long as can be
  const body = JSON.stringify(PROVISION)
    .replace(UNLOCK, longest)
    .padEnd(16 * 1024)
  const headers = { 'content-type': 'application/json' }
  assert.equal(await rig.status('POST', '/provision', { body: `${body} `, headers }), 413)
  assert.equal(await rig.status('POST', '/provision', { body, headers }), 204)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  const unlock = `{"passphrase":"${longest}"}`.padEnd(16 * 1024)
  assert.equal(await rig.status('POST', '/unlock', { body: `${unlock} `, headers }), 413)
  const pieces = ReadableStream.from([Buffer.from(unlock), Buffer.from(' ')])
  assert.equal(await rig.status('POST', '/unlock', { body: pieces, headers }), 413)
  assert.equal(await rig.status('POST', '/unlock', { body: unlock, headers }), 204)
})

test('refuses provisioning with weak passphrases, a time without offset, missing or unknown members', async (t) => {
  const rig = await openRig(t)
  for (const json of [
    { ...PROVISION, unlockPassphrase: 'ninebytes' },
    { ...PROVISION, adminPassphrase: 'x'.repeat(201) },
    { ...PROVISION, systemTime: '2030-01-02T03:04:05' },
    { ...PROVISION, systemTime: '2030-01-02T03:04:05+01:00' },
    { ...PROVISION, more: 1 },
    { unlockPassphrase: UNLOCK, adminPassphrase: ADMIN },
  ])
    assert.equal(await rig.status('POST', '/provision', { json }), 400, JSON.stringify(json))
  assert.equal(await rig.status('POST', '/provision', { json: PROVISION }), 204)
  assert.equal(await rig.status('POST', '/provision', { json: PROVISION }), 412)
  assert.deepEqual((await rig.call('GET', '/users/admin', { as: 'admin' })).json(), {
    realName: 'admin',
    role: 'Administrator',
  })
  assert.match((await rig.call('GET', '/config/time', { as: 'admin' })).json().time, /^2030-01-02T03:04:\d\dZ$/)
})

test('unlocks with the right passphrase only, one failed attempt a second', async (t) => {
  const rig = await operationalRig(t)
  const unlock = (passphrase: unknown) => rig.status('POST', '/unlock', { json: { passphrase } })
  assert.equal(await unlock(UNLOCK), 412)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  assert.equal(await unlock('wrong passphrase'), 403)
  assert.match(rig.entries.at(-1)!.message, /unlocking from inside failed: wrong passphrase/)
  assert.equal(rig.entries.at(-1)!.level, 'warning')
  assert.equal(await unlock(UNLOCK), 429)
  rig.nowMs += 1000
  assert.equal(await unlock('short'), 400)
  assert.equal(await unlock(UNLOCK), 429)
  rig.nowMs += 1000
  assert.equal(await rig.status('POST', '/unlock', { body: '{}}}' }), 400)
  assert.equal(await unlock(UNLOCK), 204)
  assert.equal(await rig.status('GET', '/users', { as: 'admin' }), 200)
})

test('only root Administrators lock', async (t) => {
  const rig = await operationalRig(t)
  assert.equal(await rig.status('POST', '/lock', { as: 'operator' }), 403)
  await rig.user('ns~boss', 'Administrator')
  assert.equal(await rig.status('PUT', '/namespaces/ns', { as: 'admin' }), 204)
  assert.equal(await rig.status('POST', '/lock', { as: 'ns~boss' }), 403)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
})

test('metrics are strings, for Metrics only', async (t) => {
  const rig = await operationalRig(t)
  await rig.key('one')
  const metrics = (await rig.call('GET', '/metrics', { as: 'metrics' })).json()
  for (const [name, value] of Object.entries(metrics)) assert.equal(typeof value, 'string', name)
  assert.equal(metrics.generate, '1')
  assert.equal(metrics.sign, '0')
  assert(Number(metrics['kv write']) >= 5)
  assert.equal(
    await rig.status('POST', '/keys/one/sign', { as: 'operator', json: { mode: 'EdDSA', message: '' } }),
    200,
  )
  assert.equal((await rig.call('GET', '/metrics', { as: 'metrics' })).json().sign, '1')
  assert.equal(await rig.status('GET', '/metrics', { as: 'admin' }), 403)
})

test('changes the unlock passphrase', async (t) => {
  const rig = await operationalRig(t)
  const change = (currentPassphrase: string, newPassphrase: string) =>
    rig.status('PUT', '/config/unlock-passphrase', { as: 'admin', json: { currentPassphrase, newPassphrase } })
  assert.equal(await change('', 'another passphrase'), 403)
  assert.equal(await change(UNLOCK, 'short'), 400)
  assert.equal(await change(UNLOCK, 'another passphrase'), 204)
  assert.equal(await rig.status('POST', '/lock', { as: 'admin' }), 204)
  const unlock = (passphrase: string) => rig.status('POST', '/unlock', { json: { passphrase } })
  assert.equal(await unlock(UNLOCK), 403)
  rig.nowMs += 1000
  assert.equal(await unlock('another passphrase'), 204)
})

test('what runs when the appliance locks ends with 412', async (t) => {
  const rig = await operationalRig(t)
  const json = { id: 'late', type: 'RSA', length: 2048, mechanisms: ['RSA_Signature_PKCS1'] }
  const generation = rig.status('POST', '/keys/generate', { as: 'admin', json })
  const passphrase = 'a new passphrase'
  const users = rig.status('PUT', '/users/late', { as: 'admin', json: { realName: 'l', role: 'Operator', passphrase } })
  await new Promise((resolve) => setTimeout(resolve, 20))
  rig.appliance.lock()
  const statuses = [await generation, await users]
  assert.equal(statuses[0], 412)
  await rig.appliance.unlock(new TextEncoder().encode(UNLOCK))
  assert.equal(await rig.status('GET', '/keys/late', { as: 'admin' }), 404)
  assert.equal(await rig.status('GET', '/users/late', { as: 'admin' }), statuses[1] === 201 ? 200 : 404)
})
