/** Records that somebody with the disk puts back to an older copy, or takes away. */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import { runInSlices } from '../../firmware/base/slices.ts'
import type { Collection } from '../../firmware/kms/domain/collections.ts'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import { MIGRATIONS } from '../../firmware/store/sqlite/schema.ts'
import type { StoredRecord, StoreFile } from '../../firmware/store/store.ts'
import type { Vault } from '../../firmware/store/vault.ts'
import { putOldRows } from './old-rows.ts'
import { commit, createStoreRig, type StoreRig, text, utf8 } from './rig.ts'

interface Row {
  slot: bigint
  sealed: Uint8Array
}

const rowsOf = (store: StoreFile, table: string): Row[] =>
  databaseOf(store).prepare(`SELECT slot, sealed FROM "${table}"`).safeIntegers().all() as Row[]

const put = (store: StoreFile, table: string, { slot, sealed }: Row): void =>
  void databaseOf(store).prepare(`INSERT OR REPLACE INTO "${table}" (slot, sealed) VALUES (?, ?)`).run(slot, sealed)

const take = (store: StoreFile, table: string, { slot }: Row): void =>
  void databaseOf(store).prepare(`DELETE FROM "${table}" WHERE slot = ?`).run(slot)

const change = (collection: Collection, name: string, value: string | null) => ({
  collection,
  name,
  value: value === null ? null : utf8(value),
})

const REFUSED = /are not those of the last change/

function follow(vault: Vault, collection: Collection): Map<string, number> {
  const seen = new Map<string, number>()
  const toggle = (record: StoredRecord | null, isThere: boolean): void => {
    if (record === null) return
    const value = text(record.value)!
    if (isThere) seen.set(value, record.n)
    else assert.equal(seen.delete(value), true)
  }
  vault.follow(collection, (before, after) => {
    toggle(before, false)
    toggle(after, true)
  })
  return seen
}

/** Three records, of which one was changed and one removed since. Gives their rows of before. */
async function setup(t: TestContext, collection: Collection) {
  const rig = createStoreRig(t)
  const store = rig.open()
  const vault = rig.vault(store)
  await commit(vault, [change(collection, 'stays', 'stays'), change('configuration', 'other', 'other')])
  const [stays] = rowsOf(store, collection)
  await commit(vault, [change(collection, 'changes', 'old'), change(collection, 'goes', 'went')])
  const before = rowsOf(store, collection)
  await commit(vault, [change(collection, 'changes', 'new'), change(collection, 'goes', null)])
  const now = new Map(rowsOf(store, collection).map((row) => [row.slot, row]))
  const old = before.find(({ slot }) => now.has(slot) && slot !== stays!.slot)!
  const gone = before.find(({ slot }) => !now.has(slot))!
  return { rig, store, stays: stays!, old, gone }
}

const tamperings: [string, (store: StoreFile, table: string, rows: { stays: Row; old: Row; gone: Row }) => void][] = [
  ['put back to an older copy', (store, table, { old }) => put(store, table, old)],
  ['taken away', (store, table, { stays }) => take(store, table, stays)],
  ['brought back after its removal', (store, table, { gone }) => put(store, table, gone)],
]

for (const collection of ['users', 'namespaces', 'keys'] as const) {
  for (const [what, tamper] of tamperings) {
    test(`a record of ${collection} that was ${what} is found out before anybody relies on the others`, async (t) => {
      const { rig, store, ...rows } = await setup(t, collection)
      assert.deepEqual(
        follow(rig.vault(store), collection),
        new Map([
          ['stays', 1],
          ['new', 3],
        ]),
      )
      tamper(store, collection, rows)
      assert.throws(() => follow(rig.vault(store), collection), REFUSED)
      assert.match(rig.reports.join(), REFUSED)
    })
  }
}

for (const collection of ['privateKeys', 'certificates', 'configuration', 'counts'] as const) {
  for (const [what, tamper] of tamperings) {
    test(`a record of ${collection} that was ${what} is found out soon, and then no change is taken`, async (t) => {
      const { rig, store, ...rows } = await setup(t, collection)
      const vault = rig.vault(store)
      await vault.watch()
      assert.deepEqual(rig.reports, [])
      await commit(vault, [change('users', 'one', 'before')])
      tamper(store, collection, rows)
      const again = rig.vault(store)
      await again.watch()
      assert.match(rig.reports.join(), REFUSED)
      await assert.rejects(commit(again, [change('users', 'one', 'after')]), REFUSED)
      assert.equal(text(again.get('users', 'one')), 'before')
    })
  }
}

test('changes that are made while the records are looked at mislead nobody', async (t) => {
  const rig = createStoreRig(t)
  const store = rig.open()
  const vault = rig.vault(store)
  const fill = (round: number) =>
    Array.from({ length: 300 }, (_, n) => change('privateKeys', `n${n}`, n % 3 === round ? null : `${round} ${n}`))
  await commit(vault, fill(0))
  const watched = vault.watch()
  let isOver = false
  void watched.then(() => {
    isOver = true
  })
  for (let round = 1; !isOver; round = (round + 1) % 3) {
    await commit(vault, fill(round))
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await watched
  await rig.vault(store).watch()
  assert.deepEqual(rig.reports, [])
})

test('a damaged record is told of and the others are used, now and after changes', async (t) => {
  const { rig, store, stays } = await setup(t, 'users')
  const damage = () => put(store, 'users', { ...stays, sealed: new Uint8Array(60) })
  damage()
  const vault = rig.vault(store)
  assert.deepEqual(follow(vault, 'users'), new Map([['new', 3]]))
  assert.match(rig.reports.join(), /cannot be told whether others/)
  await vault.watch()
  await commit(vault, [change('users', 'stays', 'again')])
  rig.reports.length = 0
  const again = rig.vault(store)
  assert.deepEqual([...follow(again, 'users').keys()].sort(), ['again', 'new'])
  await again.watch()
  assert.deepEqual(rig.reports, [])
})

test('a damaged record among those that are looked at later stops no change', async (t) => {
  const { rig, store, stays } = await setup(t, 'privateKeys')
  put(store, 'privateKeys', { ...stays, sealed: new Uint8Array(60) })
  const vault = rig.vault(store)
  await vault.watch()
  assert.match(rig.reports.join(), /is damaged/)
  await commit(vault, [change('privateKeys', 'stays', 'again')])
  rig.reports.length = 0
  await rig.vault(store).watch()
  assert.deepEqual(rig.reports, [])
})

test('what was found damaged in a copy is no reason to refuse changes once it stands alone', async (t) => {
  const { rig, store, stays } = await setup(t, 'privateKeys')
  put(store, 'privateKeys', { ...stays, sealed: new Uint8Array(60) })
  const vault = rig.vault(store)
  const [head] = rowsOf(store, 'heads')
  const copy = vault.replicate(() => assert.fail())
  await vault.watch()
  assert.ok(copy.isDamaged)
  assert.deepEqual(rowsOf(store, 'heads'), [head], 'its head is that of all')
  vault.standAlone()
  await commit(vault, [change('privateKeys', 'stays', 'again')])
  rig.reports.length = 0
  await rig.vault(store).watch()
  assert.deepEqual(rig.reports, [])
})

test('what a copy has from elsewhere while its damaged records are counted is not taken for an older copy', async (t) => {
  const { rig, store, stays } = await setup(t, 'privateKeys')
  const vault = rig.vault(store)
  const copy = vault.replicate(() => assert.fail())
  const rows = [...copy.rows()]
  put(store, 'privateKeys', { ...stays, sealed: new Uint8Array(60) })
  const watched = vault.watch()
  while (rig.reports.length === 0) await new Promise((resolve) => setTimeout(resolve, 1))
  const comparison = copy.compare()
  for (const { collection, row } of rows) await runInSlices(comparison.add(collection, row))
  const { generation } = vault
  await runInSlices(comparison.adopt({ head: copy.head(), generation, withinTransaction() {}, partly() {} }))
  await watched
  assert.deepEqual([copy.isDamaged, copy.distrust], [false, null])
  assert.deepEqual(rig.reports, ['a stored record of privateKeys is damaged'])
})

test('without what says which records there must be, none with a number is taken', async (t) => {
  const { rig, store } = await setup(t, 'keys')
  databaseOf(store).exec('DELETE FROM heads')
  assert.throws(() => follow(rig.vault(store), 'keys'), REFUSED)
})

test('an older head with the older record that it fits is what it was then; with any other it is refused', async (t) => {
  const { rig, store, old } = await setup(t, 'keys')
  const [head] = rowsOf(store, 'heads')
  await commit(rig.vault(store), [change('keys', 'changes', 'newest')])
  put(store, 'heads', head!)
  assert.throws(() => follow(rig.vault(store), 'keys'), REFUSED)
  put(store, 'keys', old)
  assert.throws(() => follow(rig.vault(store), 'keys'), REFUSED)
})

/** A store of the version before, with two keys and a user, closed. */
function fillOldStore(rig: StoreRig): void {
  const store = rig.open({ migrations: MIGRATIONS.slice(0, 3) })
  putOldRows(store, [change('keys', 'one', 'old one'), change('keys', 'two', 'old two'), change('users', 'u', 'user')])
  store.close()
}

test('a store of the version before is moved on, its records are numbered as they change, and it refuses tampering from then on', async (t) => {
  const rig = createStoreRig(t)
  fillOldStore(rig)
  const store = rig.open()
  const vault = rig.vault(store)
  const seen = follow(vault, 'keys')
  assert.deepEqual(
    seen,
    new Map([
      ['old one', 0],
      ['old two', 0],
    ]),
  )
  await vault.watch()
  const before = rowsOf(store, 'keys')
  await commit(vault, [change('keys', 'one', 'new one')])
  assert.deepEqual(
    seen,
    new Map([
      ['old two', 0],
      ['new one', 1],
    ]),
  )
  assert.deepEqual(
    follow(rig.vault(store), 'keys'),
    new Map([
      ['old two', 0],
      ['new one', 1],
    ]),
  )
  for (const row of before) put(store, 'keys', row)
  assert.throws(() => follow(rig.vault(store), 'keys'), REFUSED)
  assert.deepEqual(follow(rig.vault(store), 'users'), new Map([['user', 0]]))
})

test('the version before refuses a store that was moved on, and says why', (t) => {
  const rig = createStoreRig(t)
  fillOldStore(rig)
  rig.open().close()
  assert.throws(
    () => rig.open({ migrations: MIGRATIONS.slice(0, 3) }),
    /^CofferError: The store has version 4, this software knows up to version 3: start a newer version of Coffer$/,
  )
})
