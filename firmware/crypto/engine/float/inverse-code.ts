/**
 * Inverses modulo the moduli of both lanes at once, by division steps: Bernstein, Yang, "Fast constant-time gcd computation and
 * modular inversion" (2019). A round has as many steps as a limb has bits. Its steps need only the last limbs and yield a matrix,
 * with which the complete numbers are then multiplied.
 */

import {
  type Callee,
  type Code,
  f64x2,
  i32,
  i32x4,
  i64x2,
  type Local,
  memoryCopy,
  memoryFill,
  repeatWhile,
  v128,
} from '../wasm.ts'
import { carry, lastLift, lift, toNumber } from './carry.ts'
import type { CodeAddress } from './emitter.ts'
import type { FieldCode, Layout } from './field-code.ts'
import { SIGNED } from './format.ts'
import { type FloatMachine, LIMB_BYTES, LOW_MAGIC } from './machine.ts'
import { columnBias, range } from './montgomery.ts'

export const STEPS = Number(SIGNED.radix)
const STEPS_UNROLLED = 3

/** Room for f, g, d, e, the four entries of the matrix, and -delta. */
export const inverseLimbs = (limbs: number): number => 4 * limbs + 5

/**
 * `inverse(to, a)` writes 1/a in Montgomery form, or zero for zero. `a` is in Montgomery form and below `OPERAND_MAX` times the
 * modulus, which holds for the Z of a point: a sum of two results of multiplication. Moduli have at most `bits` bits and no
 * factor in common with a. For operands above the modulus, formulas.test.ts proves for each modulus that the steps of `roundsFor`
 * suffice; the 512-bit curve has none to spare.
 * The result is below 32 times the modulus: use it only as an operand of a multiplication.
 */
export function defineInverse(code: FieldCode, layout: Layout, first: number, bits: number): Callee {
  const { module, limbs, emitter } = code
  const bytes = limbs * LIMB_BYTES
  const place = (limb: number): CodeAddress => ({ base: 0, bytes: limb * LIMB_BYTES })
  const [f, g, d, e] = range(4).map((i) => place(first + i * limbs)) as [
    CodeAddress,
    CodeAddress,
    CodeAddress,
    CodeAddress,
  ]
  const matrix = place(first + 4 * limbs)
  const delta = (first + 4 * limbs + 4) * LIMB_BYTES
  const n = { limbs, modulus: place(layout.modulus), inverse: place(layout.inverse) }

  const steps = defineSteps(code, f, g, matrix, delta)
  const transform = (name: string, x: CodeAddress, y: CodeAddress, isModular: boolean): Callee =>
    module.define(name, [], [], (_, local) => {
      const m = emitter(local)
      multiplyByMatrix(m, n, x, y, matrix, isModular)
      return m.code
    })
  const divide = transform('divide', f, g, false)
  const divideModulo = transform('divideModulo', d, e, true)
  return module.define('inverse', ['i32', 'i32'], [], ([to, a], local) => {
    const remaining = local('i32')
    const sign = local('v128')
    return [
      memoryCopy(f.bytes, n.modulus.bytes, bytes),
      memoryCopy(g.bytes, a!, bytes),
      memoryFill(d.bytes, 0, bytes),
      // the operand is a B^limbs: multiplying its inverse by twice B^limbs gives Montgomery form
      memoryCopy(e.bytes, layout.slots.square * LIMB_BYTES, bytes),
      v128.store(0, i32x4.splat(-1), delta),
      remaining.set(roundsFor(bits)),
      repeatWhile([steps(), divide(), divideModulo()], remaining.tee(i32.sub(remaining, 1))),
      // f is plus or minus the greatest common divisor, which is 1
      sign.set(v128.load(0, f.bytes)),
      ...range(limbs).map((k) =>
        v128.store(to!, f64x2.mul(sign, v128.load(0, d.bytes + k * LIMB_BYTES)), k * LIMB_BYTES),
      ),
    ]
  })
}

export const OPERAND_MAX = 1.51

/** Theorem 11.2 of the paper: this number of steps suffices if f^2 + 4 g^2 <= 5 * 2^(2 bits). */
export const stepsFor = (bits: number): number => Math.floor((49 * bits + (bits < 46 ? 80 : 57)) / 17)

export const roundsFor = (bits: number): number => Math.ceil(stepsFor(bits) / STEPS)

/**
 * Computes the matrix of `STEPS` steps, times 2^STEPS, from the last limbs of f and g, and delta. The absolute values of a row's
 * entries add up to at most 2^51.
 */
function defineSteps(
  { module }: FieldCode,
  f: CodeAddress,
  g: CodeAddress,
  matrix: CodeAddress,
  delta: number,
): Callee {
  return module.define('divisionSteps', [], [], (_, local) => {
    const vectors = (count: number) => range(count).map(() => local('v128'))
    const [x, y, u, v, q, r] = vectors(6) as Six
    const [minusDelta, odd, swap, zero, one, ones32, magic, magicBits] = vectors(8) as Eight
    const turns = local('i32')
    const integer = (from: CodeAddress): Code =>
      i64x2.sub(f64x2.add(v128.load(from.base, from.bytes), magic), magicBits)
    const negatedIf = (mask: Local, value: Local): Code => i64x2.sub(v128.xor(value, mask), mask)
    const step = [
      odd.set(i64x2.sub(zero, v128.and(y, one))),
      swap.set(v128.and(odd, i32x4.shrS(minusDelta, 31))), // g odd and delta > 0
      y.set(i64x2.add(y, v128.and(negatedIf(swap, x), odd))),
      q.set(i64x2.add(q, v128.and(negatedIf(swap, u), odd))),
      r.set(i64x2.add(r, v128.and(negatedIf(swap, v), odd))),
      minusDelta.set(i32x4.sub(i32x4.sub(v128.xor(minusDelta, swap), swap), ones32)),
      x.set(i64x2.add(x, v128.and(y, swap))),
      u.set(i64x2.shl(i64x2.add(u, v128.and(q, swap)), 1)),
      v.set(i64x2.shl(i64x2.add(v, v128.and(r, swap)), 1)),
      y.set(i64x2.shrU(y, 1)),
    ]
    return [
      zero.set(v128.constant(0n)),
      one.set(v128.constant(1n)),
      ones32.set(i32x4.splat(1)),
      magic.set(v128.constant(LOW_MAGIC)),
      magicBits.set(v128.constant(LOW_MAGIC)),
      minusDelta.set(v128.load(0, delta)),
      x.set(integer(f)),
      y.set(integer(g)),
      u.set(one),
      v.set(zero),
      q.set(zero),
      r.set(one),
      turns.set(STEPS / STEPS_UNROLLED),
      repeatWhile(
        range(STEPS_UNROLLED).flatMap(() => step),
        turns.tee(i32.sub(turns, 1)),
      ),
      v128.store(0, minusDelta, delta),
      ...[u, v, q, r].map((entry, i) =>
        v128.store(0, f64x2.sub(i64x2.add(entry, magicBits), magic), matrix.bytes + i * LIMB_BYTES),
      ),
    ]
  })
}

type Six = [Local, Local, Local, Local, Local, Local]
type Eight = [...Six, Local, Local]

/** The modulus, and the first limb of c = -1/n. */
interface Divisor<P> {
  limbs: number
  modulus: P
  inverse: P
}

/**
 * Replaces (x, y) by the matrix times (x, y), divided by B: exactly, or modulo n by adding multiples of n. Then either result
 * grows by at most n / 2.
 */
export function multiplyByMatrix<V, P, I>(
  m: FloatMachine<V, P, I>,
  n: Divisor<P>,
  x: P,
  y: P,
  matrix: P,
  isModular: boolean,
): void {
  const { limbs } = n
  const [xs, ys] = [x, y].map((from) => range(limbs).map((k) => m.load(from, k))) as [V[], V[]]
  for (const [row, result] of [x, y].entries()) {
    const terms: { factor: V; limb: (k: number) => V }[] = [
      { factor: m.load(matrix, 2 * row), limb: (k: number) => xs[k]! },
      { factor: m.load(matrix, 2 * row + 1), limb: (k: number) => ys[k]! },
    ]
    let highs: V | undefined
    const column = (k: number, start: bigint): V => {
      const lows = k < limbs ? terms.length : 0
      let sum = m.constant(BigInt.asUintN(64, start - columnBias(SIGNED, lows, k > 0 ? terms.length : 0)))
      if (highs !== undefined) sum = m.add(sum, highs)
      highs = undefined
      for (const { factor, limb } of lows > 0 ? terms : []) sum = addProduct(sum, factor, limb(k))
      return sum
    }
    const addProduct = (sum: V, factor: V, limb: V): V => {
      const { high, low } = m.split(factor, limb)
      highs = highs === undefined ? high : m.add(highs, high)
      return m.add(sum, low)
    }
    let first = column(0, lift(SIGNED, true))
    if (isModular) {
      const digit = toNumber(m, m.and(first, m.constant(SIGNED.mask)))
      const factor = m.minus(m.split(digit, m.load(n.inverse, 0)).low, m.constant(LOW_MAGIC))
      const limb = (k: number): V => m.load(n.modulus, k)
      terms.push({ factor, limb })
      first = m.sub(addProduct(first, factor, limb(0)), m.constant(LOW_MAGIC))
    }
    const up = m.shiftRight(first, Number(SIGNED.radix))
    carry(m, limbs, result, (k) => {
      if (k === limbs - 1) return column(k + 1, lastLift(SIGNED))
      if (k > 0) return column(k + 1, lift(SIGNED, false))
      return m.add(column(1, lift(SIGNED, false)), up)
    })
  }
}
