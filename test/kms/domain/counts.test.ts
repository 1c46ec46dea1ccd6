/** Counts of operations apart from the keys, and versions of keys and lists. Contract sections 1.4, 4.6 and 6.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createContext, type DomainDeps } from '../../../firmware/kms/domain/context.ts'
import { KeyCounts } from '../../../firmware/kms/domain/key-counts.ts'
import type { KeyEntry } from '../../../firmware/kms/domain/key-index.ts'
import { encodeKey } from '../../../firmware/kms/domain/key-record.ts'
import type { Operational } from '../../../firmware/kms/domain/operational.ts'
import { databaseOf } from '../../../firmware/store/sqlite/file.ts'
import { commit, createStoreRig, utf8 } from '../../store/rig.ts'
import { openPool } from '../../support/pool.ts'
import { admin, createDomainRig, type DomainRig, ED25519, newUser } from './rig.ts'

const pool = await openPool()

const operator = { caller: { userId: 'operator', namespace: '', role: 'Operator' }, address: '192.0.2.1' } as const

async function rigWithKeys(t: Parameters<typeof createDomainRig>[0], ...ids: string[]): Promise<DomainRig> {
  const rig = await createDomainRig(t, pool)
  await rig.domain.users.create(admin, 'operator', newUser('operator passphrase'))
  for (const id of ids) await rig.domain.keys.generate(admin, id, ED25519, 'Curve25519')
  return rig
}

async function use({ keyUse }: Operational, id: string, times = 1): Promise<void> {
  for (let n = 0; n < times; n++) await keyUse.sign(operator, id, 'EdDSA', () => utf8('message'))
}

const bytesOf = ({ store }: DomainRig, table: string): { slot: number; sealed: Uint8Array }[] =>
  databaseOf(store).prepare(`SELECT slot, sealed FROM "${table}" ORDER BY slot`).safeIntegers().all() as never

test('use and the storing of counts leave the records of keys as they are', async (t) => {
  const rig = await rigWithKeys(t, 'one')
  const before = bytesOf(rig, 'keys')
  const content = rig.domain.keys.contentVersion('', 'one')
  await use(rig.domain, 'one', 3)
  await rig.domain.flush()
  assert.deepEqual(bytesOf(rig, 'keys'), before)
  assert.equal(rig.domain.keys.contentVersion('', 'one'), content)
  assert.equal(rig.reopen().keys.get('', 'one').operations, 3)
})

test('what is counted while counts are stored, twice at once or on a full disk, is counted once', async (t) => {
  const rig = await rigWithKeys(t, 'one')
  await use(rig.domain, 'one', 2)
  const stored = [rig.domain.flush(), rig.domain.flush(), rig.domain.flush(true)]
  await use(rig.domain, 'one')
  await Promise.all(stored)
  await use(rig.domain, 'one') // the one before may be stored already
  databaseOf(rig.store).exec(
    "CREATE TEMP TRIGGER full BEFORE INSERT ON main.heads BEGIN SELECT raise(ABORT, 'full'); END",
  )
  await assert.rejects(rig.domain.flush())
  databaseOf(rig.store).exec('DROP TRIGGER temp.full')
  await use(rig.domain, 'one')
  assert.equal(rig.domain.keys.get('', 'one').operations, 5)
  assert.equal(rig.reopen().keys.get('', 'one').operations, 5)
})

test('counts move with a key, go with it, and do not come back with another of its id', async (t) => {
  const rig = await rigWithKeys(t, 'one', 'two')
  await use(rig.domain, 'one', 2)
  await rig.domain.flush()
  await use(rig.domain, 'one')
  await rig.domain.keys.move(admin, 'one', 'three')
  await rig.domain.keys.setLabel(admin, 'three', 'label')
  assert.equal(rig.domain.keys.get('', 'three').operations, 3)
  assert.equal(rig.reopen().keys.get('', 'three').operations, 3)
  await use(rig.domain, 'three')
  await rig.domain.keys.move(admin, 'three', 'one')
  assert.equal(rig.reopen().keys.get('', 'one').operations, 4)
  await rig.domain.keys.remove(admin, 'one')
  await rig.domain.keys.generate(admin, 'one', ED25519, 'Curve25519')
  assert.equal(rig.domain.keys.get('', 'one').operations, 0)
  assert.equal(rig.reopen().keys.get('', 'one').operations, 0)
})

test('counts of another node are added, and stay where they are', async (t) => {
  const rig = await rigWithKeys(t, 'one')
  await use(rig.domain, 'one', 2)
  await rig.domain.flush()
  const own = bytesOf(rig, 'counts')
  rig.reopen(undefined, 'OTHERNODE')
  await use(rig.domain, 'one')
  assert.equal(rig.reopen().keys.get('', 'one').operations, 3)
  assert.equal(bytesOf(rig, 'counts').length, 2)
  assert.ok(own.every(({ slot }) => bytesOf(rig, 'counts').some((row) => row.slot === slot)))
  await rig.domain.keys.remove(admin, 'one')
  assert.equal(bytesOf(rig, 'counts').length, 0)
})

test('the counts of thousands of keys are a few bytes each, in pieces that keep nobody waiting', async (t) => {
  const rig = await rigWithKeys(t)
  const KEYS = 20_000
  const about = { namespace: '', type: 'Curve25519', typeName: 'Curve25519', mechanisms: ['EdDSA_Signature'] } as const
  const rest = { tags: [], label: '', operations: 5, certificate: null } as const
  await commit(
    rig.storeRig.vault(rig.store),
    Array.from({ length: KEYS }, (_, n) => ({
      ...{ collection: 'keys', name: `k${n}` },
      value: encodeKey({ ...about, id: `k${n}`, ...rest }, { data: new Uint8Array(32) }),
    })),
  )
  const { keys } = rig.reopen()
  for (let n = 0; n < KEYS; n++) keys.count(keys.get('', `k${n}`))
  const writes = rig.store.writes
  await rig.domain.flush(true)
  assert.equal(rig.store.writes, writes + 128) // of 256 records, two at a time
  const bytes = bytesOf(rig, 'counts').reduce((sum, { sealed }) => sum + sealed.length, 0)
  assert.ok(bytes < KEYS * 14, `${bytes} bytes`)
  await rig.domain.flush(true)
  assert.equal(rig.store.writes, writes + 128) // nothing new, nothing written
  const again = rig.reopen().keys
  assert.ok(Array.from({ length: KEYS }, (_, n) => again.get('', `k${n}`).operations).every((count) => count === 6))
})

test("the counts of 100,000 keys take less than 3 MB of SQLite's log, at first and when they are stored again", async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] }) // the store would empty its log a second later, and SQLite when it is long
  const storeRig = createStoreRig(t)
  const store = storeRig.open()
  const database = databaseOf(store)
  database.pragma('wal_autocheckpoint = 0')
  const context = createContext(storeRig.vault(store), { member: 'ABCDEFGHIJ' } as DomainDeps, () => true)
  const counts = new KeyCounts(context)
  counts.loaded({ keeps: () => true, entries: () => [] })
  const keys = Array.from(
    { length: 100_000 },
    (_, n) => ({ namespace: '', id: `k${n}`, operations: 1, slot: BigInt(n) }) as KeyEntry,
  )
  for (let round = 0; round < 2; round++) {
    for (const key of keys) counts.add(key)
    store.checkpoint()
    await counts.store(true)
    const [{ log }] = database.pragma('wal_checkpoint(PASSIVE)') as [{ log: number }]
    const bytes = log * (database.pragma('page_size', { simple: true }) as number)
    assert.ok(bytes < 3_000_000, `${bytes} bytes`)
  }
})

test('versions of users, keys and lists are the same after a restart, and change with what they are of', async (t) => {
  const rig = await rigWithKeys(t, 'one', 'two')
  const versions = ({ keys, users } = rig.domain) => [
    users.listVersion(''),
    users.version('operator'),
    keys.listVersion(''),
    keys.version('', 'one'),
    keys.version('', 'two'),
  ]
  const first = versions()
  assert.deepEqual(versions(rig.reopen()), first)
  await rig.domain.keys.setLabel(admin, 'one', 'label')
  const second = versions()
  assert.deepEqual(
    second.map((version, at) => version === first[at]),
    [true, true, false, false, true],
  )
  await rig.domain.users.addTag(admin, 'operator', 'tag')
  await rig.domain.keys.remove(admin, 'two')
  const third = versions()
  assert.deepEqual(
    third.map((version, at) => version === second[at]),
    [false, false, false, true, false],
  )
  assert.deepEqual(versions(rig.reopen()), third)
  const claim = rig.store.lockStore() // as a restore does
  claim.transaction(() => {})
  claim.release()
  const after = versions(rig.reopen())
  assert.ok(after.slice(0, 4).every((version, at) => version !== third[at]))
})
