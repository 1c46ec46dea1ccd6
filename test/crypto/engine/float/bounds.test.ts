// @test long 30 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { add, canonical, doubleIf, subtract } from '../../../../firmware/crypto/engine/float/carry.ts'
import type { Products } from '../../../../firmware/crypto/engine/float/emitter.ts'
import { type Format, SIGNED, UNSIGNED } from '../../../../firmware/crypto/engine/float/format.ts'
import { LOW_MAGIC } from '../../../../firmware/crypto/engine/float/machine.ts'
import {
  type ColumnProducts,
  columnBiases,
  type Modulus,
  multiply,
  product,
  ROWS,
  range,
  reduceWide,
  square,
} from '../../../../firmware/crypto/engine/float/montgomery.ts'
import { Checker, type Interval, number } from './checker.ts'

/**
 * Bounds of the input and output of every operation: limbs around zero, slightly more than a digit, or digits from zero up,
 * and a small last one.
 */
const limbOf = ({ isSigned }: Format): Interval =>
  isSigned ? number(-(2n ** 50n) - 2n ** 12n, 2n ** 50n + 2n ** 12n) : number(0n, 2n ** 52n - 1n)
const lastLimbOf = ({ isSigned }: Format): Interval => number(isSigned ? -(2n ** 48n) : 0n, 2n ** 48n)

const [A, B, RESULT, WIDE] = [20_000, 21_000, 22_000, 23_000]

function prepare(
  format: Format,
  limbs: number,
  digits = ROWS,
  products: Products = 'fused',
  limb = limbOf(format),
): { m: Checker; n: Modulus<number> } {
  const m = new Checker(format, products)
  const place = (at: number, count: number): number => {
    for (let k = 0; k < count; k++) m.store(at, k, k === limbs - 1 ? lastLimbOf(format) : limb)
    return at
  }
  const biases = (at: number, kind: ColumnProducts): number => {
    for (const [k, bias] of columnBiases(format, limbs, digits, kind).entries()) m.store(at, k, m.constant(bias))
    return at
  }
  place(A, limbs)
  place(B, limbs)
  for (let k = 0; k < 2 * limbs; k++) m.store(WIDE, k, limb)
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
    const bound = k === limbs - 1 ? lastLimbOf(m.format) : limbOf(m.format)
    assert.equal(kind, 'number')
    assert.ok(low >= bound.low && high <= bound.high, `limb ${k} of ${limbs} is between ${low} and ${high}`)
  }
}

const OPERATIONS: Readonly<Record<string, (m: Checker, n: Modulus<number>) => void>> = {
  square: (m, n) => square(m, n, RESULT, A),
  multiply: (m, n) => multiply(m, n, RESULT, A, B),
  reduce: (m, n) => reduceWide(m, n, RESULT, WIDE),
  add: (m, n) => add(m, n.limbs, RESULT, A, B),
  subtract: (m, n) => subtract(m, n.limbs, RESULT, A, B, n.modulus),
  double: (m, n) => {
    for (const k of range(n.limbs)) m.store(RESULT, k, m.load(A, k))
    doubleIf(m, n.limbs, RESULT, { kind: 'bits', low: -1n, high: 0n })
  },
  'product without reduction': (m, n) => {
    product(m, n, WIDE, A, B, A)
    for (const k of range(n.limbs)) m.store(RESULT, k, m.load(WIDE, n.limbs + k))
  },
  'take the canonical number': (m, n) => canonical(m, n.limbs, RESULT, A, n.modulus),
}

const FORMATS = [
  { title: 'around zero', format: SIGNED, products: 'fused' },
  { title: 'around zero, exact', format: SIGNED, products: 'exact' },
  { title: 'from zero up', format: UNSIGNED, products: 'fused' },
] as const

for (const [name, operation] of Object.entries(OPERATIONS)) {
  for (const { title, format, products } of FORMATS) {
    test(`no limb and no column can overflow: ${name}, limbs ${title}, 5 to 81 of them, and 161`, () => {
      for (const limbs of [...range(77).map((i) => i + 5), 161]) {
        for (const digits of limbs <= 12 ? [2, 3, 4] : [2, 4]) {
          const { m, n } = prepare(format, limbs, digits, products)
          operation(m, n)
          assertLimbs(m, limbs)
        }
      }
    })
  }
}

test('the checker sees what is wrong: limbs too large, a missing bias, an unread column', () => {
  const large = prepare(SIGNED, 21, ROWS, 'fused', number(-(2n ** 51n), 2n ** 51n))
  assert.throws(() => square(large.m, large.n, RESULT, A), /a product that is too large/)
  for (const limb of [number(0n, 2n ** 52n), number(-1n, 2n ** 52n - 1n)]) {
    const wrong = prepare(UNSIGNED, 21, ROWS, 'fused', limb)
    assert.throws(() => multiply(wrong.m, wrong.n, RESULT, A, B), /a product that is too large/)
  }
  for (const format of [SIGNED, UNSIGNED]) {
    const biased = prepare(format, 21)
    const bias = biased.m.load(biased.n.squareBiases, 9)
    biased.m.store(biased.n.squareBiases, 9, biased.m.add(bias, biased.m.constant(LOW_MAGIC)))
    assert.throws(() => square(biased.m, biased.n, RESULT, A), RangeError)
    const unread = prepare(format, 21)
    unread.m.memory.delete(unread.n.squareBiases + 3)
    assert.throws(() => square(unread.m, unread.n, RESULT, A), /never written/)
  }
})

test('a multiplication costs two products for each pair of limbs, a square about half of one less', () => {
  for (const format of [SIGNED, UNSIGNED]) {
    const { m, n } = prepare(format, 21)
    multiply(m, n, RESULT, A, B)
    const extra = (ROWS * (ROWS + 1)) / 2 // the last digits
    assert.equal(m.splits, 2 * 21 * 21 + extra)
    m.splits = 0
    square(m, n, RESULT, A)
    assert.equal(m.splits, 21 * 21 + (21 * 22) / 2 + extra)
  }
})
