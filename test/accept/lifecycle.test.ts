/** States, passphrases of the appliance, boot mode and the log: contract sections 2, 3.1, 3.4 and 7. What needs no restart is in test/contract. */

import assert from 'node:assert/strict'
import { verify } from 'node:crypto'
import { after, before, describe, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { expect } from '../support/appliance.ts'
import {
  ADMIN,
  type Appliance,
  addUser,
  credentialsOf,
  passphraseOf,
  startAppliance,
  startProvisioned,
  UNLOCK,
} from '../support/suite.ts'

let appliance: Appliance
const operator = credentialsOf('operator')
const SEED = Buffer.alloc(32, 7).toString('base64')
const ED25519 = { type: 'Curve25519', mechanisms: ['EdDSA_Signature'], private: { data: SEED } }
const ML_DSA = { type: 'ML_DSA_65', mechanisms: ['ML_DSA_Signature'], private: { data: SEED } }

const get = (path: string, as = ADMIN) => appliance.call('GET', path, { as })
const send = (method: string, path: string, json: unknown, as = ADMIN) => appliance.call(method, path, { as, json })

describe('lifecycle', () => {
  before(async () => {
    appliance = await startProvisioned({ logLevel: 'debug' })
    await addUser(appliance, 'operator', 'Operator')
    await expect(204, send('PUT', '/keys/ed', ED25519))
    await expect(204, send('PUT', '/keys/ml-dsa', ML_DSA))
  })
  after(() => appliance?.dispose())

  test('provision refuses what it does not understand and then takes what it does', async () => {
    const fresh = await startAppliance()
    try {
      const good = { unlockPassphrase: UNLOCK, adminPassphrase: 'administrator', systemTime: '2026-01-01T00:00:00Z' }
      const provision = (json: unknown) => fresh.call('POST', '/provision', { json })
      for (const member of Object.keys(good)) {
        await expect(400, provision({ ...good, [member]: undefined }))
        await expect(400, provision({ ...good, [member]: 1 }))
        await expect(400, provision({ ...good, [member]: 'short' }))
      }
      await expect(400, provision({ ...good, more: true }))
      assert.equal(await fresh.state(), 'Unprovisioned')
      await expect(204, provision(good))
      await expect(412, provision(good))
      assert.equal(await fresh.state(), 'Operational')
      await expect(200, fresh.call('GET', '/users/admin', { as: 'admin:administrator' }))
      assert.deepEqual((await fresh.call('GET', '/users', { as: 'admin:administrator' })).json(), [{ user: 'admin' }])
      const boot = await fresh.call('GET', '/config/unattended-boot', { as: 'admin:administrator' })
      assert.deepEqual(boot.json(), { status: 'off' })
    } finally {
      await fresh.dispose()
    }
  })

  test('the unlock passphrase can be changed, and unlock tells short from wrong', async () => {
    const next = 'other words that unlock it'
    const change = { newPassphrase: next, currentPassphrase: UNLOCK }
    await expect(204, send('PUT', '/config/unlock-passphrase', change))
    await expect(403, send('PUT', '/config/unlock-passphrase', change))
    await expect(204, appliance.call('POST', '/lock', { as: ADMIN }))
    assert.equal(await appliance.state(), 'Locked')
    const unlock = (passphrase: unknown, from: string) =>
      appliance.call('POST', '/unlock', { json: { passphrase }, from })
    await expect(400, unlock('short', '127.0.1.1'))
    await expect(429, unlock(next, '127.0.1.1')) // what fails validation counts
    await expect(403, unlock(UNLOCK, '127.0.1.2'))
    await expect(429, unlock(next, '127.0.1.2'))
    const unparsable = { body: '{}}}', from: '127.0.1.3' }
    await expect(400, appliance.call('POST', '/unlock', unparsable))
    await expect(400, appliance.call('POST', '/unlock', unparsable)) // and what cannot be parsed does not
    await expect(204, unlock(next, '127.0.1.3'))
    const back = { newPassphrase: UNLOCK, currentPassphrase: next }
    await expect(204, send('PUT', '/config/unlock-passphrase', back))
  })

  test('unattended boot comes up Operational after a restart, attended boot Locked', async () => {
    const time = Date.now() + 86_400_000
    await expect(204, send('PUT', '/config/time', { time: new Date(time).toISOString() }))
    await expect(400, send('PUT', '/config/unattended-boot', { status: 'ON' }))
    await expect(400, send('PUT', '/config/unattended-boot', { status: 'on', passphrase: UNLOCK }))
    await expect(204, send('PUT', '/config/unattended-boot', { status: 'on' }))
    assert.deepEqual((await get('/config/unattended-boot')).json(), { status: 'on' })
    const key = (await get('/keys/ed')).text()
    const publicPem = (await get('/keys/ml-dsa/public.pem')).text()
    const signs = async () => {
      const message = { mode: 'ML_DSA', message: Buffer.from('a message').toString('base64') }
      const answer = await expect(200, send('POST', '/keys/ml-dsa/sign', message, operator))
      const signature = Buffer.from(answer.json<{ signature: string }>().signature, 'base64')
      assert(verify(null, Buffer.from('a message'), publicPem, signature))
    }
    await appliance.restart()
    assert.equal(await appliance.state(), 'Operational')
    assert.equal((await expect(200, get('/keys/ed'))).text(), key)
    await signs()
    const shown = Date.parse((await get('/config/time')).json<{ time: string }>().time)
    assert(Math.abs(shown - time) < 60_000, 'the clock keeps the time it was given')
    await expect(204, send('PUT', '/config/unattended-boot', { status: 'off' }))
    await appliance.restart()
    assert.equal(await appliance.state(), 'Locked')
    await expect(204, appliance.call('POST', '/unlock', { json: { passphrase: UNLOCK } }))
    assert.equal((await expect(200, get('/keys/ed'))).text(), key)
    await signs()
  })

  test('no secret is in the log, at any level', async () => {
    const secrets = [UNLOCK, ADMIN.slice('admin:'.length), passphraseOf('operator'), 'other words that unlock it', SEED]
    const forms = secrets.flatMap((text) => {
      const bytes = [Buffer.from(text), Buffer.from(text, 'base64'), Buffer.from(`operator:${text}`)]
      return [text, ...bytes.flatMap((value) => [value.toString('base64'), value.toString('hex')])]
    })
    await expect(200, send('POST', '/keys/ed/sign', { mode: 'EdDSA', message: 'AAAA' }, operator))
    const signed = /request POST \/api\/v1\/keys\/ed\/sign/
    // Its lines come through two processes.
    for (const deadline = Date.now() + 10_000; Date.now() < deadline && !signed.test(appliance.log()); ) await wait(20)
    const log = appliance.log()
    assert.match(log, signed)
    for (const form of forms) assert(!log.includes(form), form)
    assert.doesNotMatch(log, /^error/m)
  })
})
