import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  addRun,
  difference,
  gaps,
  hasOrdinal,
  lowerBound,
  runsOf,
  union,
} from '../../../../firmware/chat/realm/model/runs.ts'

const ORDINAL = fc.integer({ min: 1, max: 40 })
const SET = fc.uniqueArray(ORDINAL).map((ordinals) => ordinals.sort((a, b) => a - b))
const ordinalsIn = (runs: readonly (readonly [number, number])[]): number[] =>
  runs.flatMap(([from, to]) => Array.from({ length: to - from + 1 }, (_, at) => from + at))

test('runs are sets: union, difference, gaps and membership agree with those of sets', () => {
  fc.assert(
    fc.property(SET, SET, (one, other) => {
      const [a, b] = [runsOf(one), runsOf(other)]
      const [first, second] = [new Set(one), new Set(other)]
      assert.deepEqual(ordinalsIn(a), one)
      assert.deepEqual(union(a, b), runsOf([...first.union(second)].sort((x, y) => x - y)))
      assert.deepEqual(difference(a, b), runsOf(one.filter((ordinal) => !second.has(ordinal))))
      for (let ordinal = 0; ordinal <= 41; ordinal++) {
        assert.equal(hasOrdinal(a, ordinal), first.has(ordinal))
        assert.equal(lowerBound(one, ordinal), one.filter((each) => each < ordinal).length)
      }
    }),
  )
})

test('a run is added, and gaps are found, wherever they begin and end', () => {
  fc.assert(
    fc.property(SET, ORDINAL, ORDINAL, (ordinals, x, y) => {
      const [from, to] = [Math.min(x, y), Math.max(x, y)]
      const range = ordinalsIn([[from, to]])
      assert.deepEqual(addRun(runsOf(ordinals), from, to), union(runsOf(ordinals), [[from, to]]))
      assert.deepEqual(
        ordinalsIn(gaps(runsOf(ordinals), from, to)),
        range.filter((each) => !ordinals.includes(each)),
      )
    }),
  )
})
