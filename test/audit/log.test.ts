/** The audit log itself: chain, groups, bounds, pages, and what is left after damage. Contract section 7.6. */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import test from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { LINES_DEFAULT } from '../../firmware/audit/audit-log.ts'
import { BLOCK_LINES_MAX } from '../../firmware/audit/blocks.ts'
import { databaseOf } from '../../firmware/store/sqlite/file.ts'
import { MIGRATIONS } from '../../firmware/store/sqlite/schema.ts'
import type { StoreFile } from '../../firmware/store/store.ts'
import { putOldRows } from '../store/old-rows.ts'
import { createStoreRig, text, utf8 } from '../store/rig.ts'
import { createAuditRig, event, exportTexts, keepLines, problemsOf, readAll, recordLines, verify } from './rig.ts'

// A group of lines waits so long at least and at most: firmware/audit/flush-timer.ts.
const [GROUP_MS_MIN, GROUP_MS_MAX] = [400, 1000]

const rows = (store: StoreFile): number[] =>
  databaseOf(store).prepare<[], number>('SELECT slot FROM audit WHERE slot > 0 ORDER BY slot').pluck().all()

test('lines come back newest first, numbered from 1, with the hash of each in the next', async (t) => {
  const { log } = createAuditRig(t)
  recordLines(log, 3)
  const { lines, next, head } = await log.page({ limit: 10 })
  assert.deepEqual(
    lines.map(({ sequence, key }) => [sequence, key]),
    [
      [3, 'key-3'],
      [2, 'key-2'],
      [1, 'key-1'],
    ],
  )
  assert.equal(next, undefined)
  assert.equal(lines[0]!.previous, lines[1]!.hash)
  assert.equal(lines[2]!.previous, '0'.repeat(64))
  assert.equal(head.hash, lines[0]!.hash)
  assert.deepEqual([head.first, head.sequence], [1, 3])
  const { previous, previousOfKind, hash, sequence, kind, ...rest } = lines[0]!
  assert.deepEqual([previousOfKind, kind], [previous, 'use'])
  assert.deepEqual(rest, event({ key: 'key-3' }))
})

test('the hash of a line is the one that is written down', async (t) => {
  const { log } = createAuditRig(t)
  recordLines(log, 1)
  const [line] = (await log.page({ limit: 1 })).lines
  // printf of 64 zero bytes and the JSON text, through sha256sum
  assert.equal(line!.hash, 'ba21023f226da2dc264b2c2a275fbe403f3a6e7c9ad12df64898f449aa66c3e6')
})

test('many lines share a row, and survive closing', async (t) => {
  const rig = createAuditRig(t)
  recordLines(rig.log, 3 * BLOCK_LINES_MAX + 5)
  rig.log.flush()
  assert.deepEqual(rows(rig.store), [1, 1 + BLOCK_LINES_MAX, 1 + 2 * BLOCK_LINES_MAX, 1 + 3 * BLOCK_LINES_MAX])
  assert.equal(rig.store.writes, 1)
  recordLines(rig.log, 2, 3 * BLOCK_LINES_MAX + 6)
  rig.reopen()
  recordLines(rig.log, 1, 3 * BLOCK_LINES_MAX + 8)
  const count = 3 * BLOCK_LINES_MAX + 8
  const { sequences } = await readAll(rig.log)
  assert.deepEqual(
    sequences,
    Array.from({ length: count }, (_, index) => count - index),
  )
  assert.deepEqual(await problemsOf(rig.log), [])
  assert.deepEqual(rig.errors, [])
})

test('a line that must be on disk takes those before it along, and waits; others wait for the group', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { store, log } = createAuditRig(t)
  recordLines(log, 5)
  assert.equal(store.writes, 0)
  const all = Promise.all([log.record(event(), 'change'), log.record(event(), 'change')])
  assert.equal(store.writes, 0)
  await all
  assert.equal(store.writes, 1, 'what arrives together is committed together')
  assert.deepEqual(rows(store), [1, 6], 'a row for each kind')
  recordLines(log, 5)
  t.mock.timers.tick(GROUP_MS_MIN - 1)
  await turn()
  assert.equal(store.writes, 1)
  t.mock.timers.tick(GROUP_MS_MAX - GROUP_MS_MIN + 1)
  assert.equal(store.writes, 2)
  assert.deepEqual(rows(store), [1, 6, 8])
})

test('a full group is written at once, and synced within a second', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const rig = createAuditRig(t)
  recordLines(rig.log, 200)
  await turn()
  assert.deepEqual([rig.synced, rows(rig.store)], [[false], [1]])
  t.mock.timers.tick(GROUP_MS_MAX)
  assert.deepEqual(rig.synced, [false, true])
  t.mock.timers.tick(GROUP_MS_MAX)
  assert.equal(rig.synced.length, 2, 'then it rests')
  recordLines(rig.log, 200)
  await rig.log.record(event(), 'change')
  assert.deepEqual(rig.synced.slice(2), [true], 'a line that waits for the disk takes all along')
  assert.equal(databaseOf(rig.store).pragma('synchronous', { simple: true }), 2)
  assert.deepEqual(await problemsOf(rig.log), [])
})

test('nothing of a line is in the file', async (t) => {
  const rig = createAuditRig(t)
  await rig.log.record(event({ user: 'needle-in-a-haystack' }), 'change')
  rig.store.checkpoint()
  assert.equal(readFileSync(rig.path).includes('needle-in-a-haystack'), false)
})

test('keeps the configured number of lines, verifiable across the cut', async (t) => {
  const rig = createAuditRig(t)
  assert.equal(rig.log.settings.lines.use, LINES_DEFAULT)
  keepLines(rig.log, 1000)
  for (let n = 0; n < 50; n++) {
    recordLines(rig.log, 100)
    rig.log.flush()
    assert.ok(rows(rig.store).length <= 10, 'rows are removed while lines are added')
  }
  assert.deepEqual((await readAll(rig.log)).sequences.toSorted((a, b) => a - b)[0], 4001)
  assert.equal((await readAll(rig.log)).sequences.length, 1000)
  const texts = await exportTexts(rig.log)
  assert.equal(texts.length, 1001)
  const { problems, head, lines } = await verify(texts)
  assert.deepEqual(problems, [])
  assert.deepEqual([head!.first, head!.sequence, lines], [4001, 5000, 1000])
  rig.reopen()
  assert.equal(rig.log.settings.lines.use, 1000)
  assert.deepEqual(await problemsOf(rig.log), [])
})

test('a smaller limit takes effect at once for readers, and bit by bit on disk', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const rig = createAuditRig(t)
  rig.store.transaction(() => {
    for (let n = 0; n < 5200; n++) {
      recordLines(rig.log, 1)
      rig.log.flush()
    }
  })
  assert.equal(rows(rig.store).length, 5200)
  keepLines(rig.log, 1000)
  assert.equal((await readAll(rig.log)).sequences.length, 1000)
  assert.ok(rows(rig.store).length > 1000)
  for (let groups = 0; groups < 100 && rows(rig.store).length > 1000; groups++) t.mock.timers.tick(GROUP_MS_MAX)
  assert.equal(rows(rig.store).length, 1000)
  const { writes } = rig.store
  t.mock.timers.tick(GROUP_MS_MAX)
  assert.equal(rig.store.writes, writes, 'then it rests')
  assert.deepEqual(await problemsOf(rig.log), [])
})

test('pages of any size show every line once, in order, while lines are added', async (t) => {
  const { log } = createAuditRig(t)
  for (const size of [1, 300, 7, 256, 1, 1]) {
    recordLines(log, size)
    log.flush()
  }
  for (const limit of [7, 255, 256, 257, 1000]) {
    const first = await log.page({ limit })
    const total = first.head.sequence
    recordLines(log, 3)
    const sequences = first.lines.map(({ sequence }) => sequence)
    let { next } = first
    while (next !== undefined) {
      const page = await log.page({ limit, before: next })
      assert.ok(page.lines.length <= limit)
      sequences.push(...page.lines.map(({ sequence }) => sequence))
      next = page.next
    }
    assert.deepEqual(
      sequences,
      Array.from({ length: total }, (_, index) => total - index),
    )
  }
})

test('filters by user, part of the action, key, and time', async (t) => {
  const { log } = createAuditRig(t)
  const times = ['2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z', '2030-01-03T00:00:00Z']
  for (const time of times) void log.record(event({ time, user: `user-${time.slice(8, 10)}` }), 'use')
  void log.record(event({ action: 'DELETE /keys/{id}', key: 'other', time: times[2]! }), 'use')
  const found = async (query: object) => (await log.page({ limit: 10, ...query })).lines.map(({ sequence }) => sequence)
  assert.deepEqual(await found({ user: 'user-02' }), [2])
  assert.deepEqual(await found({ action: '/sign' }), [3, 2, 1])
  assert.deepEqual(await found({ action: 'DELETE /keys' }), [4])
  assert.deepEqual(await found({ key: 'other' }), [4])
  assert.deepEqual(await found({ key: 'oth' }), [])
  assert.deepEqual(await found({ from: times[1] }), [4, 3, 2])
  assert.deepEqual(await found({ to: times[1] }), [2, 1])
  assert.deepEqual(await found({ from: times[1], to: times[1], key: 'key' }), [2])
})

test('a search that finds little is answered in bounded steps, and others get their turn', async (t) => {
  const { log } = createAuditRig(t)
  for (let n = 0; n < 10; n++) {
    recordLines(log, 3000)
    log.flush()
  }
  await log.record(event({ key: 'rare' }), 'change')
  recordLines(log, 20_000)
  log.flush()
  let turns = 0
  const counting = setInterval(() => turns++, 1)
  const first = await log.page({ limit: 10, key: 'rare' })
  clearInterval(counting)
  assert.deepEqual(first.lines, [])
  assert.ok(first.next! > 30_000 && first.next! < 50_000, String(first.next))
  assert.ok(turns >= 2, `${turns} turns`)
  const { sequences, pages } = await readAll(log, { key: 'rare' })
  assert.deepEqual(sequences, [30_001])
  assert.ok(pages >= 5, `${pages} pages`)
})

test('an export goes on while lines are added and old ones removed', async (t) => {
  const { log } = createAuditRig(t)
  keepLines(log, 1000)
  recordLines(log, 1500)
  log.flush()
  const texts: string[] = []
  for await (const chunk of log.export()) {
    texts.push(...new TextDecoder().decode(chunk).trimEnd().split('\n'))
    recordLines(log, 50)
    log.flush()
  }
  const { problems, lines } = await verify(texts)
  assert.deepEqual(problems, [])
  assert.equal(lines, 1000)
})

test('an export that is overtaken by the removal of lines breaks off', async (t) => {
  const { log } = createAuditRig(t)
  keepLines(log, 1000)
  recordLines(log, 1000)
  log.flush()
  const chunks = log.export()
  await chunks.next()
  recordLines(log, 4000)
  log.flush()
  await assert.rejects(async () => {
    for (;;) if ((await chunks.next()).done) return
  }, /removed while being read/)
})

test('clients nobody knows cannot fill the log; what is left out is counted', async (t) => {
  const rig = createAuditRig(t)
  const refused = event({ user: 'stranger', result: 401 })
  for (let n = 0; n < 1000; n++) void rig.log.record(refused, 'refusal')
  assert.equal((await readAll(rig.log, { user: 'stranger' })).sequences.length, 100)
  await rig.log.record(event({ user: 'known' }), 'use')
  assert.equal((await rig.log.page({ limit: 1 })).lines[0]!.skipped, 900)
  rig.nowMs += 20_000
  for (let n = 0; n < 10; n++) void rig.log.record(refused, 'refusal')
  assert.equal((await readAll(rig.log, { user: 'stranger' })).sequences.length, 102)
  assert.deepEqual(await problemsOf(rig.log), [])
})

test('a full disk: lines that must be on disk fail and wait, keys cannot be used once too many wait', async (t) => {
  const rig = createAuditRig(t)
  await rig.log.record(event({ key: 'before' }), 'change')
  rig.full = true
  await assert.rejects(rig.log.record(event({ key: 'during' }), 'change')!, /disk is full/)
  rig.log.expectRoom()
  recordLines(rig.log, 10_000)
  assert.throws(() => rig.log.expectRoom(), /audit log cannot be written/)
  void rig.log.record(event({ key: 'refused', result: 403 }), 'refusal')
  assert.equal((await rig.log.page({ limit: 10 })).lines.length, 1, 'what is on disk can still be read')
  assert.deepEqual(rig.errors, ['[1] cannot write the audit log'])
  rig.full = false
  await rig.log.record(event({ key: 'after' }), 'change')
  rig.log.expectRoom()
  const [last] = (await rig.log.page({ limit: 1 })).lines
  assert.deepEqual([last!.sequence, last!.key, last!.skipped], [10_003, 'after', 1])
  assert.deepEqual((await readAll(rig.log, { key: 'during' })).sequences, [2])
  assert.deepEqual(await problemsOf(rig.log), [])
})

test('what waits for a full disk is written by itself once there is room', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const rig = createAuditRig(t)
  rig.full = true
  recordLines(rig.log, 3)
  t.mock.timers.tick(GROUP_MS_MAX)
  assert.equal(rig.errors.length, 1)
  rig.full = false
  t.mock.timers.tick(GROUP_MS_MAX)
  assert.deepEqual(rows(rig.store), [1])
})

test('a head for a log server is signed once, and again behind further lines', (t) => {
  const rig = createAuditRig(t)
  const { forwarding } = rig.log
  recordLines(rig.log, 2)
  rig.log.flush()
  const head = forwarding.head()
  assert.equal(head.sequence, 2)
  assert.equal(forwarding.head(), head)
  recordLines(rig.log, 1, 3)
  assert.equal(forwarding.head(), head, 'a power cut may take the third')
  rig.log.flush()
  assert.equal(forwarding.head().sequence, 3)
  rig.log.close()
  assert.throws(() => forwarding.head(), /not available/)
})

test('after closing nothing is written, and reading fails', async (t) => {
  const { store, log } = createAuditRig(t)
  recordLines(log, 1)
  log.close()
  assert.deepEqual(rows(store), [1])
  await log.record(event(), 'change')
  assert.deepEqual(rows(store), [1])
  await assert.rejects(log.page({ limit: 1 }), /not available/)
  assert.throws(() => log.export(), /not available/)
})

test('a store of the version before gets an audit log and keeps its records', async (t) => {
  const rig = createStoreRig(t)
  const old = rig.open({ migrations: MIGRATIONS.slice(0, 1) })
  putOldRows(old, [{ collection: 'keys', name: 'n', value: utf8('v') }])
  old.close()
  const store = rig.open()
  assert.equal(text(rig.vault(store).get('keys', 'n')), 'v')
  assert.deepEqual(rows(store), [])
})
