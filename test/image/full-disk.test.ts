// @test device 300
/** A device whose users fill its data partition: it signs, restarts and is locked as ever, and deletion frees room. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { ADMIN, expect, UNLOCK_PASSPHRASE } from '../support/appliance.ts'
import { walkFullDisk } from '../support/disk-walk.ts'
import { boot, onMachines } from '../support/machine.ts'
import { buildImage, type Image } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'

const DISK_BYTES = 376 * 1024 * 1024 // some 50 MB of it are the data partition
const CHAT_PORT = 9443

let image: Image
before(async () => {
  if (onMachines().skip === false) image = await buildImage()
})

test('files, messages and keys fill the data partition, each up to its floor', onMachines(), async (t) => {
  const disk = await makeProvisionedDisk(t, image, async () => {}, DISK_BYTES)
  const machine = await boot(t, image, { disk, guestPorts: [CHAT_PORT], exitOnRestart: false })
  await machine.answers()
  await expect(204, machine.call('POST', '/unlock', { json: { passphrase: UNLOCK_PASSPHRASE } }))
  await walkFullDisk(machine, (port) => {
    assert.equal(port, CHAT_PORT)
    return machine.portTo(port)
  })
  assert.match(machine.output(), /general: .*the disk is low: \d+ of \d+ MiB are free; refused: files of the chat/)
  assert.doesNotMatch(machine.output(), /The disk is full|SQLITE_FULL|ENOSPC/, 'a write met a full disk')
  await expect(204, machine.call('POST', '/system/reboot', { as: ADMIN }))
  await machine.see(/The machine is restarting\.\r?\n/)
  await machine.see(/Unlock passphrase: /)
})
