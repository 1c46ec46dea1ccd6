/** When certificates are ordered: pauses after failures, and renewals. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { askAgainAt, renewAt, retryAt } from '../../firmware/acme/schedule.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START_MS = Date.UTC(2026, 10, 28)

test('pauses grow from a minute to half a day, and the CA may ask for a day', () => {
  const pauses = (fraction: number) =>
    Array.from(
      { length: 8 },
      (_, failures) => (retryAt({ failures: failures + 1 }, START_MS, fraction) - START_MS) / 60_000,
    )
  assert.deepEqual(pauses(0), [1, 15, 60, 180, 360, 720, 720, 720])
  assert.deepEqual(pauses(1), [1.25, 18.75, 75, 225, 450, 900, 900, 900])
  assert.equal(retryAt({ failures: 1, retryAfterMs: 2 * HOUR_MS }, START_MS, 0) - START_MS, 2 * HOUR_MS)
  assert.equal(retryAt({ failures: 1, retryAfterMs: 90 * DAY_MS }, START_MS, 0) - START_MS, DAY_MS)
})

test('a renewal is due after two thirds of the life, half of a short one, or in the window of the CA', () => {
  const life = (days: number) => ({ notBeforeMs: START_MS, notAfterMs: START_MS + days * DAY_MS })
  const days = (ms: number) => (ms - START_MS) / DAY_MS
  const past = [START_MS - 2 * DAY_MS, START_MS - DAY_MS] as const
  const yearAgoMs = START_MS - 365 * DAY_MS
  assert.equal(days(renewAt(life(90), null, 0, yearAgoMs)), 60)
  assert.equal(days(renewAt(life(90), null, 1, yearAgoMs)), 54)
  assert.equal(days(renewAt(life(6), null, 0, yearAgoMs)), 3)
  assert.equal(days(renewAt(life(90), past, 0.5, yearAgoMs)), -1.5)
})

test('a window in the past does not order without end', () => {
  const life = (hours: number) => ({ notBeforeMs: START_MS, notAfterMs: START_MS + hours * HOUR_MS })
  const past = [START_MS - 2 * DAY_MS, START_MS - DAY_MS] as const
  assert.equal(renewAt(life(2000), past, 0.5, START_MS) - START_MS, HOUR_MS)
  assert.equal(renewAt(life(1), past, 0.5, START_MS) - START_MS, HOUR_MS / 4)
})

test('renewal information is asked for again after an hour at least, and a day at most', () => {
  const after = (retryAfterMs: number | undefined) => askAgainAt(START_MS, retryAfterMs) - START_MS
  assert.deepEqual([0, undefined, 2 * HOUR_MS, 9 * DAY_MS].map(after), [HOUR_MS, 6 * HOUR_MS, 2 * HOUR_MS, DAY_MS])
})
