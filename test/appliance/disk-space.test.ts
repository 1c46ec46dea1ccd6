/** Who may still write as the disk fills, and what the log says of it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createDiskSpace, type DiskUsage, type DiskWriter, floorBytes } from '../../firmware/base/disk-space.ts'
import { CofferError } from '../../firmware/base/error.ts'
import { watchDisk } from '../../firmware/disk-watch.ts'

const MIB = 1024 * 1024
const TOTAL = 600 * MIB
const ORDER: DiskWriter[] = ['files', 'messages', 'namespaces', 'records']

function spaceOf(usage: { totalBytes: number; freeBytes: number }) {
  return createDiskSpace((): DiskUsage => ({ ...usage }))
}

const isFull = (error: unknown) => error instanceof CofferError && error.code === 'full'

test('files of the chat stop first, then its messages and namespaces, then records; the reserve is left by all of them', () => {
  const [files, messages, namespaces, records] = ORDER.map((writer) => floorBytes(writer, TOTAL)) as [
    ...[number, number, number, number],
  ]
  assert.ok(files > messages && messages === namespaces && namespaces > records && records >= 75 * MIB)
  for (const writer of ORDER) {
    const disk = { totalBytes: TOTAL, freeBytes: floorBytes(writer, TOTAL) + 1000 }
    const space = spaceOf(disk)
    assert.equal(space.roomFor(writer), 1000)
    space.expectRoom(writer, 1000)
    assert.throws(() => space.expectRoom(writer, 1001), isFull)
    disk.freeBytes -= 1001
    assert.equal(space.roomFor(writer), 0)
    assert.throws(() => space.expectRoom(writer), isFull)
  }
})

test('on a large disk the floors are sizes, not shares', () => {
  for (const writer of ORDER) assert.ok(floorBytes(writer, 1e13) <= 512 * MIB)
})

test('a file system without a size has room', () => {
  const space = spaceOf({ totalBytes: 0, freeBytes: 0 })
  for (const writer of ORDER) space.expectRoom(writer, 1e9)
  assert.equal(space.state().level, 'ok')
})

test('free pages of a database are room, while the disk has some for its log', () => {
  const floor = floorBytes('files', TOTAL)
  const disk = { totalBytes: TOTAL, freeBytes: floor - 1 }
  const space = spaceOf(disk)
  assert.throws(() => space.expectRoom('files'), isFull)
  space.expectRoom('files', 0, 10)
  assert.equal(space.roomFor('files', 10), 9)
  disk.freeBytes = floor / 2 - 1
  assert.throws(() => space.expectRoom('files', 0, Number.MAX_SAFE_INTEGER), isFull)
})

test('a disk that cannot be asked is an error of the disk', () => {
  const space = createDiskSpace(() => {
    throw Object.assign(new Error('statfs'), { code: 'EIO' })
  })
  for (const ask of [space.usage, space.state, () => space.expectRoom('records')])
    assert.throws(ask, (error) => error instanceof CofferError && error.code === 'storage')
})

test('the log is told once of each step towards a full disk, and of room once that lasts', () => {
  const disk = { totalBytes: TOTAL, freeBytes: TOTAL }
  const lines: string[] = []
  const write = (level: string) => (_: string, message: string) => void lines.push(`${level}: ${message}`)
  const log = { error: write('error'), warning: write('warning'), info: write('info') }
  const watch = watchDisk(spaceOf(disk), log)
  try {
    watch.look()
    assert.deepEqual(lines, [])
    for (const mebibytes of [140, 100, 60, 10]) {
      disk.freeBytes = mebibytes * MIB
      for (let look = 0; look < 3; look++) watch.look()
    }
    const inWords = [
      ...['files of the chat', 'messages of the chat', 'keys and users of namespaces'],
      'all new keys, users and namespaces',
    ]
    const refused = [1, 3, 4, 4].map((count) => inWords.slice(0, count).join(', '))
    const levels = [
      'warning: the disk is low',
      'warning: the disk is low',
      'warning: the disk is low',
      'error: the disk is full',
    ]
    assert.deepEqual(
      lines.splice(0),
      [140, 100, 60, 10].map((free, n) => `${levels[n]}: ${free} of 600 MiB are free; refused: ${refused[n]}`),
    )
    for (let look = 0; look < 20; look++) {
      disk.freeBytes = look % 2 === 0 ? 500 * MIB : 10 * MIB
      watch.look()
    }
    assert.deepEqual(lines, [], 'space that comes and goes is no news')
    disk.freeBytes = 500 * MIB
    for (let look = 0; look < 20; look++) watch.look()
    assert.deepEqual(lines, ['info: the disk has room: 500 of 600 MiB are free'])
  } finally {
    watch.stop()
  }
})
