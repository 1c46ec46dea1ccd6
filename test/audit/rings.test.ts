/** Changes, refusals and uses are kept in rings of their own: none pushes out another, and what is left still verifies. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import type { AuditHead, AuditLine, AuditLineKind } from '../../firmware/audit/chain.ts'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import {
  type AuditRig,
  createAuditRig,
  event,
  exportTexts,
  keepLines,
  problemsOf,
  readAll,
  recordLines,
  verify,
} from './rig.ts'

const OLD = join(import.meta.dirname, 'before-rings')
const LINES = 1000

const lineIn = (text: string): AuditLine => JSON.parse(text)
const kindOf = (text: string): AuditLineKind | undefined => lineIn(text).kind

const change = (rig: AuditRig, key: string) => rig.log.record(event({ action: 'DELETE /keys/{id}', key }), 'change')
const refuse = (rig: AuditRig, user: string) =>
  void rig.log.record(event({ user, action: 'GET /users', result: 403 }), 'refusal', user)

/** Uses have overwritten uses from before, between and behind changes and refusals. */
async function worn(rig: AuditRig): Promise<string[]> {
  keepLines(rig.log, LINES)
  for (let n = 1; n <= 10; n++) {
    recordLines(rig.log, 300, 300 * n)
    refuse(rig, `user-${n % 3}`)
    void change(rig, `change-${n}`)
    rig.log.flush()
  }
  return exportTexts(rig.log)
}

test('any number of uses leaves every change and every refusal, and the export verifies', async (t) => {
  const rig = createAuditRig(t)
  const texts = await worn(rig)
  const kinds = texts.slice(0, -1).map(kindOf)
  const count = (kind: AuditLineKind) => kinds.filter((other) => other === kind).length
  assert.deepEqual([count('change'), count('refusal'), count('use')], [10, 10, LINES])
  const { problems, lines, overwritten, head } = await verify(texts)
  assert.deepEqual(problems, [])
  assert.deepEqual([lines, overwritten, head!.sequence], [1020, 1700, 3020])
  const { sequences } = await readAll(rig.log)
  assert.deepEqual(
    sequences.toReversed(),
    texts.slice(0, -1).map((text) => lineIn(text).sequence),
  )
  rig.reopen()
  assert.deepEqual(await problemsOf(rig.log), [])
  assert.deepEqual(rig.errors, [])
})

test('the refusals of one user leave everything else, those of other users, too', async (t) => {
  const rig = createAuditRig(t)
  keepLines(rig.log, LINES)
  recordLines(rig.log, 50)
  await change(rig, 'made')
  for (let n = 0; n < 20_000; n++) refuse(rig, 'lowest')
  refuse(rig, 'other')
  for (let n = 0; n < 1000; n++) void rig.log.record(event({ user: 'claimed', result: 401 }), 'refusal')
  const count = async (query: object) => (await readAll(rig.log, query)).sequences.length
  assert.deepEqual(
    [await count({ user: 'lowest' }), await count({ user: 'other' }), await count({ user: 'claimed' })],
    [100, 1, 100],
  )
  assert.deepEqual([await count({ key: 'made' }), await count({ key: 'key-1' })], [1, 1])
  rig.nowMs += 30_000
  for (let n = 0; n < 10; n++) refuse(rig, 'lowest')
  assert.equal(await count({ user: 'lowest' }), 103)
  assert.deepEqual(await problemsOf(rig.log), [])
})

test('as many users as there may be share what strangers have once too many are remembered', async (t) => {
  const rig = createAuditRig(t)
  for (let n = 0; n < 10_200; n++) refuse(rig, `user-${n}`)
  rig.log.flush()
  assert.equal(rig.log.head().sequence, 10_000, 'no more wait for the disk')
  for (let n = 10_200; n < 10_500; n++) refuse(rig, `user-${n}`)
  rig.log.flush()
  assert.ok(rig.log.head().sequence <= 10_100)
  rig.nowMs += 1_000_000
  for (let n = 0; n < 300; n++) refuse(rig, `late-${n}`)
  rig.log.flush()
  assert.ok(rig.log.head().sequence >= 10_300, 'the quiet ones are forgotten')
})

interface Forgery {
  name: string
  forge: (texts: string[]) => string[]
  problem: RegExp
}

const at = (texts: string[], kind: AuditLineKind, place: number): number => {
  const places = texts.flatMap((text, index) => (kindOf(text) === kind ? [index] : []))
  return places.at(place)!
}
const without = (kind: AuditLineKind, place: number) => (texts: string[]) => texts.toSpliced(at(texts, kind, place), 1)

const FORGERIES: Forgery[] = [
  {
    name: 'a change left out among overwritten uses',
    forge: without('change', 3),
    problem: /the change before it: one was left out or replaced/,
  },
  {
    name: 'a refusal left out among overwritten uses',
    forge: without('refusal', 3),
    problem: /the refusal before it: one was left out or replaced/,
  },
  { name: 'a change left out among uses', forge: without('change', 8), problem: /^Missing: line \d+\.$/ },
  { name: 'a use left out', forge: without('use', 500), problem: /^Missing: line \d+\.$/ },
  { name: 'the oldest change left out', forge: without('change', 0), problem: /begins at line 302 for each change/ },
  {
    name: 'the oldest line left out',
    forge: (texts) => texts.slice(1),
    problem: /^Missing at the beginning: lines 301 to 301/,
  },
  { name: 'the oldest use left out', forge: without('use', 0), problem: /for each use|Missing/ },
  {
    name: 'every refusal left out',
    forge: (texts) => texts.filter((text) => kindOf(text) !== 'refusal'),
    problem: /Missing/,
  },
  {
    name: 'a change told as a refusal',
    forge: (texts) =>
      texts.map((text, index) => (index === at(texts, 'change', 3) ? text.replace('"change"', '"refusal"') : text)),
    problem: /was changed/,
  },
  {
    name: 'a ring said to begin later',
    forge: (texts) => {
      const { head } = JSON.parse(texts.at(-1)!) as { head: AuditHead }
      const rings = { ...head.rings!, change: { ...head.rings!.change, first: head.rings!.change.first + 302 } }
      return [...texts.slice(0, -1), JSON.stringify({ head: { ...head, rings } })]
    },
    problem: /signature of the head is wrong/,
  },
  {
    name: 'a head without its rings',
    forge: (texts) => {
      const { rings: _, ...head } = (JSON.parse(texts.at(-1)!) as { head: AuditHead }).head
      return [...texts.slice(0, -1), JSON.stringify({ head })]
    },
    problem: /signature of the head is wrong/,
  },
  {
    name: 'rings that are no rings',
    forge: (texts) => [...texts.slice(0, -1), texts.at(-1)!.replace('"change":{', '"other":{')],
    problem: /signature of the head is wrong/,
  },
]

test('what was overwritten hides no forgery', async (t) => {
  const texts = await worn(createAuditRig(t))
  for (const { name, forge, problem } of FORGERIES) {
    const { problems } = await verify(forge(texts))
    assert.ok(
      problems.some((found) => problem.test(found)),
      `${name}: ${problems.slice(0, 3)}`,
    )
  }
})

test('any one line left out is found', async (t) => {
  const texts = await worn(createAuditRig(t))
  for (let place = 0; place < texts.length - 1; place += 37)
    assert.ok((await verify(texts.toSpliced(place, 1))).problems.length > 0, texts[place])
})

test('a line that was noted and is overwritten is told, one that was replaced is found by the line behind it', async (t) => {
  const rig = createAuditRig(t)
  keepLines(rig.log, LINES)
  recordLines(rig.log, 1)
  await change(rig, 'behind')
  const [behind, noted] = (await rig.log.page({ limit: 2 })).lines
  recordLines(rig.log, 5)
  rig.log.flush()
  const other = rig.log.head()
  recordLines(rig.log, 3000)
  const texts = await exportTexts(rig.log)
  assert.equal(lineIn(texts[0]!).sequence, behind!.sequence)
  const known = new Map([[noted!.sequence, noted!.hash]])
  assert.deepEqual(await verify(texts, { known }).then(({ problems, notes }) => [problems, notes]), [[], []])
  const wrong = new Map([[noted!.sequence, other.hash]])
  assert.match((await verify(texts, { known: wrong })).problems.join(), /Line 1 is not the one that was noted/)
  const gone = new Map([[other.sequence, other.hash]])
  assert.deepEqual((await verify(texts, { known: gone })).problems, [])
  assert.match((await verify(texts, { known: gone })).notes.join(), /Line 7 was noted and has been overwritten/)
})

test('uses are refused instead of overwriting what was not exported, if so configured', async (t) => {
  const rig = createAuditRig(t)
  keepLines(rig.log, LINES)
  rig.log.configure({ ...rig.log.settings, refuseUses: true })
  const useUntilRefused = (): number => {
    for (let n = 0; ; n++) {
      try {
        rig.log.expectRoom()
      } catch (error) {
        assert.equal((error as { code: string }).code, 'busy')
        return n
      }
      recordLines(rig.log, 1, n)
      if (n % 100 === 0) rig.log.flush()
    }
  }
  assert.equal(useUntilRefused(), LINES)
  await change(rig, 'goes on')
  recordLines(rig.log, 500) // what was under way
  rig.reopen()
  assert.equal(rig.log.settings.refuseUses, true)
  assert.equal(useUntilRefused(), 0)
  const cut = rig.log.export()
  await cut.next()
  await cut.return(undefined)
  assert.equal(useUntilRefused(), 0, 'an export that was broken off does not count')
  const texts = await exportTexts(rig.log)
  assert.equal(texts.filter((text) => kindOf(text) === 'use').length, LINES + 500, 'what was under way is kept, too')
  assert.deepEqual((await verify(texts)).problems, [])
  assert.equal(lineIn((await exportTexts(rig.log))[0]!).sequence, 501, 'what an export has had may go')
  rig.reopen()
  assert.equal(useUntilRefused(), LINES)
  rig.log.configure({ ...rig.log.settings, refuseUses: false })
  rig.log.expectRoom()
  assert.deepEqual(await problemsOf(rig.log), [])
})

test('a log from before there were rings goes on, and changes alone overwrite it', async (t) => {
  const rig = createAuditRig(t, join(OLD, 'store.db'))
  assert.deepEqual(rig.errors, [])
  assert.equal(rig.log.settings.lines.change, 2000)
  const old = readFileSync(join(OLD, 'audit.jsonl'), 'utf8').trimEnd().split('\n')
  assert.deepEqual((await exportTexts(rig.log)).slice(0, -1), old.slice(0, -1))
  keepLines(rig.log, LINES)
  recordLines(rig.log, 3000)
  rig.log.flush()
  for (let n = 0; n < 5; n++) refuse(rig, 'lowest')
  await change(rig, 'new')
  const texts = await exportTexts(rig.log)
  assert.deepEqual(texts.slice(0, 300), old.slice(0, -1))
  assert.deepEqual((await verify(texts)).problems, [])
  for (const place of [0, 10, 299, 300, 700])
    assert.ok((await verify(texts.toSpliced(place, 1))).problems.length > 0, String(place))
  rig.reopen()
  for (let n = 0; n < 1300; n++) void change(rig, `more-${n}`)
  rig.log.flush()
  assert.equal((await readAll(rig.log)).sequences.length, LINES + LINES + 5)
  assert.deepEqual(await problemsOf(rig.log), [])
  assert.deepEqual(rig.errors, [])
})

test('a log from before there were rings whose state is lost goes on, too', async (t) => {
  const rig = createAuditRig(t, join(OLD, 'store.db'))
  rig.reopen((store) => void databaseOf(store).exec('DELETE FROM audit WHERE slot = 0'))
  assert.match(rig.errors.join(), /new lines continue after its last row/)
  await change(rig, 'new')
  recordLines(rig.log, 5)
  assert.deepEqual(await problemsOf(rig.log), [])
  assert.equal((await readAll(rig.log)).sequences.length, 306)
})

test('an export from before there were rings verifies as before', async () => {
  const old = readFileSync(join(OLD, 'audit.jsonl'), 'utf8').trimEnd().split('\n')
  const { problems, lines } = await verify(old)
  assert.deepEqual([problems, lines], [[], 300])
  assert.deepEqual((await verify(old.toSpliced(9, 1))).problems, ['Missing: line 10.'])
  assert.match((await verify(old.with(9, old[9]!.replace('192.0.2.1', '192.0.2.2')))).problems.join(), /was changed/)
})

test('the state of a damaged log is found again in all rings', async (t) => {
  const rig = createAuditRig(t)
  await worn(rig)
  const { rings, sequence, hash } = rig.log.head()
  rig.reopen((store) => void databaseOf(store).exec('DELETE FROM audit WHERE slot = 0'))
  assert.match(rig.errors.join(), /new lines continue after its last row/)
  keepLines(rig.log, LINES)
  const found = rig.log.head()
  assert.deepEqual([found.rings, found.sequence, found.hash], [rings, sequence, hash])
  assert.deepEqual(await problemsOf(rig.log), [])
})
