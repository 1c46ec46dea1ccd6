import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { createClock, formatTime } from '../../firmware/base/clock.ts'

test('the clock is the system clock plus its offset, and runs on after it was set', () => {
  let systemMs = 1_000
  const clock = createClock(50, () => systemMs)
  assert.equal(clock.now(), 1_050)
  systemMs = 2_000
  clock.set(10_000)
  assert.equal(clock.now(), 10_000)
  assert.equal(clock.offsetMs, 8_000)
  systemMs = 2_001
  assert.equal(clock.now(), 10_001)
})

test('an offset carried over gives the same time as before', () => {
  const system = () => 123_456
  const clock = createClock(0, system)
  clock.set(-5)
  assert.equal(createClock(clock.offsetMs, system).now(), -5)
})

test('by default the clock is that of the system', () => {
  assert.ok(Math.abs(createClock().now() - Date.now()) < 1_000)
})

test('times are written to the second, in UTC', () => {
  assert.equal(formatTime(0), '1970-01-01T00:00:00Z')
  assert.equal(formatTime(Date.UTC(2030, 11, 31, 23, 59, 59, 999)), '2030-12-31T23:59:59Z')
})

test('a clock that runs past the last year of four digits still shows a time of that form', () => {
  for (const timeMs of [Date.UTC(9999, 11, 31, 23, 59, 59, 1), Date.UTC(10000, 0), 1e18]) {
    assert.equal(formatTime(timeMs), '9999-12-31T23:59:59Z')
  }
})

test('every time of four-digit years has the one form and reads back', () => {
  const secondsMax = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000
  fc.assert(
    fc.property(fc.integer({ min: 0, max: secondsMax }), (seconds) => {
      const text = formatTime(seconds * 1000)
      assert.match(text, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/)
      assert.equal(Date.parse(text), seconds * 1000)
    }),
  )
})
