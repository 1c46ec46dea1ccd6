// @test long 70
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import Sqlite from 'better-sqlite3'
import type { Appliance } from '../../firmware/appliance/appliance.ts'
import { CofferError } from '../../firmware/base/error.ts'
import type { RecordStore } from '../../firmware/store/store.ts'
import {
  createRig,
  DEVICE_KEY,
  digestDirectory,
  hasCode,
  type Notes,
  Notes as NotesDomain,
  PROVISIONING,
  type Rig,
  UNLOCK,
  utf8,
} from './rig.ts'

const NOTES = 30
const TIME_MS = Date.UTC(2040, 0, 1)
const content = (name: string): string => `${name} `.repeat(name.endsWith('7') ? 900 : 40) // some overflow their page

const databasePath = (rig: Rig): string => join(rig.directory, 'store.db')

/** A store with notes, a free list of removed ones, a counter, unattended start off. Returns its bytes. */
async function fill(rig: Rig): Promise<Uint8Array> {
  const appliance = await rig.open()
  await appliance.provision(PROVISIONING)
  for (let n = 0; n < 2 * NOTES; n++) await appliance.open().write(`note ${n}`, content(`note ${n}`))
  for (let n = NOTES; n < 2 * NOTES; n++) await appliance.open().remove(`note ${n}`)
  appliance.open().counted = 17
  appliance.setTime(TIME_MS)
  appliance.close()
  return new Uint8Array(readFileSync(databasePath(rig)))
}

const isStorage = (error: unknown): error is CofferError => error instanceof CofferError && error.code === 'storage'

/** The value, or `storage` where that error is its answer; anything else is a failure of the test. */
function tolerate<T>(read: () => T): T | 'storage' {
  try {
    return read()
  } catch (error) {
    if (isStorage(error)) return 'storage'
    throw error
  }
}

class Tolerant extends NotesDomain {
  constructor(records: RecordStore) {
    const counter = tolerate(() => records.get('configuration', 'counter'))
    super(counter === 'storage' ? { ...records, get: (c, n) => (n === 'counter' ? null : records.get(c, n)) } : records)
    if (counter === 'storage') this.counted = -1
    this.flush = () => {} // so that closing does not mend what is looked at
  }
}

/** Fails unless everything the appliance says is right or is said to be damaged. Returns what happened. */
async function examine(rig: Rig, appliance: Appliance<Notes>): Promise<'failed' | 'unopened' | 'damaged' | 'intact'> {
  if (appliance.state === 'Failed') {
    assert.ok(appliance.failure!.length > 10)
    return 'failed'
  }
  assert.equal(appliance.state, 'Locked')
  let damages = 0
  if (appliance.tlsIdentity().cert !== 'chain 1') {
    assert.ok(rig.messages.some((message) => /TLS identity: A stored record of device is/.test(message)))
    damages++
  }
  if (Math.abs(appliance.clock.now() - TIME_MS) > 3_600_000) {
    assert.ok(rig.messages.some((message) => /cannot restore the time: A stored record of device is/.test(message)))
    damages++
  }
  try {
    await appliance.unlock(UNLOCK)
  } catch (error) {
    assert.ok(isStorage(error), String(error))
    return 'unopened'
  }
  const notes = appliance.open()
  if (notes.counted !== 17) {
    assert.equal(notes.counted, -1)
    damages++
  }
  for (const name of ['admin', ...Array.from({ length: NOTES }, (_, n) => `note ${n}`)]) {
    if (!notes.names.has(name)) {
      assert.equal(notes.isDamaged(name), true, `${name} is gone`)
      damages++
    }
    const read = tolerate(() => notes.read(name))
    if (read === 'storage') damages++
    else assert.equal(read, name === 'admin' ? 'first' : content(name))
    notes.names.delete(name)
  }
  assert.deepEqual([...notes.names], [], 'notes nobody wrote')
  for (let n = NOTES; n < 2 * NOTES; n++) {
    assert.equal(notes.isDamaged(`note ${n}`), false)
    assert.equal(notes.read(`note ${n}`), null)
  }
  return damages > 0 ? 'damaged' : 'intact'
}

/** All of the file's header, each page's header, the records of the device, and a sample of the rest; always the same. */
function* positions(whole: Uint8Array, pageBytes: number, samples: number): Generator<number> {
  for (let position = 0; position < 140; position++) yield position
  for (let page = pageBytes; page < whole.length; page += pageBytes) for (let n = 0; n < 12; n++) yield page + n
  for (const { sealed } of deviceRows(whole)) {
    const offset = Buffer.from(whole).indexOf(sealed.subarray(0, 24))
    assert.ok(offset > 0)
    for (let n = -14; n < 30; n++) yield offset + n
  }
  let seed = 1
  for (let n = 0; n < samples; n++) {
    seed = (seed * 48271) % 0x7fffffff // Lehmer's generator
    yield seed % whole.length
  }
}

interface Row {
  slot: bigint
  sealed: Uint8Array
}

function deviceRows(whole: Uint8Array): Row[] {
  const legacy = Buffer.from(whole)
  legacy.fill(1, 18, 20) // a database in memory has no log
  const database = new Sqlite(legacy)
  try {
    return database.prepare('SELECT slot, sealed FROM device').safeIntegers().all() as Row[]
  } finally {
    database.close()
  }
}

/** Changes rows in a store that is closed, as somebody with the disk and SQLite could. */
function tamper(rig: Rig, sql: string, ...parameters: unknown[]): void {
  const database = new Sqlite(databasePath(rig))
  database.prepare(sql).run(...parameters)
  database.close()
}

test('one edited byte anywhere in the store is noticed where it matters, and nothing wrong is read', async (t) => {
  const rig = createRig(t)
  const whole = await fill(rig)
  const outcomes = { failed: 0, unopened: 0, damaged: 0, intact: 0 }
  let step = 0
  for (const position of positions(whole, 4096, 600)) {
    const edited = whole.slice()
    edited[position]! ^= [0x01, 0x80, 0xff, 0x10][step++ % 4]!
    writeFileSync(databasePath(rig), edited)
    rig.messages.length = 0
    const before = digestDirectory(rig.directory)
    const appliance = await rig.open({ openDomain: (records) => new Tolerant(records) })
    try {
      const outcome = await examine(rig, appliance)
      outcomes[outcome]++
      appliance.close()
      if (outcome === 'failed') assert.deepEqual(digestDirectory(rig.directory), before)
    } catch (error) {
      throw new Error(`byte ${position}, ${appliance.failure ?? appliance.state}`, { cause: error })
    } finally {
      appliance.close()
    }
  }
  t.diagnostic(JSON.stringify(outcomes))
  // The edits hit every kind of place, and those in records cost no more than the record.
  assert.ok(outcomes.failed > 100 && outcomes.unopened > 5 && outcomes.damaged > 100 && outcomes.intact > 100)
  writeFileSync(databasePath(rig), whole)
  assert.equal(await examine(rig, await rig.open()), 'intact')
})

test('two swapped records are refused, the others are read', async (t) => {
  const rig = createRig(t)
  await fill(rig)
  const database = new Sqlite(databasePath(rig))
  const [a, b] = database.prepare('SELECT slot, sealed FROM privateKeys LIMIT 2').safeIntegers().all() as [Row, Row]
  database.close()
  tamper(rig, 'UPDATE privateKeys SET sealed = ? WHERE slot = ?', a.sealed, b.slot)
  tamper(rig, 'UPDATE privateKeys SET sealed = ? WHERE slot = ?', b.sealed, a.slot)
  const appliance = await rig.open()
  await appliance.unlock(UNLOCK)
  const notes = appliance.open()
  const refused = [...notes.names].filter((name) => tolerate(() => notes.read(name)) === 'storage')
  assert.equal(refused.length, 2)
  assert.throws(() => notes.read(refused[0]!), hasCode('storage', /is not in its place/))
})

test('a missing device key is Failed, and nothing is touched', async (t) => {
  const rig = createRig(t)
  await fill(rig)
  const before = digestDirectory(rig.directory)
  const appliance = await rig.open({ deviceKey: null })
  assert.equal(appliance.state, 'Failed')
  assert.match(appliance.failure!, /device key is missing/)
  assert.ok(rig.messages.some((message) => message.includes('device key is missing')))
  appliance.close()
  assert.deepEqual(digestDirectory(rig.directory), before)
  assert.equal((await rig.open()).state, 'Locked')
})

test('without a device key no store is made either', async (t) => {
  const rig = createRig(t)
  assert.equal((await rig.open({ deviceKey: null })).state, 'Failed')
  assert.deepEqual(digestDirectory(rig.directory), [])
})

test('a foreign device key, a damaged key slot and a wrong passphrase are told apart', async (t) => {
  const rig = createRig(t)
  const whole = await fill(rig)
  const foreign = await rig.open({ deviceKey: DEVICE_KEY.map((byte) => byte ^ 1) })
  assert.equal(foreign.state, 'Failed')
  assert.match(foreign.failure!, /belongs to another device/)
  foreign.close()

  const locked = await rig.open()
  await assert.rejects(locked.unlock(utf8('another passphrase')), hasCode('forbidden', /Wrong passphrase/))
  locked.close()

  tamper(rig, 'UPDATE device SET sealed = zeroblob(length(sealed))')
  const damaged = await rig.open()
  assert.equal(damaged.state, 'Locked')
  for (const passphrase of [UNLOCK, utf8('another passphrase')]) {
    await assert.rejects(damaged.unlock(passphrase), hasCode('storage', /^A stored record of device is damaged$/))
  }
  damaged.close()
  writeFileSync(databasePath(rig), whole)
  await (await rig.open()).unlock(UNLOCK)
})

test('a store whose key slot is gone is Failed, not Unprovisioned', async (t) => {
  const rig = createRig(t)
  await fill(rig)
  tamper(rig, 'DELETE FROM device')
  const appliance = await rig.open()
  assert.equal(appliance.state, 'Failed')
  assert.match(appliance.failure!, /sealed domain key is missing/)
})

test('with the key slot for unattended starts damaged the appliance waits for the passphrase', async (t) => {
  const rig = createRig(t)
  const first = await rig.open()
  await first.provision(PROVISIONING)
  const slots = (): bigint[] => deviceRows(readFileSync(databasePath(rig))).map(({ slot }) => slot)
  first.close()
  const before = slots()
  const second = await rig.open()
  await second.unlock(UNLOCK)
  second.setUnattendedBoot(true)
  second.close()
  const unattended = slots().find((slot) => !before.includes(slot))!
  tamper(rig, 'UPDATE device SET sealed = zeroblob(80) WHERE slot = ?', unattended)
  const third = await rig.open()
  assert.equal(third.state, 'Locked')
  assert.ok(
    rig.messages.some((message) => /cannot start unattended: A stored record of device is damaged/.test(message)),
  )
  await third.unlock(UNLOCK)
  assert.equal(third.unattendedBoot, true)
  third.setUnattendedBoot(true)
  third.close()
  assert.equal((await rig.open()).state, 'Operational')
})

test('a file that is not a store makes the state Failed, and stays as it is through each start', async (t) => {
  const rig = createRig(t)
  writeFileSync(databasePath(rig), 'my holiday pictures')
  const before = digestDirectory(rig.directory)
  for (let start = 0; start < 3; start++) {
    const appliance = await rig.open()
    assert.equal(appliance.state, 'Failed')
    assert.match(appliance.failure!, /is not a store/)
    assert.equal(appliance.tlsIdentity().cert, `chain ${start + 1}`)
    appliance.close()
    assert.deepEqual(digestDirectory(rig.directory), before)
  }
})
