/**
 * Power cuts of a device. QEMU logs every write and flush of the device's disk; each cut is replayed on this computer: what was flushed is
 * on the disk, of the rest any part.
 */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { openAppliance } from '../../firmware/appliance/appliance.ts'
import { createLog } from '../../firmware/base/log.ts'
import type { CryptoPool } from '../../firmware/crypto/types.ts'
import { firstAdministrator, openDomain } from '../../firmware/kms/domain/operational.ts'
import { storePath } from '../../firmware/store/store.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import { type Appliance, boot } from '../support/machine.ts'
import { openPool } from '../support/pool.ts'
import { type Image, makeDirectory } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'
import { copyPartition, createReplay, findPartition, writePieces } from './replay.ts'
import { openWriteLog } from './write-log.ts'

const DISK_BYTES = 400 * 2 ** 20 // small: it is copied for every cut

const run = promisify(execFile)

type StoredAppliance = Awaited<ReturnType<typeof openStored>>

export interface Recording<T> {
  /** The disk before the start. */
  before: string
  written: string
  log: string
  /** Length of the log when the work began. */
  from: number
  result: T
}

/**
 * Starts a provisioned device with unattended boot and records every write of its disk while `work` runs. `position` is the length of the
 * log so far: the time by which the work states when a change was asked for and answered.
 */
export async function record<T>(
  t: TestContext,
  image: Image,
  work: (appliance: Appliance, position: () => number) => Promise<T>,
): Promise<Recording<T>> {
  const directory = makeDirectory(t)
  const unattended = { as: ADMIN, json: { status: 'on' } }
  const prepare = async (coffer: Pick<Appliance, 'call'>) => {
    await expect(204, coffer.call('PUT', '/config/unattended-boot', unattended))
  }
  const before = await makeProvisionedDisk(t, image, prepare, DISK_BYTES)
  const written = join(directory, 'disk.img')
  const log = join(directory, 'writes.log')
  await run('cp', ['--sparse=always', before, written])
  writeFileSync(log, '')
  const appliance = await boot(t, image, {
    disk: written,
    snapshot: false,
    blockdevs: [
      `driver=file,node-name=file,filename=${written}`,
      'driver=raw,node-name=plain,file=file',
      `driver=file,node-name=log,filename=${log}`,
      'driver=blklogwrites,node-name=disk,file=plain,log=log,log-sector-size=512',
    ],
  })
  await appliance.answers()
  const position = () => statSync(log).size
  const from = position()
  const result = await work(appliance, position)
  await appliance.kill()
  t.diagnostic(`${Math.round((position() - from) / 1024)} KiB written`)
  return { before, written, log, from, result }
}

/**
 * Cuts the power after random entries of the log, or after each entry, and lets `judge` look at the store that is left. Returns a line for
 * each cut that lost something.
 */
export async function cutPower(
  t: TestContext,
  { before, written, log: path, from }: Recording<unknown>,
  cuts: number | 'after each write',
  judge: (appliance: StoredAppliance, cutAt: number) => string | null,
): Promise<string[]> {
  const directory = makeDirectory(t)
  const log = openWriteLog(path)
  const partition = findPartition(written, 'coffer-data')
  const durable = join(directory, 'durable.img')
  copyPartition(before, partition, durable)
  const replay = createReplay(log, partition, durable)
  const bad: string[] = []
  const started = performance.now()
  try {
    const first = log.entries.findIndex((entry) => entry.end > from)
    const count = log.entries.length
    const ends =
      cuts === 'after each write'
        ? Array.from({ length: count - first }, (_, n) => first + n)
        : Array.from({ length: cuts }, () => randomInt(first, count)).sort((a, b) => a - b)
    for (const [n, last] of ends.entries()) {
      replay.flushedAt(last)
      const disk = join(directory, 'cut.img')
      await run('cp', ['--sparse=always', durable, disk])
      writePieces(disk, replay.kept(last, randomInt))
      const data = join(directory, `cut-${n}`)
      await mendAndExtract(disk, data)
      const problem = await withAppliance(data, (appliance) => judge(appliance, log.entries[last]!.end))
      if (problem !== null) bad.push(`cut ${n} after entry ${last}: ${problem}`)
      rmSync(data, { recursive: true })
    }
    t.diagnostic(`${ends.length} cuts, ${Math.round((performance.now() - started) / ends.length)} ms each`)
  } finally {
    replay.close()
    log.close()
  }
  return bad
}

/** As boot/device/data-partition.ts does it: -p plays the journal back, -y mends a superblock half of which was written. */
async function mendAndExtract(disk: string, to: string): Promise<void> {
  if (!(await mends('-p', disk))) assert.ok(await mends('-y', disk))
  await run('e2fsck', ['-f', '-n', disk])
  mkdirSync(to)
  await run('debugfs', ['-R', `rdump /store /device.key ${to}`, disk])
}

const mends = (how: string, disk: string): Promise<boolean> =>
  run('e2fsck', ['-f', how, disk]).then(
    () => true,
    ({ code }: { code?: number }) => code === 1, // mended
  )

/** Opens the store with the appliance's own code. */
async function withAppliance<T>(data: string, read: (appliance: StoredAppliance) => T): Promise<T> {
  assertIntegrity(join(data, 'store'))
  const pool = await openPool()
  const appliance = await openStored(data, pool)
  try {
    assert.notEqual(appliance.state, 'Failed', appliance.failure ?? '')
    return read(appliance)
  } finally {
    await pool.close()
    appliance.close()
  }
}

const openStored = (data: string, pool: CryptoPool) =>
  openAppliance({
    dataDirectory: join(data, 'store'),
    deviceKey: new Uint8Array(readFileSync(join(data, 'device.key'))),
    pool,
    log: createLog('error', () => {}),
    openDomain,
    firstAdministrator,
    makeTlsIdentity: () => assert.fail('the TLS identity is lost'),
  })

/** On a copy: SQLite would otherwise recover the log before the appliance does. */
function assertIntegrity(dataDirectory: string): void {
  const path = storePath(dataDirectory)
  const copy = `${path}.copy`
  for (const suffix of ['', '-wal']) {
    if (statSync(path + suffix, { throwIfNoEntry: false })) copyFileSync(path + suffix, copy + suffix)
  }
  const database = new Database(copy)
  assert.equal(database.pragma('integrity_check', { simple: true }), 'ok')
  database.close()
  for (const suffix of ['', '-wal', '-shm']) rmSync(copy + suffix, { force: true })
}
