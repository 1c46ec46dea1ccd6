// @test device 200
/** A version that hangs, in its firmware or in its boot manager, is left by itself. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { boot, onMachines } from '../support/machine.ts'
import { type Image, makeDirectory } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'
import {
  BAD,
  bootOptions,
  changedImage,
  commitOffline,
  FIRST,
  fallback,
  firstImage,
  prepare,
  versionsOn,
} from './versions.ts'

const READY_SECONDS = 5 // instead of two minutes

/** Ready never; on the second try the whole boot manager hangs. */
const HANG = 'setInterval(() => {}, 1000)\n'
const HANG_BOOT_MANAGER = `
import { readdirSync as listForTest, readFileSync as readForTest } from 'node:fs'
const writeForTest = process.stdout.write
process.stdout.write = (text, ...rest) => {
  const written = writeForTest.call(process.stdout, text, ...rest)
  if (String(text).includes(' is on trial.')) {
    const name = listForTest('/sys/firmware/efi/efivars').find((name) => name.startsWith('LoaderBootCountPath-'))
    const path = readForTest('/sys/firmware/efi/efivars/' + name).toString('utf16le')
    if (path.includes('+1-2')) {
      writeForTest.call(process.stdout, 'The boot manager hangs.\\n')
      for (;;);
    }
  }
  return written
}`

let first: Image
before(async () => {
  if (onMachines().skip === false) first = await firstImage()
})

test('deadline and watchdog end the tries of a version that hangs', onMachines(), async (t) => {
  const bad = await changedImage(BAD, makeDirectory(t), (program) => {
    program('firmware.js').replaceAll(HANG)
    program('device.js').replace(/READY_MS_MAX ?= ?12e4/, `READY_MS_MAX = ${READY_SECONDS * 1000}`)
    program('device.js').prepend(HANG_BOOT_MANAGER)
  })
  const disk = await makeProvisionedDisk(t, first, prepare)
  commitOffline(disk, bad)
  const device = await boot(t, first, bootOptions(disk))
  for (let n = 1; n <= 3; n++) {
    await device.see(/Version 1\.3\.0 is on trial\./)
    if (n === 2) await device.see(/The boot manager hangs\./)
  }
  const why = `Version 1.3.0 was rolled back: it was not ready within ${READY_SECONDS} s`
  await device.see(/1\.3\.0 was rolled back: it was not ready within 5 s\. Version 1\.1\.0 is running\./)
  await device.see(/started unattended, Operational/)
  assert.equal(await fallback(device), why)
  assert.deepEqual(versionsOn(disk), [`coffer_${FIRST}.efi`])
})
