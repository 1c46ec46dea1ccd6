// @test device 180
/**
 * The plug is pulled while clients create and delete keys. QEMU logs every write and flush of the device's disk; each cut
 * is replayed on this computer: what was flushed is on the disk, of the rest any part. What was answered by then must hold.
 */

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { promisify } from 'node:util'
import Database from 'better-sqlite3'
import { openAppliance } from '../../firmware/appliance/appliance.ts'
import { createLog } from '../../firmware/base/log.ts'
import { firstAdministrator, openDomain } from '../../firmware/kms/domain/operational.ts'
import { storePath } from '../../firmware/store/store.ts'
import { bundle } from '../../tools/build.ts'
import { ADMIN, expect } from '../support/appliance.ts'
import { request } from '../support/client.ts'
import { type Appliance, boot, onMachines } from '../support/machine.ts'
import { openPool } from '../support/pool.ts'
import { buildImage, type Image, makeDirectory } from './images.ts'
import { makeProvisionedDisk } from './provisioned.ts'
import { copyPartition, createReplay, findPartition, writePieces } from './replay.ts'
import { openWriteLog } from './write-log.ts'

const CUTS = 300
const CONTROL_CUTS = 100
const KEYS = 80
const DELETED_MIN = 10 // of the third that is to be expected
const CLIENTS = 3
const DELETE_ONE_IN = 3
const timeoutMs = 180_000 // on a busy computer
const DISK_BYTES = 400 * 2 ** 20 // small: it is copied for every cut

const run = promisify(execFile)

/** What one key went through. Times are lengths of the log of writes. */
interface Life {
  id: string
  createAsked: number
  createAnswered: number
  deleteAsked: number
  deleteAnswered: number
}

const NEVER = Number.POSITIVE_INFINITY

test(`no answered change is lost or undone by ${CUTS} power cuts`, onMachines(), async (t) => {
  const recording = await record(t, await buildImage())
  const bad = await cut(t, recording, CUTS)
  assert.deepEqual(bad, [])
})

test('the control: with weaker syncing, answered changes are lost', onMachines(), async (t) => {
  const weaker = makeDirectory(t)
  await bundle(weaker)
  const firmware = join(weaker, 'firmware.js')
  const strict = readFileSync(firmware, 'utf8')
  assert.equal(strict.split('synchronous = FULL').length, 2)
  writeFileSync(firmware, strict.replace('synchronous = FULL', 'synchronous = NORMAL'))
  const recording = await record(t, await buildImage({ bundle: weaker }))
  const bad = await cut(t, recording, CONTROL_CUTS)
  t.diagnostic(`${bad.length} of ${CONTROL_CUTS} cuts lost something`)
  assert.ok(bad.length > 0)
  assert.ok(
    bad.every((what) => /is gone|is back/.test(what)),
    bad.join('\n'),
  )
})

interface Recording {
  before: string
  written: string
  log: string
  lives: Life[]
  from: number
}

async function record(t: TestContext, image: Image): Promise<Recording> {
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
  const lives: Life[] = []
  await Promise.all(Array.from({ length: CLIENTS }, () => work(appliance, lives, position)))
  await appliance.kill()
  const answered = lives.filter((life) => life.deleteAnswered < NEVER).length
  t.diagnostic(`${lives.length} keys made, ${answered} deleted, ${Math.round((position() - from) / 1024)} KiB written`)
  assert.ok(answered >= DELETED_MIN)
  return { before, written, log, lives, from }
}

async function work(appliance: Appliance, lives: Life[], position: () => number): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, rejectUnauthorized: false })
  const target = { host: '127.0.0.1', port: appliance.apiPort, agent }
  try {
    while (lives.length < KEYS) {
      const id = `key-${lives.length}`
      const life: Life = {
        id,
        createAsked: position(),
        createAnswered: NEVER,
        deleteAsked: NEVER,
        deleteAnswered: NEVER,
      }
      lives.push(life)
      const json = { id, type: 'EC_P256', mechanisms: ['ECDSA_Signature'], label: `label of ${id}` }
      await expect(201, request(target, 'POST', '/api/v1/keys/generate', { as: ADMIN, json, timeoutMs }))
      life.createAnswered = position()
      if (randomInt(DELETE_ONE_IN) !== 0) continue
      life.deleteAsked = position()
      await expect(204, request(target, 'DELETE', `/api/v1/keys/${id}`, { as: ADMIN, timeoutMs }))
      life.deleteAnswered = position()
    }
  } finally {
    agent.destroy()
  }
}

/** What went wrong, a line for each cut that lost something. */
async function cut(
  t: TestContext,
  { before, written, log: path, lives, from }: Recording,
  cuts: number,
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
    const ends = Array.from({ length: cuts }, () => randomInt(first, log.entries.length)).sort((a, b) => a - b)
    for (const [n, last] of ends.entries()) {
      replay.flushedAt(last)
      const disk = join(directory, 'cut.img')
      await run('cp', ['--sparse=always', durable, disk])
      writePieces(disk, replay.kept(last, randomInt))
      const data = join(directory, `cut-${n}`)
      await mendAndExtract(disk, data)
      const problem = judge(await readStore(data), lives, log.entries[last]!.end)
      if (problem !== null) bad.push(`cut ${n} after entry ${last}: ${problem}`)
      rmSync(data, { recursive: true })
    }
  } finally {
    replay.close()
    log.close()
  }
  t.diagnostic(`${Math.round((performance.now() - started) / cuts)} ms a cut`)
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

/** The keys in a store, read by the appliance's own code; null when it does not start unattended, as it was told to. */
async function readStore(data: string): Promise<Set<string> | null> {
  const dataDirectory = join(data, 'store')
  assertIntegrity(dataDirectory)
  const pool = await openPool()
  const appliance = await openAppliance({
    dataDirectory,
    deviceKey: new Uint8Array(readFileSync(join(data, 'device.key'))),
    pool,
    log: createLog('error', () => {}),
    openDomain,
    firstAdministrator,
    makeTlsIdentity: () => assert.fail('the TLS identity is lost'),
  })
  try {
    assert.notEqual(appliance.state, 'Failed', appliance.failure ?? '')
    if (appliance.state !== 'Operational') return null
    const { keys } = appliance.open()
    const ids = keys.list('', {})
    for (const id of ids) assert.equal(keys.get('', id).label, `label of ${id}`)
    return new Set(ids)
  } finally {
    await pool.close()
    appliance.close()
  }
}

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

/** Compares the keys found with what had been asked and answered when the power went. */
function judge(found: Set<string> | null, lives: Life[], cutAt: number): string | null {
  if (found === null) return 'unattended boot was answered and is gone'
  for (const { id, createAsked, createAnswered, deleteAsked, deleteAnswered } of lives) {
    if (found.has(id)) {
      if (deleteAnswered <= cutAt) return `${id} was deleted and is back`
      if (createAsked >= cutAt) return `${id} is there before anybody asked for it`
    } else if (createAnswered <= cutAt && deleteAsked >= cutAt) {
      return `${id} was answered and is gone`
    }
  }
  return null
}
