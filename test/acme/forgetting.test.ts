// @test long 30
/** A Coffer that is locked, or orders no certificates any more, holds no key of an ACME account: its memory, read from outside. */

import assert from 'node:assert/strict'
import { createPrivateKey } from 'node:crypto'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createAcmeRecords } from '../../firmware/acme/records.ts'
import { defined } from '../../firmware/base/defined.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { search, tracesOf } from '../crypto/memory-search.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { makeRig } from '../support/in-process.ts'
import { copyOpenStore } from '../support/open-store.ts'
import { makeDataDirectory } from '../support/process.ts'
import { needs } from '../support/tools.ts'
import { DIRECTORY } from './support/ca.ts'
import { joinCa, serveCa } from './support/served.ts'
import { choosePorts, setAcme, startWhole, untilPort } from './support/whole.ts'

const LOOKS_MAX = 30 // each takes a second; garbage is collected some time after a lock

/** The secret number, from a copy of the store that another appliance opens. */
async function accountKeyOf(data: string): Promise<Uint8Array> {
  const copy = mkdtempSync(join(tmpdir(), 'coffer-copy-'))
  copyOpenStore(join(data, 'store'), copy)
  const deviceKey = new Uint8Array(readFileSync(join(data, 'device.key')))
  const rig = await makeRig(deviceKey, {}, { dataDirectory: copy })
  try {
    await rig.appliance.unlock(new TextEncoder().encode(UNLOCK_PASSPHRASE))
    const { deviceRecords: records } = rig.appliance
    const deriveKey = (purpose: string) => rig.appliance.deriveKey(purpose)
    const { key } = defined(createAcmeRecords({ records, deriveKey, random: systemRandom }).account())
    const { d } = createPrivateKey({ key: Buffer.from(key), format: 'der', type: 'pkcs8' }).export({ format: 'jwk' })
    return Buffer.from(defined(d), 'base64url')
  } finally {
    await rig.close()
  }
}

test('nothing is left of the key of the account after a lock, and once ACME is off', needs('openssl'), async (t) => {
  const served = await serveCa(t)
  const data = makeDataDirectory(t)
  const coffer = await startWhole(t, await choosePorts(), data)
  await provision(coffer)
  await joinCa(coffer, served)
  await setAcme(coffer, { directory: DIRECTORY, challenge: 'tls-alpn-01', appliance: ['coffer.example.org'] })
  await untilPort(coffer, 'appliance', ({ state }) => state === 'valid')
  const traces = [tracesOf('account', 'EC_P256', await accountKeyOf(data))]
  const pid = await coffer.firmwarePid()
  const count = () => search(pid, traces).pieces.length
  const untilForgotten = async () => {
    for (let looks = 0; count() > 0; looks++) {
      assert.ok(looks < LOOKS_MAX, JSON.stringify(search(pid, traces).pieces))
      await wait(1000)
    }
  }

  const { send } = served.ca
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  t.after(() => release())
  let asked = Promise.withResolvers<void>()
  served.ca.send = async (...job) => {
    asked.resolve()
    await released
    return send(...job)
  }
  await expect(204, coffer.call('POST', '/config/acme/renew', { as: ADMIN, json: { port: 'appliance' } }))
  await asked.promise
  assert.ok(count() > 0, 'an order is under way')
  asked = Promise.withResolvers()
  await expect(204, coffer.call('POST', '/lock', { as: ADMIN }))
  await untilForgotten()

  await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await asked.promise
  assert.ok(count() > 0, 'the order goes on')
  await setAcme(coffer, { directory: null })
  await untilForgotten()
})
