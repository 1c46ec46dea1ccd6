import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Products } from '../../../firmware/crypto/engine/fast/emitter.ts'
import { LOW_MAGIC } from '../../../firmware/crypto/engine/fast/machine.ts'
import {
  type ColumnProducts,
  canonical,
  columnBiases,
  combine,
  doubleIf,
  type Modulus,
  multiply,
  product,
  ROWS,
  range,
  reduceWide,
  square,
} from '../../../firmware/crypto/engine/fast/montgomery.ts'
import { Checker, type Interval, number } from './checker.ts'

/** What every operation may be given, and must leave: limbs around zero, slightly more than a digit, and a small last one. */
const LIMB = number(-(2n ** 50n) - 2n ** 12n, 2n ** 50n + 2n ** 12n)
const LAST_LIMB = number(-(2n ** 48n), 2n ** 48n)

const [A, B, RESULT, WIDE] = [20_000, 21_000, 22_000, 23_000]

function prepare(
  limbs: number,
  digits = ROWS,
  limb: Interval = LIMB,
  products: Products = 'fused',
): { m: Checker; n: Modulus<number> } {
  const m = new Checker(products)
  const place = (at: number, count: number): number => {
    for (let k = 0; k < count; k++) m.store(at, k, k === limbs - 1 ? LAST_LIMB : limb)
    return at
  }
  const biases = (at: number, kind: ColumnProducts): number => {
    for (const [k, bias] of columnBiases(limbs, digits, kind).entries()) m.store(at, k, m.constant(bias))
    return at
  }
  place(A, limbs)
  place(B, limbs)
  for (let k = 0; k < 2 * limbs; k++) m.store(WIDE, k, LIMB)
  return {
    m,
    n: {
      limbs,
      digits,
      modulus: place(0, limbs),
      scaled: place(1000, limbs),
      inverse: place(2000, digits),
      columns: 3000,
      squareBiases: biases(5000, 'square'),
      multiplyBiases: biases(7000, 'multiply'),
      productBiases: biases(11_000, 'product'),
      wideBiases: biases(9000, 'none'),
    },
  }
}

function assertLimbs(m: Checker, limbs: number): void {
  for (let k = 0; k < limbs; k++) {
    const { kind, low, high } = m.load(RESULT, k)
    const bound = k === limbs - 1 ? LAST_LIMB : LIMB
    assert.equal(kind, 'number')
    assert.ok(low >= bound.low && high <= bound.high, `limb ${k} of ${limbs} is between ${low} and ${high}`)
  }
}

const OPERATIONS: Readonly<Record<string, (m: Checker, n: Modulus<number>) => void>> = {
  square: (m, n) => square(m, n, RESULT, A),
  multiply: (m, n) => multiply(m, n, RESULT, A, B),
  reduce: (m, n) => reduceWide(m, n, RESULT, WIDE),
  add: (m, n) => combine(m, n.limbs, 1, RESULT, A, B),
  subtract: (m, n) => combine(m, n.limbs, -1, RESULT, A, B),
  double: (m, n) => {
    for (const k of range(n.limbs)) m.store(RESULT, k, m.load(A, k))
    doubleIf(m, n.limbs, RESULT, { kind: 'bits', low: -1n, high: 0n })
  },
  'product without reduction': (m, n) => {
    product(m, n, WIDE, A, B)
    for (const k of range(n.limbs)) m.store(RESULT, k, m.load(WIDE, n.limbs + k))
  },
  'take the canonical number': (m, n) => canonical(m, n, RESULT, A),
}

for (const [name, operation] of Object.entries(OPERATIONS)) {
  test(`no limb and no column can overflow: ${name}, 5 to 81 limbs, and 161`, () => {
    for (const limbs of [...range(77).map((i) => i + 5), 161]) {
      for (const digits of limbs <= 12 ? [2, 3, 4] : [2, 4]) {
        for (const products of ['fused', 'exact'] as const) {
          const { m, n } = prepare(limbs, digits, LIMB, products)
          operation(m, n)
          assertLimbs(m, limbs)
        }
      }
    }
  })
}

test('the checker sees what is wrong: limbs too large for a square, a missing bias, an unread column', () => {
  const large = prepare(21, ROWS, number(-(2n ** 51n), 2n ** 51n))
  assert.throws(() => square(large.m, large.n, RESULT, A), /a product of 2\^102/)
  const biased = prepare(21)
  const bias = biased.m.load(biased.n.squareBiases, 9)
  biased.m.store(biased.n.squareBiases, 9, biased.m.add(bias, biased.m.constant(LOW_MAGIC)))
  assert.throws(() => square(biased.m, biased.n, RESULT, A), RangeError)
  const unread = prepare(21)
  unread.m.memory.delete(unread.n.squareBiases + 3)
  assert.throws(() => square(unread.m, unread.n, RESULT, A), /never written/)
})

test('a multiplication costs two products for each pair of limbs, a square about half of one less', () => {
  const { m, n } = prepare(21)
  multiply(m, n, RESULT, A, B)
  const extra = (ROWS * (ROWS + 1)) / 2 // the last digits
  assert.equal(m.splits, 2 * 21 * 21 + extra)
  m.splits = 0
  square(m, n, RESULT, A)
  assert.equal(m.splits, 21 * 21 + (21 * 22) / 2 + extra)
})
