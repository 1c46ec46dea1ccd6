/** Failed validations of names: never more than five in an hour, in any order of events, across restarts and jumps of the clock. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createBudget } from '../../firmware/acme/budget.ts'

const HOUR_MS = 3_600_000
const START_MS = Date.UTC(2026, 10, 28)

const mostInAnHour = (times: readonly number[]): number =>
  Math.max(0, ...times.map((from) => times.filter((time) => time >= from && time < from + HOUR_MS).length))

const event = fc.record({
  pauseMs: fc.integer({ min: 0, max: 40 * 60_000 }),
  names: fc.subarray(['a', 'b', 'c'], { minLength: 1 }),
  durationMs: fc.integer({ min: 0, max: 10 * 60_000 }),
  outcome: fc.constantFrom('invalid', 'invalid', 'invalid', 'valid', 'power cut'),
  after: fc.constantFrom('nothing', 'nothing', 'restart', 'clock put back'),
})

test('no more than five failures of a name in an hour', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 10, maxLength: 120 }), (events) => {
      let realMs = START_MS
      let offsetMs = 0
      const clock = { now: () => realMs + offsetMs, monotonicMs: () => realMs }
      let stored = {}
      let budget = createBudget(clock, stored)
      const failures = new Map<string, number[]>()
      for (const { pauseMs, names, durationMs, outcome, after } of events) {
        realMs += pauseMs
        realMs += budget.delayMs(names)
        budget.begin(names)
        stored = budget.failures()
        realMs += durationMs
        if (outcome !== 'valid') for (const name of names) failures.set(name, [...(failures.get(name) ?? []), realMs])
        if (outcome !== 'power cut') for (const name of names) budget.end(name, outcome === 'valid')
        if (outcome !== 'power cut') stored = budget.failures()
        if (after === 'clock put back') offsetMs -= 5 * HOUR_MS
        if (outcome === 'power cut' || after !== 'nothing') budget = createBudget(clock, stored)
      }
      for (const times of failures.values()) assert.ok(mostInAnHour(times) <= 5)
    }),
    { numRuns: 1000 },
  )
})

test('valid names are not delayed, and a name is free again an hour after its oldest failure', () => {
  let nowMs = 0
  const budget = createBudget({ now: () => START_MS + nowMs, monotonicMs: () => nowMs }, {})
  for (let tried = 0; tried < 50; tried++) {
    budget.begin(['good'])
    budget.end('good', true)
  }
  assert.equal(budget.delayMs(['good']), 0)
  for (let tried = 0; tried < 5; tried++) {
    budget.begin(['bad'])
    budget.end('bad', false)
    nowMs += 60_000
  }
  assert.equal(budget.delayMs(['bad']), 55 * 60_000)
  assert.equal(budget.delayMs(['good', 'bad']), 55 * 60_000)
  assert.equal(budget.delayMs(['good']), 0)
  nowMs += 55 * 60_000
  assert.equal(budget.delayMs(['bad']), 0)
  assert.deepEqual(budget.failures().bad!.length, 4)
})

test('a clock that was put back blocks a name for an hour at most', () => {
  const clock = { now: () => START_MS, monotonicMs: () => 0 }
  const later = Array.from({ length: 5 }, () => START_MS + 1000 * HOUR_MS)
  assert.equal(createBudget(clock, { a: later }).delayMs(['a']), HOUR_MS)
})

test('failures of more names than it can hold delay all others', () => {
  let nowMs = 0
  const budget = createBudget({ now: () => nowMs, monotonicMs: () => nowMs }, {})
  for (let name = 0; name < 1000; name++) {
    budget.begin([`${name}`])
    budget.end(`${name}`, false)
    nowMs++
  }
  assert.equal(budget.delayMs(['1']), 0)
  assert.equal(budget.delayMs(['new']), HOUR_MS - 1000)
  assert.equal(budget.delayMs(['new', 'newer']), HOUR_MS - 999)
})
