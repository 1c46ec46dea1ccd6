// @test device 220
/** The device key in the TPM of a machine: what opens a device that starts unattended, and what leaves it closed. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { before, type TestContext, test } from 'node:test'
import { FIRMWARE_ID } from '../../boot/device/launcher.ts'
import { ADMIN, expect, provision, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { type Appliance, boot, onMachines } from '../support/machine.ts'
import { buildImage, type Image, makeDirectory, makeDisk } from './images.ts'
import { bundleProbe } from './probe/build.ts'
import { findPartition } from './replay.ts'

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
  const device = await boot(t, image, { disk, tpm, cores: 1 })
  await device.answers()
  assert.doesNotMatch(device.output(), /\bima: /, 'the kernel finds the hashes of the TPM’s banks')
  await work(device)
  await device.kill()
  return device.output()
}

async function shutDown(device: Appliance): Promise<void> {
  await expect(204, device.call('POST', '/system/shutdown', { as: ADMIN }))
  assert.equal(await device.ended, 0)
  assert.doesNotMatch(device.output(), /is not counted/)
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
    await shutDown(device)
  })
  const earlier = copyData(t, disk)

  const other = join(makeDirectory(t), 'tpm')
  await start(t, disk, other, assertStaysLocked(/the TPM of this machine does not hold it/))
  assert.ok(existsSync(other))
  await start(t, disk, undefined, assertStaysLocked(/in the TPM of another machine, and this one has none/))

  const output = await start(t, disk, tpm, async (device) => {
    await assertOpens(device)
    await shutDown(device)
  })
  assert.match(output, /probe: the boot manager's way: register 15 of the TPM is closed/)
  assert.match(output, /probe: the values it was sealed to: the TPM refuses PolicyPCR: value/)
  assert.match(output, /probe: the values there are: the TPM refuses Unseal: policyFail/)
  assert.match(output, /probe: one register alone: the TPM refuses Unseal: policyFail/)
  assert.doesNotMatch(output, /GIVEN/)

  const today = copyData(t, disk)
  putBack(disk, earlier, ['minimum-version'])
  await start(t, disk, tpm, async (device) => {
    await assertStaysLocked(/older data have been put back/)(device)
    await shutDown(device)
  })
  putBack(disk, today, ['minimum-version'])
  putBack(disk, earlier, filesOfStore(earlier))
  await start(t, disk, tpm, async (device) => {
    assert.equal(await device.state(), 'Failed')
    await device.see(/Failed: The store is of an earlier start than the last one: older data have been put back/)
    await shutDown(device)
  })
  putBack(disk, today, filesOfStore(today))
  await start(t, disk, tpm, assertOpens)
})

function copyData(t: TestContext, disk: string): string {
  const directory = makeDirectory(t)
  onData(disk, `rdump /minimum-version /store ${directory}`)
  return directory
}

const filesOfStore = (copy: string): string[] => readdirSync(join(copy, 'store')).map((name) => `store/${name}`)

function putBack(disk: string, from: string, names: string[]): void {
  for (const name of names) {
    const owner = name === 'minimum-version' ? 0 : FIRMWARE_ID
    const owned = ['uid', 'gid'].map((field) => `set_inode_field /${name} ${field} ${owner}`)
    onData(disk, `rm /${name}`, `write ${join(from, name)} /${name}`, ...owned, `set_inode_field /${name} mode 0100600`)
  }
}

/** For a machine that was shut down: a journal would undo what is written. */
function onData(disk: string, ...commands: string[]): void {
  const partition = `${disk}?offset=${findPartition(disk, 'coffer-data').start}`
  const input = commands.map((command) => `${command}\n`).join('')
  execFileSync('debugfs', ['-w', '-f', '-', partition], { input, stdio: ['pipe', 'ignore', 'ignore'] })
}
