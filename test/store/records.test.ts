import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { type TestContext } from 'node:test'
import type { Statement } from 'better-sqlite3'
import { CofferError, type ErrorCode } from '../../firmware/base/error.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { deriveSealKey, seal, unseal } from '../../firmware/crypto/seal.ts'
import { COLLECTION_NAMES } from '../../firmware/kms/domain/collections.ts'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import { openVault, type Vault } from '../../firmware/store/vault.ts'
import { commit, createStoreRig, text, utf8 } from './rig.ts'

const hasCode = (code: ErrorCode, message: RegExp) => (error: unknown) =>
  error instanceof CofferError && error.code === code && message.test(error.message)
const DAMAGED = hasCode('storage', /is damaged$/)
const DISPLACED = hasCode('storage', /is not in its place$/)

interface Row {
  slot: bigint
  sealed: Uint8Array
}

/** Records `n0` to `n<count - 1>` among the keys, with the rows they lie in. */
async function fill(t: TestContext, count: number) {
  const rig = createStoreRig(t)
  const store = rig.open()
  const vault = rig.vault(store)
  const rows: Row[] = []
  const known = new Set<bigint>()
  for (let n = 0; n < count; n++) {
    await commit(vault, [{ collection: 'keys', name: `n${n}`, value: utf8(`value ${n}`) }])
    if (count > 20) continue
    const all = databaseOf(store).prepare('SELECT slot, sealed FROM keys').safeIntegers().all() as Row[]
    const row = all.find(({ slot }) => !known.has(slot))!
    known.add(row.slot)
    rows.push(row)
  }
  const update: Statement<[Uint8Array, bigint]> = databaseOf(store).prepare('UPDATE keys SET sealed = ? WHERE slot = ?')
  const rename: Statement<[bigint, bigint]> = databaseOf(store).prepare('UPDATE keys SET slot = ? WHERE slot = ?')
  const reopen = (): Vault => rig.vault(store)
  return { rig, store, vault, rows, update, rename, reopen }
}

const listed = (vault: Vault): string[] => Array.from(vault.list('keys'), (value) => text(value)!).sort()

test('what is committed is read back, by name and in the list, replaced and removed', async (t) => {
  const { vault, reopen } = await fill(t, 3)
  assert.equal(text(vault.get('keys', 'n1')), 'value 1')
  assert.equal(vault.get('keys', 'n3'), null)
  assert.deepEqual(listed(vault), ['value 0', 'value 1', 'value 2'])
  await commit(vault, [
    { collection: 'keys', name: 'n1', value: utf8('changed') },
    { collection: 'keys', name: 'n2', value: null },
    { collection: 'keys', name: 'never was', value: null },
  ])
  for (const v of [vault, reopen()]) {
    assert.deepEqual(listed(v), ['changed', 'value 0'])
    assert.equal(v.get('keys', 'n2'), null)
  }
})

test('collections are apart: the same name holds other values', async (t) => {
  const rig = createStoreRig(t)
  const vault = rig.vault(rig.open())
  await commit(
    vault,
    COLLECTION_NAMES.map((collection) => ({ collection, name: 'same', value: utf8(collection) })),
  )
  for (const collection of COLLECTION_NAMES) assert.equal(text(vault.get(collection, 'same')), collection)
  await commit(vault, [{ collection: 'users', name: 'same', value: null }])
  assert.equal(text(vault.get('keys', 'same')), 'keys')
})

test('empty and large values, and names of any characters, come back as they were', async (t) => {
  const rig = createStoreRig(t)
  const vault = rig.vault(rig.open())
  for (const [name, length] of [
    ['', 0],
    ['a/b', 1],
    ['\0', 4096],
    ['ü~𝄞', 1_100_000],
  ] as const) {
    const value = systemRandom(length)
    await commit(vault, [{ collection: 'certificates', name, value }])
    assert.deepEqual(vault.get('certificates', name), value)
  }
})

test('a list longer than one page is complete, and can be changed while it is read', async (t) => {
  const { vault } = await fill(t, 1100)
  let count = 0
  for (const value of vault.list('keys')) {
    count++
    const name = text(value)!.replace('value ', 'n')
    if (count % 2 === 0) await commit(vault, [{ collection: 'keys', name, value: null }])
  }
  assert.equal(count, 1100)
  assert.equal(listed(vault).length, 550)
})

test('a commit that fails half-way changes nothing', async (t) => {
  const { vault } = await fill(t, 2)
  const broken = { collection: 'keys', name: 'n1', value: undefined as unknown as Uint8Array } as const
  await assert.rejects(commit(vault, [{ collection: 'keys', name: 'n0', value: null }, broken]))
  assert.deepEqual(listed(vault), ['value 0', 'value 1'])
})

test('a store that has no room to grow refuses changes, keeps the rest, and takes them once it has', async (t) => {
  const { store, vault } = await fill(t, 3)
  const large = [
    { collection: 'keys', name: 'n0', value: null },
    { collection: 'keys', name: 'large', value: systemRandom(500_000) },
  ] as const
  const pages = databaseOf(store).pragma('page_count', { simple: true })
  databaseOf(store).pragma(`max_page_count = ${pages}`) // the same error as that of a disk without room
  await assert.rejects(commit(vault, large), hasCode('storage', /^The disk is full$/))
  assert.equal(vault.get('keys', 'large'), null)
  assert.equal(vault.isDamaged('keys', 'large'), false)
  assert.deepEqual(listed(vault), ['value 0', 'value 1', 'value 2'])
  databaseOf(store).pragma(`max_page_count = ${1 << 30}`)
  await commit(vault, large)
  assert.deepEqual(vault.get('keys', 'large'), large[1].value)
  assert.equal(vault.get('keys', 'n0'), null)
})

test('another domain key opens nothing and finds nothing', async (t) => {
  const { store } = await fill(t, 2)
  const other = openVault(store, systemRandom(32), systemRandom, () => {}, COLLECTION_NAMES)
  assert.deepEqual(Array.from(other.list('keys')), [])
  assert.equal(other.get('keys', 'n0'), null)
})

test('an edited record is damaged: not read, not listed, not missing; the others stay', async (t) => {
  const { rig, rows, update, reopen } = await fill(t, 4)
  for (const position of [0, 23, 24, 39, 40, 41, 57, rows[1]!.sealed.length - 1]) {
    const edited = Uint8Array.from(rows[1]!.sealed)
    edited[position]! ^= 1
    update.run(edited, rows[1]!.slot)
    const vault = reopen()
    assert.throws(() => vault.get('keys', 'n1'), DAMAGED)
    assert.deepEqual(listed(vault), ['value 0', 'value 2', 'value 3'])
    assert.equal(vault.isDamaged('keys', 'n1'), true)
    assert.equal(vault.isDamaged('keys', 'n0'), false)
    assert.equal(vault.isDamaged('keys', 'n9'), false)
  }
  assert.equal(rig.reports.length, 8)
  assert.match(rig.reports[0]!, /^a stored record of keys is damaged$/)
})

test('a truncated record is damaged, down to nothing', async (t) => {
  const { rows, update, reopen } = await fill(t, 2)
  for (let length = 0; length < rows[1]!.sealed.length; length++) {
    update.run(rows[1]!.sealed.subarray(0, length), rows[1]!.slot)
    assert.throws(() => reopen().get('keys', 'n1'), DAMAGED)
    assert.deepEqual(listed(reopen()), ['value 0'])
  }
})

test('two swapped records are not in their places; the others stay', async (t) => {
  const { rows, update, reopen } = await fill(t, 4)
  update.run(rows[0]!.sealed, rows[1]!.slot)
  update.run(rows[1]!.sealed, rows[0]!.slot)
  const vault = reopen()
  for (const name of ['n0', 'n1']) {
    assert.throws(() => vault.get('keys', name), DISPLACED)
    assert.equal(vault.isDamaged('keys', name), true)
  }
  assert.deepEqual(listed(vault), ['value 2', 'value 3'])
})

test('a record of another collection in a place is damaged', async (t) => {
  const { store, rows, reopen, vault } = await fill(t, 1)
  await commit(vault, [{ collection: 'users', name: 'n0', value: utf8('user') }])
  databaseOf(store).prepare('UPDATE users SET sealed = ?').run(rows[0]!.sealed)
  assert.throws(() => reopen().get('users', 'n0'), DAMAGED)
})

test('a record whose slot was edited is not missing under its name', async (t) => {
  const { rows, rename, reopen } = await fill(t, 4)
  const { slot } = rows[2]!
  for (const edited of [slot ^ 1n, 0n, -1n, slot - 2n ** 63n, 2n ** 63n - 1n]) {
    rename.run(edited, slot)
    assert.throws(() => reopen().get('keys', 'n2'), DISPLACED)
    assert.equal(reopen().isDamaged('keys', 'n2'), true)
    assert.deepEqual(listed(reopen()), ['value 0', 'value 1', 'value 3'])
    rename.run(slot, edited)
  }
  assert.equal(text(reopen().get('keys', 'n2')), 'value 2')
})

test('a name whose slot another name has is missing, cannot be written, and spoils nothing', async (t) => {
  const { rows, update, reopen } = await fill(t, 3)
  const recordKey = deriveSealKey(reopen().domainKey, 'coffer keys records')
  // As if n1's slot had been taken by a name whose mark begins alike.
  const plain = unseal(recordKey, rows[1]!.sealed)!
  plain[16]! ^= 1
  update.run(seal(recordKey, plain, systemRandom), rows[1]!.slot)
  const vault = reopen()
  assert.equal(vault.get('keys', 'n1'), null)
  assert.equal(vault.isDamaged('keys', 'n1'), false)
  const write = () => commit(vault, [{ collection: 'keys', name: 'n1', value: utf8('second') }])
  await assert.rejects(write(), hasCode('storage', /^There is no room for a record of this name/))
  await commit(vault, [{ collection: 'keys', name: 'n1', value: null }])
  assert.deepEqual(listed(vault), ['value 0', 'value 1', 'value 2'])
})

test('a damaged record can be replaced or removed, and then is none', async (t) => {
  const { rows, update, reopen } = await fill(t, 2)
  for (const row of rows) update.run(new Uint8Array(60), row.slot)
  const vault = reopen()
  assert.deepEqual(listed(vault), [])
  await commit(vault, [
    { collection: 'keys', name: 'n0', value: utf8('again') },
    { collection: 'keys', name: 'n1', value: null },
  ])
  assert.equal(text(vault.get('keys', 'n0')), 'again')
  assert.equal(vault.isDamaged('keys', 'n0'), false)
  assert.equal(vault.get('keys', 'n1'), null)
})

test('a closed vault has no key left, reads nothing and writes nothing', async (t) => {
  const { store, vault } = await fill(t, 2)
  vault.close()
  const unavailable = hasCode('unavailable', /^Service not available$/)
  assert.deepEqual(vault.domainKey, new Uint8Array(32))
  assert.throws(() => vault.get('keys', 'n0'), unavailable)
  assert.throws(() => listed(vault), unavailable)
  assert.throws(() => vault.isDamaged('keys', 'n0'), unavailable)
  await assert.rejects(commit(vault, []), unavailable)
  await assert.rejects(commit(vault, [{ collection: 'keys', name: 'n0', value: null }]), unavailable)
  assert.equal(databaseOf(store).prepare('SELECT count(*) FROM keys').pluck().get(), 2)
})

test('neither names nor values are in any file, raw, in hex or in base64', async (t) => {
  const rig = createStoreRig(t)
  const store = rig.open()
  const vault = rig.vault(store)
  const secrets = ['a name to look for', 'a value to look for', 'a replaced value', 'a removed name']
  await commit(vault, [{ collection: 'keys', name: secrets[0]!, value: utf8(secrets[2]!) }])
  await commit(vault, [{ collection: 'keys', name: secrets[3]!, value: utf8(secrets[1]!) }])
  await commit(vault, [{ collection: 'keys', name: secrets[0]!, value: utf8(secrets[1]!) }])
  await commit(vault, [{ collection: 'keys', name: secrets[3]!, value: null }])
  const expectSealed = (): void => {
    for (const name of readdirSync(rig.directory)) {
      const bytes = readFileSync(join(rig.directory, name))
      for (const secret of secrets) {
        const plain = Buffer.from(secret)
        for (const form of [plain, plain.toString('hex'), plain.toString('base64').replace(/=+$/, '')]) {
          assert.equal(bytes.includes(form), false, `${secret} in ${name}`)
        }
      }
    }
  }
  expectSealed()
  vault.close()
  store.close()
  expectSealed()
})

test('after a checkpoint nothing is left of the sealed bytes of removed and replaced records', async (t) => {
  const { rig, store, vault, rows } = await fill(t, 10)
  const marks = rows.map(({ sealed }) => Buffer.from(sealed.subarray(0, 40)))
  const found = (): number =>
    readdirSync(rig.directory)
      .map((name) => readFileSync(join(rig.directory, name)))
      .reduce((sum, bytes) => sum + marks.filter((mark) => bytes.includes(mark)).length, 0)
  assert.ok(found() >= 10)
  for (let n = 0; n < 10; n++) {
    await commit(vault, [{ collection: 'keys', name: `n${n}`, value: n % 2 === 0 ? null : utf8('replaced') }])
  }
  store.checkpoint()
  assert.equal(found(), 0)
})

test('the log is moved into the store soon after a change', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { rig } = await fill(t, 1)
  const logBytes = (): number => readFileSync(`${rig.path}-wal`).length
  assert.ok(logBytes() > 0)
  t.mock.timers.tick(1000)
  assert.equal(logBytes(), 0)
})
