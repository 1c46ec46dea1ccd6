/** Somebody has been at the store: what is gone or changed is told, and the log goes on. */

import assert from 'node:assert/strict'
import test, { type TestContext } from 'node:test'
import type { Database } from 'better-sqlite3'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import { type AuditRig, createAuditRig, problemsOf, readAll, recordLines } from './rig.ts'

const RING_OF_USES = 2

function filled(t: TestContext): AuditRig {
  const rig = createAuditRig(t)
  for (let n = 0; n < 4; n++) {
    recordLines(rig.log, 10, 1 + 10 * n)
    rig.log.flush()
  }
  return rig
}

const sealed = (database: Database, slot: number): Uint8Array =>
  database.prepare<[number], Uint8Array>('SELECT sealed FROM audit WHERE slot = ?').pluck().get(slot)!

const put = (database: Database, slot: number, value: Uint8Array) =>
  database
    .prepare(
      `INSERT INTO audit (slot, ring, number, sealed) VALUES (?, ?, ?, ?)
       ON CONFLICT (slot) DO UPDATE SET sealed = excluded.sealed`,
    )
    .run(slot, RING_OF_USES, slot, value)

const remove = (database: Database, ...slots: number[]) => {
  for (const slot of slots) database.prepare('DELETE FROM audit WHERE slot = ?').run(slot)
}

function flip(database: Database, slot: number): void {
  const value = sealed(database, slot)
  value[value.length >> 1]! ^= 1
  put(database, slot, value)
}

interface Damage {
  name: string
  harm: (database: Database) => void
  report: RegExp | null
  problems: RegExp[]
  next: number
}

const NEWEST = /newest lines are missing/
const BEHIND = /new lines continue after its last row/

const DAMAGES: Damage[] = [
  {
    name: 'a row in the middle is removed',
    harm: (d) => remove(d, 11),
    report: null,
    problems: [/lines 11 to 20\.$/],
    next: 41,
  },
  {
    name: 'a row in the middle is changed',
    harm: (d) => flip(d, 21),
    report: null,
    problems: [/lines 21 to 30\.$/],
    next: 41,
  },
  {
    name: 'two rows change places',
    harm: (d) => {
      const [a, b] = [sealed(d, 11), sealed(d, 21)]
      put(d, 11, b)
      put(d, 21, a)
    },
    report: null,
    problems: [/lines 11 to 30\.$/],
    next: 41,
  },
  {
    name: 'a row is repeated under another number',
    harm: (d) => put(d, 15, sealed(d, 11)),
    report: null,
    problems: [],
    next: 41,
  },
  {
    name: 'the oldest row is removed',
    harm: (d) => remove(d, 1),
    report: null,
    problems: [/beginning: lines 1 to 10/],
    next: 41,
  },
  {
    name: 'the newest row is removed',
    harm: (d) => remove(d, 31),
    report: NEWEST,
    problems: [/lines 31 to 40/],
    next: 41,
  },
  {
    name: 'the newest row is changed',
    harm: (d) => flip(d, 31),
    report: NEWEST,
    problems: [/lines 31 to 40/],
    next: 41,
  },
  {
    name: 'every row is removed',
    harm: (d) => remove(d, 1, 11, 21, 31),
    report: /it is empty/,
    problems: [/lines 1 to 40/],
    next: 41,
  },
  { name: 'the state is changed', harm: (d) => flip(d, 0), report: BEHIND, problems: [], next: 41 },
  { name: 'the state is removed', harm: (d) => remove(d, 0), report: BEHIND, problems: [], next: 41 },
  {
    name: 'state and newest row are changed',
    harm: (d) => {
      flip(d, 0)
      flip(d, 31)
    },
    report: BEHIND,
    problems: [/lines 31 to 286/],
    next: 287,
  },
]

for (const { name, harm, report, problems, next } of DAMAGES) {
  test(`${name}: readers see what is missing, and the log goes on`, async (t) => {
    const rig = filled(t)
    rig.reopen((store) => harm(databaseOf(store)))
    if (report === null) assert.deepEqual(rig.errors, [])
    else assert.match(rig.errors.join(), report)
    recordLines(rig.log, 1, 41)
    const { sequences } = await readAll(rig.log)
    assert.equal(sequences[0], next)
    assert.deepEqual(
      sequences,
      [...new Set(sequences)].sort((a, b) => b - a),
    )
    const found = await problemsOf(rig.log)
    assert.equal(found.length, problems.length, found.join(' '))
    for (const [index, problem] of problems.entries()) assert.match(found[index]!, problem)
    if (problems.length > 0 && name.includes('changed')) assert.match(rig.errors.join(), /damaged/)
    rig.reopen()
    assert.equal((await readAll(rig.log)).sequences[0], next, 'and again after the next start')
  })
}

test('newest rows put back to an older copy are noticed', async (t) => {
  const rig = filled(t)
  const state = sealed(databaseOf(rig.store), 0)
  recordLines(rig.log, 5, 41)
  rig.reopen((store) => put(databaseOf(store), 0, state)) // an older state: its rows are newer
  assert.match(rig.errors.join(), BEHIND)
  recordLines(rig.log, 1, 46)
  assert.equal((await readAll(rig.log)).sequences.length, 46)
  assert.deepEqual(await problemsOf(rig.log), [])
})
