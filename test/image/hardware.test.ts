// @test device 60
/** Hardware of real machines, and keys that mean something to their kernel. */

import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, test } from 'node:test'
import { zstdDecompressSync } from 'node:zlib'
import { ADMIN, type Client, expect } from '../support/appliance.ts'
import { type Appliance, boot, onMachines } from '../support/machine.ts'
import { buildImage, type Image, makeDirectory, makeDisk } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'

let image: Image
before(async () => {
  if (onMachines().skip === false) image = await buildImage()
})

test('starts from a SATA disk, is reached by a network card, and no key restarts it', onMachines(), async (t) => {
  const machine = await boot(t, talking(), { disk: makeDisk(t, image), physical: true })
  await pressKeys(machine)
  while (machine.running() && !machine.output().includes('https://')) await pressRestart(machine).catch(() => {}) // it has ended, which answers() explains
  await machine.answers()
  assert.equal(await machine.state(), 'Unprovisioned')
  assert.match(machine.output(), /ahci|SATA link up/)
  assert.match(machine.output(), /e1000e/)
})

test('keys that were pressed while it ran do not turn a shutdown into a restart', onMachines(), async (t) => {
  const unattended = (coffer: Client) =>
    expect(204, coffer.call('PUT', '/config/unattended-boot', { as: ADMIN, json: { status: 'on' } }))
  const disk = await makeProvisionedDisk(t, image, async (coffer) => void (await unattended(coffer)))
  const machine = await boot(t, talking(), { disk })
  await machine.answers()
  await pressRestart(machine)
  await expect(204, machine.call('POST', '/system/shutdown', { as: ADMIN }))
  assert.equal(await machine.ended, 0)
  assert.match(machine.output(), /reboot: Power down/)
  assert.doesNotMatch(machine.output(), /Kernel panic/)
})

test('without those words on its command line, the same keys restart it', onMachines(), async (t) => {
  const machine = await boot(t, talking(/sysctl\.kernel\.(sysrq|ctrl-alt-del|cad_pid)=\d /g))
  await pressKeys(machine)
  assert.equal(await machine.ended, 0)
  assert.doesNotMatch(machine.output(), /https:/)
})

/** The image, with a kernel that says what it does, and without these words on its command line. */
function talking(without = /^$/g): Image {
  const commandLine = image.kernel.commandLine.replace(' quiet', '').replaceAll(without, '')
  return { ...image, kernel: { ...image.kernel, commandLine } }
}

/** Long before the boot manager could forbid anything. */
async function pressKeys(machine: Appliance): Promise<void> {
  await machine.see(/Run \/init as init process/)
  await pressRestart(machine)
  await machine.command('chardev-send-break serial')
  await machine.type('b')
}

const pressRestart = (machine: Appliance): Promise<string> => machine.command('sendkey ctrl-alt-delete')

/** A line of image/init right after the watchdog, and one of the same length that hangs. */
const [NEXT_ACT, HANG] = ['\nload_modules root\n', '\nwhile :;do :;done\n']

test('a start that hangs before the boot manager runs is ended by the watchdog', onMachines(), async (t) => {
  const initrd = zstdDecompressSync(readFileSync(image.kernel.initrd)) // the kernel takes it so, too
  const at = initrd.indexOf(NEXT_ACT)
  assert.ok(at > 0 && HANG.length === NEXT_ACT.length)
  initrd.write(HANG, at)
  const hung = join(makeDirectory(t), 'initrd')
  writeFileSync(hung, initrd)
  const machine = await boot(t, { ...image, kernel: { ...talking().kernel, initrd: hung } }, { watchdog: true })
  await machine.see(/i6300ESB timer .*initialized/i)
  assert.equal(await machine.ended, 0, 'restarted, which ends the emulator')
  assert.doesNotMatch(machine.output(), /data partition|Coffer/)
})
