/** The plug is pulled during uploads and commits: the device always starts, with one of its two versions, whole. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { before, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { parseEntry } from '../../boot/device/boot-count.ts'
import { makeProvisionedDisk } from './provisioned.ts'
import { boot, type Image, onMachines } from './rig.ts'
import {
  bootOptions,
  checkKey,
  commit,
  contentOf,
  FIRST,
  firstImage,
  info,
  prepare,
  SECOND,
  secondImage,
  upload,
  versionsOn,
} from './versions.ts'

const KILLS = Number(process.env.COFFER_UPDATE_KILLS ?? 20)
const START_MS_MAX = 240_000
const COMMIT_MS = 6000 // renames, the end of the firmware, the restart, and the boot loader's count

let images: Map<string, Image>
before(async () => {
  if (onMachines().skip !== false) return
  images = new Map([
    [FIRST, await firstImage()],
    [SECOND, await secondImage()],
  ])
})

test(`${KILLS} times the plug is pulled during an update`, onMachines(3_600_000), async (t) => {
  const [first, second] = [images.get(FIRST)!, images.get(SECOND)!]
  const disk = await makeProvisionedDisk(t, first, prepare)
  const options = bootOptions(disk)
  const moments: string[] = []
  /** What uploads and commits took so far: the moments are spread over this. */
  let uploadMs = 30_000
  for (let kill = 0; kill <= KILLS; kill++) {
    const context = () => `before: ${moments.slice(-3).join('; ')}`
    const device = await boot(t, first, options)
    await device.answers(START_MS_MAX)
    await device.see(/: (started unattended, )?Operational/, START_MS_MAX) // after its trial, if it is on one
    const running = (await info(device)).softwareVersion === '1.1' ? FIRST : SECOND
    await checkKey(device)
    for (const file of versionsOn(disk)) {
      const { version } = parseEntry(file)!
      assert.ok(contentOf(disk, file).equals(readFileSync(images.get(version)!.uki)), `${file}; ${context()}`)
    }
    if (kill === KILLS) break

    const next = running === FIRST ? second : first
    const started = performance.now()
    const isInUpload = kill % 2 === 0
    if (isInUpload) {
      const momentMs = Math.random() * uploadMs
      const ended = upload(device, readFileSync(next.update)).catch(() => {})
      await Promise.race([wait(momentMs), ended])
      moments.push(`${running}: ${Math.round(momentMs)} ms into an upload of at most ${Math.round(uploadMs)} ms`)
    } else {
      await upload(device, readFileSync(next.update))
      uploadMs = performance.now() - started
      const momentMs = Math.random() * COMMIT_MS
      commit(device).catch(() => {})
      await wait(momentMs)
      moments.push(`${running}: ${Math.round(momentMs)} ms into a commit`)
    }
    await device.kill()
    t.diagnostic(moments.at(-1)!)
  }
})
