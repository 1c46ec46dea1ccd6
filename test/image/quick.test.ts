/**
 * The flashed image starts, signs and starts again under software emulation. Runs in `make test`.
 *
 * How long a start takes is printed. Its bounds are still to be met: under emulation the first answer comes after half a minute
 * and more, by how busy the computer is.
 */

import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { boot, onMachines } from '../support/machine.ts'
import { buildImage, makeDisk } from './images.ts'

const FIRST_START_MS_MAX = 20_000 // UEFI, boot loader, data partition and keys made
const DIRECT_START_MS_MAX = 10_000
const MEGABYTES = 512

test('the image starts, keeps its keys over a shutdown, and starts again', onMachines(), async (t) => {
  const image = await buildImage()
  const disk = makeDisk(t, image)
  const first = await boot(t, image, { disk, firmware: 'ovmf', memoryMegabytes: MEGABYTES })
  await checkTime(t, 'first start through UEFI', await first.answers(), FIRST_START_MS_MAX)
  assert.equal(await first.state(), 'Unprovisioned')
  await provision(first)
  const key = { id: 'web', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
  await expect(201, first.call('POST', '/keys/generate', { as: ADMIN, json: key }))
  const operator = { realName: 'Web', role: 'Operator', passphrase: 'operator of the web' }
  await expect(201, first.call('PUT', '/users/web', { as: ADMIN, json: operator }))
  const message = Buffer.alloc(32).toString('base64')
  const sign = { as: 'web:operator of the web', json: { mode: 'ECDSA', message } }
  await expect(200, first.call('POST', '/keys/web/sign', sign))
  await expect(204, first.call('POST', '/system/shutdown', { as: ADMIN }))
  assert.equal(await first.ended, 0, 'the machine powers itself off')

  const again = await boot(t, image, { disk })
  await checkTime(t, 'start without UEFI', await again.answers(), DIRECT_START_MS_MAX)
  assert.equal(await again.state(), 'Locked')
  await expect(204, again.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await expect(200, again.call('POST', '/keys/web/sign', sign))
})

async function checkTime(t: TestContext, what: string, ms: number, boundMs: number): Promise<void> {
  t.diagnostic(`${what}: first HTTPS answer after ${(ms / 1000).toFixed(1)} s`)
  await t.test(`${what}: within ${boundMs / 1000} s`, { todo: 'a start takes too long' }, () => assert.ok(ms < boundMs))
}
