/** The device key in the TPM of a machine: what opens a device that starts unattended, and what leaves it closed. */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { bundleProbe } from './probe/build.ts'
import {
  ADMIN,
  type Appliance,
  boot,
  buildImage,
  expect,
  type Image,
  makeDirectory,
  makeDisk,
  onMachines,
  provision,
  UNLOCK_PASSPHRASE,
} from './rig.ts'

// At the same place each time: the image is built again only when the probe or the sources have changed.
const PROBE = join(import.meta.dirname, '../../dist/test-image/probe')

let image: Image
before(async () => {
  if (onMachines().skip !== false) return
  await bundleProbe(PROBE)
  image = await buildImage({ bundle: PROBE })
})

/** Switches on, and off again after `work`. The probe of the image looks for the key a second time. */
async function start(
  t: TestContext,
  disk: string,
  tpm: string | undefined,
  work: (device: Appliance) => Promise<void>,
) {
  const device = await boot(t, image, { disk, tpm })
  await device.answers()
  await work(device)
  await device.kill()
  return device.output()
}

async function assertOpens(device: Appliance): Promise<void> {
  assert.equal(await device.state(), 'Operational')
  await expect(200, device.call('GET', '/keys/kept', { as: ADMIN }))
}

/** Closed although unattended boot is on, and with the right passphrase, for a reason that is told. */
const assertStaysLocked = (reason: RegExp) => async (device: Appliance) => {
  assert.equal(await device.state(), 'Locked')
  const json = { passphrase: UNLOCK_PASSPHRASE }
  const answer = await expect(500, device.call('POST', '/unlock', { json }))
  assert.match(answer.json<{ message: string }>().message, reason)
  await device.see(new RegExp(`: Locked: The device key is withheld: .*${reason.source}`))
  for (const [method, path] of [
    ['GET', '/keys'],
    ['POST', '/system/factory-reset'],
    ['POST', '/provision'],
  ] as const)
    await expect(412, device.call(method, path, { as: ADMIN }))
  assert.equal(await device.state(), 'Locked')
}

test('the key opens in the machine it was made in, once in each start, and nowhere else', onMachines(), async (t) => {
  const [disk, tpm] = [makeDisk(t, image), join(makeDirectory(t), 'tpm')]
  await start(t, disk, tpm, async (device) => {
    assert.equal(await device.state(), 'Unprovisioned')
    await provision(device)
    const json = { id: 'kept', type: 'EC_P256', mechanisms: ['ECDSA_Signature'] }
    await expect(201, device.call('POST', '/keys/generate', { as: ADMIN, json }))
    await expect(204, device.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  })

  const other = join(makeDirectory(t), 'tpm')
  await start(t, disk, other, assertStaysLocked(/the TPM of this machine does not hold it/))
  assert.ok(existsSync(other))
  await start(t, disk, undefined, assertStaysLocked(/in the TPM of another machine, and this one has none/))

  const output = await start(t, disk, tpm, assertOpens)
  assert.match(output, /probe: the boot manager's way: register 15 of the TPM is closed/)
  assert.match(output, /probe: the values it was sealed to: the TPM refuses PolicyPCR: value/)
  assert.match(output, /probe: the values there are: the TPM refuses Unseal: policyFail/)
  assert.match(output, /probe: one register alone: the TPM refuses Unseal: policyFail/)
  assert.doesNotMatch(output, /GIVEN/)
})
