/** The container: what was written is read, and nothing else is. Contract section 8.2. */

import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import test, { type TestContext } from 'node:test'
import {
  type BackupRecord,
  PREAMBLE_BYTES,
  sealHeader,
  sealRecord,
  sealTrailer,
} from '../../firmware/backup/container.ts'
import { openBackup, readSalt, type Source } from '../../firmware/backup/reader.ts'
import { writeBackup } from '../../firmware/backup/writer.ts'
import { CofferError } from '../../firmware/base/error.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { LOGGING, openDeviceArea } from '../../firmware/store/device-area.ts'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import { commit, createStoreRig, DEVICE_KEY, utf8 } from '../store/rig.ts'

const ROWS = 150
const MIB = 1024 * 1024
const KEY = new Uint8Array(32).fill(5)
const SALT = new Uint8Array(16).fill(6)
const HEADER = {
  madeAtMs: Date.UTC(2030, 0, 2),
  deviceId: 'ABCDEFGHIJ',
  attendedSlot: new Uint8Array(100).fill(1),
  unattendedSlot: new Uint8Array(72).fill(2),
}

async function setup(t: TestContext, random = systemRandom) {
  const rig = createStoreRig(t)
  const store = rig.open()
  const device = openDeviceArea(store, DEVICE_KEY, systemRandom, () => {})
  const vault = rig.vault(store)
  store.transaction(() => device.put(LOGGING, utf8('logging')))
  const change = (n: number, bytes = n * 7) => ({
    collection: (['keys', 'privateKeys', 'users', 'configuration'] as const)[n % 4]!,
    name: `name ${n}`,
    value: new Uint8Array(bytes).fill(n),
  })
  await commit(
    vault,
    Array.from({ length: ROWS }, (_, n) => change(n)),
  )
  const write = () =>
    writeBackup({
      store,
      device,
      header: HEADER,
      backupKey: { salt: SALT, key: KEY.slice() },
      random,
    })
  const rows = () => {
    const tables = ['users', 'namespaces', 'keys', 'privateKeys', 'certificates', 'configuration', 'heads'] as const
    return tables.flatMap((collection) =>
      databaseOf(store)
        .prepare(`SELECT slot, sealed FROM "${collection}" ORDER BY slot`)
        .safeIntegers()
        .all()
        .map((row) => ({ collection, ...(row as { slot: bigint; sealed: Uint8Array }) })),
    )
  }
  return { store, vault, write, rows, change }
}

async function collect(chunks: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const pieces: Uint8Array[] = []
  for await (const piece of chunks) pieces.push(piece)
  return Buffer.concat(pieces)
}

function sourceOf(bytes: Uint8Array): Source {
  let at = 0
  return {
    read(count) {
      const taken = bytes.subarray(at, at + count)
      at += taken.length
      return taken
    },
  }
}

function readAll(bytes: Uint8Array, key = KEY): { header: object; records: BackupRecord[] } {
  const source = sourceOf(bytes)
  readSalt(source)
  const backup = openBackup(source, key)
  return { header: backup.header, records: [...backup.records()] }
}

function boundaries(bytes: Buffer): number[] {
  const ends = [PREAMBLE_BYTES]
  for (let at = PREAMBLE_BYTES; at < bytes.length; ends.push(at)) at += 4 + bytes.readUInt32BE(at)
  return ends
}

const refused = (bytes: Uint8Array, key = KEY) =>
  assert.throws(
    () => readAll(bytes, key),
    (error) => error instanceof CofferError && error.code === 'invalid',
  )

const plain = (records: readonly object[]) =>
  records.map((record) => ({
    ...record,
    ...('sealed' in record && { sealed: Buffer.from(record.sealed as Uint8Array) }),
  }))

test('a backup holds the header, the device records, and every row as it lies in the store', async (t) => {
  const { write, rows } = await setup(t)
  const { header, records } = readAll(await collect(write()))
  assert.deepEqual(header, HEADER)
  const [logging, ...stored] = records
  assert.deepEqual(logging, { name: 'logging', value: utf8('logging') })
  assert.deepEqual(plain(stored), plain(rows()))
  assert.equal(stored.length, ROWS + 1) // and what says which there must be
})

test('a backup shows nothing of names and values, and two of the same store share nothing but the salt', async (t) => {
  const { write } = await setup(t)
  const [one, other] = [await collect(write()), await collect(write())]
  for (const needle of ['logging', 'name', HEADER.deviceId, KEY, HEADER.attendedSlot])
    assert.ok(!one.includes(Buffer.from(needle)))
  assert.deepEqual(one.subarray(0, PREAMBLE_BYTES), other.subarray(0, PREAMBLE_BYTES))
  for (let at = PREAMBLE_BYTES; at < one.length - 16; at += 16)
    assert.ok(!other.includes(Buffer.from(one.subarray(at, at + 16))))
})

test('a backup is that of the moment it was begun, whatever is written, removed and replaced meanwhile', async (t) => {
  const { store, vault, write, rows, change } = await setup(t)
  const before = rows()
  const chunks = write()[Symbol.asyncIterator]()
  const pieces: Uint8Array[] = []
  for (let n = 0; ; n++) {
    const { done, value } = await chunks.next()
    if (done) break
    pieces.push(value)
    await commit(vault, [change(n, 3), { ...change(ROWS - n), value: null }, change(ROWS + n)])
    if (n === 4) store.transaction(() => databaseOf(store).exec('DELETE FROM keys'))
  }
  const { records } = readAll(Buffer.concat(pieces))
  assert.deepEqual(plain(records.slice(1)), plain(before))
})

test('one backup is made at a time, and one that is left off leaves nothing behind', async (t) => {
  const { store, write } = await setup(t)
  const first = write()[Symbol.asyncIterator]()
  assert.throws(write, (error) => error instanceof CofferError && error.code === 'busy')
  await first.return!()
  const second = write()[Symbol.asyncIterator]()
  await second.next()
  await second.next()
  await second.return!()
  await collect(write())
  const attached = databaseOf(store).pragma('database_list') as { name: string }[]
  assert.deepEqual(
    attached.map(({ name }) => name).filter((name) => name !== 'temp'),
    ['main'],
  )
  assert.deepEqual(databaseOf(store).prepare('SELECT count(*) FROM sqlite_temp_schema').pluck().get(), 0)
})

test('no step of a backup keeps others waiting, however large records are', async (t) => {
  let sealed = 0
  const { vault, write, change } = await setup(t, (bytes) => {
    sealed++ // each seal draws its nonce
    return systemRandom(bytes)
  })
  for (let n = 0; n < 20; n++)
    await commit(
      vault,
      Array.from({ length: 200 }, (_, i) => change(1000 + n * 200 + i, 400)),
    )
  await commit(
    vault,
    Array.from({ length: 8 }, (_, n) => ({ ...change(9000 + n, MIB), collection: 'certificates' })),
  )
  let turns = 0
  let others = setImmediate(function turn() {
    turns++
    others = setImmediate(turn)
  })
  t.after(() => clearImmediate(others))
  let steps = 0
  let before = 0
  for await (const chunk of write()) {
    steps++
    assert.ok(sealed - before <= 64, `${sealed - before} records in a step`)
    assert.ok(chunk.length < 2.5 * MIB)
    before = sealed
  }
  assert.ok(steps > 4000 / 64)
  assert.ok(turns > steps / 2, `others had ${turns} turns in ${steps} steps`)
})

test('a backup cut at any chunk, or anywhere, is refused', async (t) => {
  const bytes = await collect((await setup(t)).write())
  const ends = boundaries(bytes)
  assert.equal(ends.at(-1), bytes.length)
  assert.equal(ends.length, 1 + 1 + 1 + ROWS + 1 + 1)
  for (const end of ends.slice(0, -1)) refused(bytes.subarray(0, end))
  for (let n = 0; n < 1000; n++) refused(bytes.subarray(0, randomInt(bytes.length)))
  readAll(bytes)
})

test('a backup with any byte changed is refused, but for the salt, which makes the passphrase a wrong one', async (t) => {
  const bytes = await collect((await setup(t)).write())
  const ends = boundaries(bytes)
  const offsets = [
    ...ends.slice(0, -1).flatMap((end) => [end, end + 1, end + 2, end + 3]), // lengths
    ...Array.from({ length: 1000 }, () => randomInt(bytes.length)),
  ]
  for (const offset of offsets) {
    const changed = Buffer.from(bytes)
    changed[offset]! ^= 1 << randomInt(8)
    if (offset >= 16 && offset < PREAMBLE_BYTES) assert.notDeepEqual(readSalt(sourceOf(changed)), SALT)
    else refused(changed)
  }
})

test('chunks that are moved, repeated, left out, or come from another backup are refused', async (t) => {
  const { write } = await setup(t)
  const [bytes, other] = [await collect(write()), await collect(write())]
  const chunksOf = (bytes: Buffer) => {
    const ends = boundaries(bytes)
    return [bytes.subarray(0, ends[0]), ...ends.slice(1).map((end, n) => bytes.subarray(ends[n], end))]
  }
  const [chunks, others] = [chunksOf(bytes), chunksOf(other)]
  readAll(Buffer.concat(chunks))
  for (let n = 0; n < 300; n++) {
    const [a, b] = [1 + randomInt(chunks.length - 1), 1 + randomInt(chunks.length - 1)]
    refused(Buffer.concat(chunks.toSpliced(a, 1)))
    refused(Buffer.concat(chunks.toSpliced(a, 0, chunks[a]!)))
    refused(Buffer.concat(chunks.with(a, others[a]!)))
    if (a !== b) refused(Buffer.concat(chunks.with(a, chunks[b]!).with(b, chunks[a]!)))
  }
  refused(Buffer.concat([bytes, Buffer.of(0)]))
  refused(Buffer.concat([bytes, other]))
})

test('the order of records and their number are checked even where the seals are right', () => {
  const chunkKey = randomBytes(32)
  const row = (collection: 'users' | 'keys', slot: bigint) => ({ collection, slot, sealed: new Uint8Array(50) })
  const read = (records: BackupRecord[], count = records.length) => {
    const bytes = Buffer.concat([
      ...records.map((record, n) => sealRecord(record, n, chunkKey, systemRandom)),
      sealTrailer(count, chunkKey, systemRandom),
    ])
    const source = sourceOf(Buffer.concat([sealHeader(HEADER, chunkKey, KEY, systemRandom), bytes]))
    return [...openBackup(source, KEY).records()].length
  }
  const device = { name: 'network', value: new Uint8Array(3) }
  assert.equal(read([]), 0)
  assert.equal(read([device, row('users', -5n), row('users', 7n), row('keys', 1n)]), 4)
  for (const records of [
    [device, device],
    [row('users', 1n), device],
    [row('users', 2n), row('users', 2n)],
    [row('users', 2n), row('users', 1n)],
    [row('keys', 1n), row('users', 2n)],
  ]) {
    assert.throws(() => read(records), /damaged/)
  }
  assert.throws(() => read([device], 2), /damaged/)
})

test('another passphrase, another version and another file are told apart', async (t) => {
  const bytes = await collect((await setup(t)).write())
  refused(bytes, new Uint8Array(32))
  const newer = Buffer.from(bytes)
  newer[15] = 3
  assert.throws(() => readAll(newer), /version/)
  for (const foreign of [
    new Uint8Array(),
    utf8('PK'),
    utf8('_NETHSM_BACKUP_\x01 and more'.padEnd(99)),
    randomBytes(999),
  ])
    assert.throws(() => readAll(foreign), /Not a backup/)
})
