// @test long 60
/** Coffer is killed between an order and its certificate, at pebble: the port always shows one, and the next start gets the other. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { makeDataDirectory } from '../support/process.ts'
import { acmeServer } from '../support/tools.ts'
import { startPebble } from './support/pebble.ts'
import {
  acmeOf,
  certificateAt,
  choosePorts,
  isForNames,
  openWhole,
  setAcme,
  startWhole,
  untilPort,
} from './support/whole.ts'

const { skip } = acmeServer('pebble')
const DEADLINE_MS = 60_000 // the machine may be busy
const NAMES = ['coffer.test', 'keys.coffer.test']

/** Texts that pebble prints. */
const MOMENTS = {
  ordered: 'Added order',
  'being validated': 'Attempting to validate w/ HTTP',
  'being issued': 'is fully authorized. Processing finalization',
  issued: 'Issued certificate serial',
}

test('a kill at each moment of an order', { skip }, async (t) => {
  const [ports, data] = [await choosePorts(), makeDataDirectory(t)]
  const environment = { PEBBLE_VA_SLEEPTIME: '2', PEBBLE_AUTHZREUSE: '0' }
  const pebble = await startPebble(t, { httpPort: ports.http, tlsPort: ports.appliance, environment })
  let coffer = await openWhole(t, ports, pebble.authorities, data)
  const { publicKey } = await certificateAt(ports.appliance)
  for (const [moment, text] of Object.entries(MOMENTS)) {
    const { ports: before, account } = await acmeOf(coffer)
    const printed = pebble.output().length
    if (account === null) await setAcme(coffer, { directory: pebble.directory, termsAgreed: true, appliance: NAMES })
    else await expect(204, coffer.call('POST', '/config/acme/renew', { as: ADMIN, json: { port: 'appliance' } }))
    const deadline = Date.now() + DEADLINE_MS
    while (!pebble.output().includes(text, printed)) {
      assert.ok(Date.now() < deadline, `${moment}: ${coffer.output()}\n${pebble.output()}`)
      await wait(5)
    }
    await coffer.kill(true)

    coffer = await startWhole(t, ports, data)
    await coffer.target()
    assert.ok((await certificateAt(ports.appliance)).publicKey.equals(publicKey), moment)
    await expect(204, coffer.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
    const isNew = (notAfter?: string) => notAfter !== undefined && notAfter !== before.appliance.notAfter
    const status = await untilPort(coffer, 'appliance', ({ state, notAfter }) => state === 'valid' && isNew(notAfter))
    assert.equal(status.failures, 0, moment)
    const shown = await certificateAt(ports.appliance)
    assert.ok(isForNames(shown, NAMES), moment)
    assert.ok(shown.publicKey.equals(publicKey), moment)
    if (account !== null) assert.equal((await acmeOf(coffer)).account, account)
  }
})
