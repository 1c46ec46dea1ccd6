/** Bounds of times, and of what another directory inherits. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBudget } from '../../firmware/acme/budget.ts'
import { renewAt, retryAt } from '../../firmware/acme/schedule.ts'
import { changeAcme, DEFAULT_ACME } from '../../firmware/acme/settings.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const START_MS = Date.UTC(2026, 10, 28)

test('validations whose end is never told block a name for an hour after their latest end', () => {
  let nowMs = 0
  const budget = createBudget({ now: () => START_MS + nowMs, monotonicMs: () => nowMs }, {})
  for (let tries = 0; tries < 5; tries++) budget.begin(['a'])
  assert.equal(budget.delayMs(['a']), 70 * MINUTE_MS)
  nowMs += 70 * MINUTE_MS
  assert.equal(budget.delayMs(['a']), 0)
})

test('a renewal is due before the last tenth of the life, and ten minutes after the last one at the earliest', () => {
  const life = (ms: number) => ({ notBeforeMs: START_MS, notAfterMs: START_MS + ms })
  const late = [START_MS + 200 * DAY_MS, START_MS + 300 * DAY_MS] as const
  const past = [START_MS - 2 * DAY_MS, START_MS - DAY_MS] as const
  assert.equal(renewAt(life(90 * DAY_MS), late, 0.5, START_MS) - START_MS, 81 * DAY_MS)
  assert.equal(renewAt(life(8 * MINUTE_MS), past, 0.5, START_MS) - START_MS, 10 * MINUTE_MS)
  assert.equal(renewAt(life(8 * MINUTE_MS), null, 0.5, START_MS) - START_MS, 10 * MINUTE_MS)
})

test('a pause is a tenth of what is left at most, and an hour after the end', () => {
  const pause = (leftMs: number, failures = 8) =>
    retryAt({ failures, notAfterMs: START_MS + leftMs }, START_MS, 0) - START_MS
  assert.equal(pause(90 * DAY_MS), 12 * HOUR_MS)
  assert.equal(pause(10 * HOUR_MS), HOUR_MS)
  assert.equal(pause(1000), MINUTE_MS)
  assert.equal(pause(90 * DAY_MS, 1), MINUTE_MS)
  assert.equal(pause(-1), HOUR_MS)
})

test('another directory inherits neither the agreement to terms nor the external account', () => {
  const eab = { kid: 'k', key: 'c2VjcmV0' }
  const first = changeAcme(DEFAULT_ACME, { directory: 'https://first.test/', termsAgreed: true, eab })
  const same = changeAcme(first, { directory: 'https://first.test/', eab: { kid: 'k' } })
  assert.deepEqual([same.termsAgreed, same.eab], [true, eab])
  const directory = 'https://second.test/'
  const second = changeAcme(first, { directory })
  assert.deepEqual([second.termsAgreed, second.eab], [false, null])
  assert.throws(() => changeAcme(first, { directory, eab: { kid: 'k' } }), { code: 'invalid' })
  const named = changeAcme(first, { directory, termsAgreed: true, eab })
  assert.deepEqual([named.termsAgreed, named.eab], [true, eab])
})

test('failures between two milliseconds count for the whole hour after a restart', () => {
  let nowMs = 0.4
  const clock = { now: () => START_MS + nowMs, monotonicMs: () => nowMs }
  const budget = createBudget(clock, {})
  for (let tries = 0; tries < 5; tries++) {
    budget.begin(['a'])
    budget.end('a', false)
  }
  const restored = createBudget(clock, budget.failures())
  nowMs = HOUR_MS + 0.2
  assert.ok(restored.delayMs(['a']) > 0)
})
