/** Logs of writes, made by QEMU's own tool, and the disks that a power cut may leave by them. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { onMachines } from '../support/machine.ts'
import { makeDirectory } from './images.ts'
import { copyPartition, createReplay, writePieces } from './replay.ts'
import { type Entry, openWriteLog } from './write-log.ts'

const DISK_BYTES = 1 << 20
const PARTITION = { start: 64 * 1024, bytes: 512 * 1024 }

/** One write is beside the partition, two are over the first, one of them of zeros; the last one is not flushed. */
const COMMANDS = [
  'write -P 1 64k 4k',
  'write -P 9 0 4k',
  'flush',
  'write -P 2 64k 1k',
  'write -z 66k 1k',
  'flush',
  'write -P 3 100k 4k',
]
/** QEMU logs each flush twice. */
const LOG = ['65536 4096', '0 4096', 'flush', 'flush', '65536 1024', '67584 1024', 'flush', 'flush', '102400 4096']

function record(t: TestContext) {
  const directory = makeDirectory(t)
  const path = (name: string) => join(directory, name)
  const [disk, log, partition] = [path('disk'), path('log'), path('partition')]
  for (const file of [disk, log]) writeFileSync(file, '')
  truncateSync(disk, DISK_BYTES)
  copyPartition(disk, PARTITION, partition)
  const options = `driver=blklogwrites,file.driver=file,file.filename=${disk},log.driver=file,log.filename=${log}`
  const commands = COMMANDS.flatMap((command) => ['-c', command])
  execFileSync('qemu-io', [...commands, '--image-opts', `${options},log-sector-size=512`])
  return { disk, path: log, partition }
}

const told = ({ flush, position, bytes }: Entry) => (flush ? 'flush' : `${position} ${bytes}`)

test('a log is read as it was written, also when its end is missing', onMachines(), (t) => {
  const { path } = record(t)
  const log = openWriteLog(path)
  assert.deepEqual(log.entries.slice(0, LOG.length).map(told), LOG)
  assert.ok(log.read(log.entries[4]!).equals(Buffer.alloc(1024, 2)))
  assert.ok(log.read(log.entries[5]!).equals(Buffer.alloc(1024)))
  const { data, end } = log.entries[8]!
  log.close()
  for (const cut of [end - 1, data, data - 1]) {
    truncateSync(path, cut)
    const shorter = openWriteLog(path)
    assert.equal(shorter.entries.length, 8)
    shorter.close()
  }
  writeFileSync(path, Buffer.alloc(512))
  assert.throws(() => openWriteLog(path), /no log of writes/)
})

test('what was flushed is on the disk, what was not may be', onMachines(), (t) => {
  const { disk, path, partition } = record(t)
  const log = openWriteLog(path)
  const replay = createReplay(log, PARTITION, partition)
  t.after(() => {
    replay.close()
    log.close()
  })
  const everything = (bound: number) => bound - 1
  const nothing = () => 0
  const byteAt = (position: number) => readFileSync(partition)[position]

  replay.flushedAt(1)
  assert.equal(byteAt(0), 0, 'nothing was flushed')
  assert.equal(replay.kept(1, everything).length, 1, 'one of two writes is in the partition')
  replay.flushedAt(5)
  assert.equal(byteAt(0), 1)
  assert.deepEqual(replay.kept(5, nothing), [])
  assert.equal(replay.kept(5, everything).length, 2)
  replay.flushedAt(8)
  assert.deepEqual([0, 1024, 2048, 36 * 1024].map(byteAt), [2, 1, 0, 0])
  writePieces(partition, replay.kept(8, everything))
  const left = readFileSync(disk).subarray(PARTITION.start, PARTITION.start + PARTITION.bytes)
  assert.ok(readFileSync(partition).equals(left), 'all kept: as QEMU left it')
})
