// @test device 240
/** The plug is pulled during uploads and commits: the device always starts, with one of its two versions, whole. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { parseEntry } from '../../boot/device/esp/boot-count.ts'
import { expect } from '../support/appliance.ts'
import { type Appliance, boot, onMachines } from '../support/machine.ts'
import { bootFreezable } from './frozen.ts'
import type { Image } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'
import {
  bootOptions,
  checkKey,
  commit,
  contentOf,
  FIRST,
  firstImage,
  holdsRoot,
  prepare,
  SECOND,
  secondImage,
  upload,
  versionOf,
  versionsOn,
} from './versions.ts'

const KILLS = Number(process.env.COFFER_UPDATE_KILLS ?? 20)
const UPLOAD_KILLS = Math.floor(KILLS / 2)
const COMMIT_KILLS = KILLS - UPLOAD_KILLS
const UPLOAD_MS = 40_000 // until one was seen to its end
const COMMIT_MS = 5000 // renames within the first half second, then the end of the firmware and the restart

let images: Map<string, Image>
before(async () => {
  if (onMachines().skip !== false) return
  images = new Map([
    [FIRST, await firstImage()],
    [SECOND, await secondImage()],
  ])
})

test(`${KILLS} times the plug is pulled during an update`, onMachines(), async (t) => {
  const first = images.get(FIRST)!
  const update = readFileSync(images.get(SECOND)!.update)
  const disk = await makeProvisionedDisk(t, first, prepare)
  const options = bootOptions(disk)

  let uploadMs = UPLOAD_MS
  for (let kill = 1; kill <= UPLOAD_KILLS; kill++) {
    const device = await boot(t, first, options)
    assert.equal(await checkWhole(device, disk), FIRST)
    const momentMs = Math.random() * uploadMs
    const started = performance.now()
    const ended = upload(device, update).then(() => {
      uploadMs = performance.now() - started
    })
    await Promise.race([wait(momentMs), ended.catch(() => {})])
    await device.kill()
    t.diagnostic(`${Math.round(momentMs)} ms into an upload of at most ${Math.round(uploadMs)} ms`)
  }

  const { machine: device, freeze } = await bootFreezable(t, first, options)
  assert.equal(await checkWhole(device, disk), FIRST)
  await expect(200, upload(device, update))
  const uploaded = await freeze()
  for (let kill = 1; kill <= COMMIT_KILLS; kill++) {
    const isLast = kill === COMMIT_KILLS
    const { machine, options } = await uploaded.thaw()
    const momentMs = Math.random() ** 2 * COMMIT_MS // the half of them in the first quarter
    commit(machine).catch(() => {})
    if (isLast) await machine.see(/The machine is restarting\./)
    else await wait(momentMs)
    await machine.kill()
    const again = await boot(t, first, options)
    const version = await checkWhole(again, options.disk)
    await again.kill()
    t.diagnostic(`${isLast ? 'at the end of' : `${Math.round(momentMs)} ms into`} a commit: ${version}`)
    if (isLast) assert.equal(version, SECOND)
  }
})

/** It runs, with its key, and every version on its ESP is as it was released, root included. Returns the one that runs. */
async function checkWhole(device: Appliance, disk: string): Promise<string> {
  await device.answers()
  await device.see(/: (started unattended, )?Operational/) // after its trial, if it is on one
  await checkKey(device)
  for (const file of versionsOn(disk)) {
    const { version } = parseEntry(file)!
    const image = images.get(version)!
    assert.ok(contentOf(disk, file).equals(readFileSync(image.uki)), file)
    assert.ok(holdsRoot(disk, image), `the root of ${file}`)
  }
  return (await versionOf(device)).startsWith('1.1') ? FIRST : SECOND
}
