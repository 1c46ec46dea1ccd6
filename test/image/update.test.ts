// @test device 270
/** Updates on the device: to the next version and back by itself; what is refused changes nothing. */

import assert from 'node:assert/strict'
import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { MANIFEST } from '../../firmware/release/manifest.ts'
import { flash } from '../../tools/qemu/flash.ts'
import { makeArchive, makeImage } from '../../tools/update-image.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import { boot, onMachines } from '../support/machine.ts'
import { type Image, makeDirectory, releaseKey } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'
import { findPartition, writePieces } from './replay.ts'
import {
  BAD,
  bootOptions,
  changedImage,
  checkKey,
  commit,
  FIRST,
  fallback,
  firstImage,
  listEsp,
  prepare,
  renameVersion,
  SECOND,
  secondImage,
  upload,
  versionOf,
  versionsOn,
} from './versions.ts'

const CRASH = "console.error('This version is broken.')\nprocess.exit(3)\n"

let first: Image
let second: Image
before(async () => {
  if (onMachines().skip !== false) return
  first = await firstImage()
  second = await secondImage()
})

function refusedImages(good: Buffer): [what: string, image: Uint8Array, status: number, message: RegExp][] {
  const stranger = generateKeyPairSync('ed25519').privateKey
  const [kernel, root] = ['coffer-x64.efi', 'coffer-x64.root'].map((name) => ({
    name,
    bytes: Buffer.from('not to be read'),
  }))
  const files = [kernel!, root!]
  const release = { product: 'Coffer', version: SECOND, minimumVersion: '1.0', releaseNotes: '' }
  const tampered = Buffer.from(good) // to its end on the disk before it is found out
  tampered[good.length - 100_000]! ^= 1
  const key = createPrivateKey(readFileSync(releaseKey().path))
  const unsigned = makeArchive([{ name: MANIFEST, bytes: Buffer.from('{}') }, ...files])
  return [
    ['truncated', good.subarray(0, 2_000_000), 400, /ends within/],
    ['unsigned', unsigned, 400, /manifest\.sig is expected/],
    ['signed by a stranger', makeImage(release, files, stranger), 400, /not signed by the release key/],
    ['below the floor', makeImage({ ...release, version: '1.0.4' }, files, key), 409, /1\.0\.4 is older than 1\.0\.5/],
    ['of the running version', makeImage({ ...release, version: FIRST }, files, key), 409, /is already running/],
    ['of an older major', makeImage({ ...release, version: '0.9' }, files, key), 409, /older major version/],
    ['without its root', makeImage(release, [kernel!], key), 400, /must contain coffer-x64\.efi and coffer-x64\.root/],
    ['no kernel image', makeImage(release, files, key), 400, /cannot be started: it is not a program/],
    ['tampered with', tampered, 400, /does not match the manifest/],
  ]
}

test('an update runs after its commit; a broken one is tried three times and left', onMachines(), async (t) => {
  const broken = await changedImage(BAD, makeDirectory(t), (program) => program('firmware.js').replaceAll(CRASH))
  const disk = await makeProvisionedDisk(t, first, prepare)
  const device = await boot(t, first, bootOptions(disk))
  await device.answers()

  const before = listEsp(disk)
  assert.deepEqual(versionsOn(disk), [`coffer_${FIRST}.efi`])
  const good = readFileSync(second.update)
  for (const [what, image, status, message] of refusedImages(good)) {
    const reply = await upload(device, image)
    assert.equal(reply.status, status, what)
    assert.match(reply.json<{ message: string }>().message, message)
    assert.deepEqual(listEsp(disk), before, `after what was ${what}`)
  }

  assert.equal(
    (await expect(200, upload(device, good))).json<{ releaseNotes: string }>().releaseNotes,
    `Coffer ${SECOND}.`,
  )
  assert.ok(listEsp(disk).length > before.length)
  await expect(204, device.call('POST', '/system/cancel-update', { as: ADMIN }))
  assert.deepEqual(listEsp(disk), before, 'after a canceled one')

  await expect(200, upload(device, good))
  await commit(device)
  await device.see(/Version 1\.2\.0 is on trial\./)
  await device.see(/Version 1\.2\.0 is good\./)
  assert.equal(await versionOf(device), '1.2.0')
  await checkKey(device)
  assert.deepEqual(versionsOn(disk).sort(), [`coffer_${FIRST}.efi`, `coffer_${SECOND}+3-0.efi`], 'counted beside it')

  await t.test('when the root of the good one rots, the whole one beside it comes back', async (t) => {
    const copy = join(makeDirectory(t), 'disk.img')
    flash(disk, copy, statSync(disk).size)
    writePieces(copy, [{ position: findPartition(copy, 'coffer-root-b').start, data: Buffer.alloc(1024 ** 2) }])
    renameVersion(copy, `coffer_${SECOND}+3-0.efi`, `coffer_${SECOND}+1-2.efi`) // after two such starts
    const rotten = await boot(t, first, bootOptions(copy))
    await rotten.see(/its root file system cannot be opened/)
    await rotten.see(/Version 1\.2\.0 was rolled back: it did not become ready\. Version 1\.1\.0 is running\./)
    await rotten.see(/started unattended, Operational/)
    await checkKey(rotten)
    assert.deepEqual(versionsOn(copy), [`coffer_${FIRST}.efi`])
    await rotten.kill()
  })

  await expect(200, upload(device, readFileSync(broken.update)))
  assert.deepEqual(versionsOn(disk), [`coffer_${SECOND}+3-0.efi`], 'the older root is written over')
  await commit(device)
  for (let n = 1; n <= 3; n++) {
    await device.see(/Version 1\.3\.0 is on trial\./)
    await device.see(/This version is broken\./)
  }
  const why = 'Version 1.3.0 was rolled back: the firmware ended with exit code 3'
  await device.see(/1\.3\.0 was rolled back: the firmware ended with exit code 3\. Version 1\.2\.0 is running\./)
  await device.see(/started unattended, Operational/)
  assert.equal(await versionOf(device), '1.2.0')
  assert.equal(await fallback(device), why)
  await checkKey(device)
  assert.deepEqual(versionsOn(disk), [`coffer_${SECOND}.efi`])
})
