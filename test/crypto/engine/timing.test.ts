// @test long 30 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engine } from '../../../firmware/crypto/engine/select.ts'
import { subjects } from '../../../tools/ct/subjects.ts'
import { compareClasses, largestT, T_LIMIT } from '../../../tools/ct/welch.ts'

/** About normal, deviation 1. */
const noise = () => Array.from({ length: 12 }, Math.random).reduce((sum, x) => sum + x, -6)

function tOf(difference: number, samples: number, disturbance = 0): number {
  const classes = Uint8Array.from({ length: samples }, () => (Math.random() < 0.5 ? 0 : 1))
  const times = Float64Array.from(classes, (c) => 100 + noise() + c * difference)
  for (let i = 0; i < samples; i++) if (Math.random() < 0.02) times[i]! += disturbance * Math.random()
  return largestT(times, classes)
}

test('classes of equal times stay below the limit, a shift of a tenth of the deviation does not', () => {
  assert.ok(tOf(0, 50_000) < T_LIMIT)
  assert.ok(tOf(0.1, 50_000) > T_LIMIT)
})

test('rare long interruptions neither make a difference nor hide one', () => {
  assert.ok(tOf(0, 50_000, 1e5) < T_LIMIT)
  assert.ok(tOf(0.2, 50_000, 1e5) > T_LIMIT)
})

test('a processor whose speed changes hides no difference', () => {
  const classes = Uint8Array.from({ length: 20_000 }, () => (Math.random() < 0.5 ? 0 : 1))
  const times = Float64Array.from(classes, (c, i) => (1.25 + Math.sin(i / 500) / 4) * 1e5 + 300 * noise() + 100 * c)
  assert.ok(largestT(times, classes) > T_LIMIT)
})

test('says which differences it would have found', () => {
  const { t, findsNs, medianNs } = compareClasses(() => (1e4 + 100 * noise()) / 1e6, 20_000)
  assert.ok(t < T_LIMIT)
  assert.ok(findsNs >= 5 && findsNs <= 20, `${findsNs}`)
  assert.ok(Math.abs(medianNs - 1e4) < 10, `${medianNs}`)
})

test('leaks made on purpose are found with few samples', () => {
  // those of 30 and 100 ns take more samples than this, and a quiet machine: npm run ct
  const leaky = subjects(engine).filter(({ name, leaks }) => leaks && !name.includes('ns more'))
  assert.equal(leaky.length, 4)
  for (const { name, measure } of leaky) assert.ok(compareClasses(measure, 1000).t > T_LIMIT, name)
})

test('every subject runs', () => {
  const all = subjects(engine)
  assert.equal(new Set(all.map(({ name }) => name)).size, all.length)
  for (const { name, measure } of all) {
    for (const inputClass of [0, 1] as const) assert.ok(measure(inputClass) > 0, name)
  }
})
