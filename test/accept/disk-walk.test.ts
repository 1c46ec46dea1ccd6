// @test long 60
/** Users below root fill the disk of a whole Coffer: signatures go on, deletion frees room, nothing is lost. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { provision } from '../support/appliance.ts'
import { buildForTests } from '../support/build.ts'
import { walkFullDisk } from '../support/disk-walk.ts'
import { type Coffer, startCoffer } from '../support/process.ts'
import { mountSmallDisk } from '../support/small-disk.ts'

const DISK_BYTES = 48 * 1024 * 1024

test('files, messages, keys of a namespace and keys of root fill the disk, each up to its floor', async (t) => {
  const disk = mountSmallDisk(DISK_BYTES)
  if (disk === null) return t.skip('only root can mount a small disk')
  let coffer: Coffer | undefined
  t.after(async () => {
    if (coffer?.running()) await coffer.kill(true)
    disk.unmount()
  })
  const program = await buildForTests()
  coffer = startCoffer(t, { program, data: join(disk.path, 'data'), settings: { COFFER_CHAT_PORT: '0' } })
  await provision(coffer)
  await walkFullDisk(coffer)
  assert.match(
    coffer.output(),
    /warning general: \[\d+\] the disk is low: \d+ of 48 MiB are free; refused: files of the chat/,
  )
  assert.doesNotMatch(coffer.output(), /^ +at .*:\d+:\d+/m, 'a stack was printed')
  assert.doesNotMatch(coffer.output(), /The disk is full|SQLITE_FULL|ENOSPC/, 'a write met a full disk')
  assert.equal(await coffer.stop(), 0)
})
