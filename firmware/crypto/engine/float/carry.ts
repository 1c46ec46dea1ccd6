/** Converts columns to limbs: carries, sums, differences and canonical numbers. README.md explains the method. */

import type { Format } from './format.ts'
import { BITS_2_52, doubleBits, type FloatMachine, LOW_MAGIC } from './machine.ts'

/** Added to each column's signed sum, so that logical shifts act as arithmetic ones. */
const LIFT = 1n << 62n

export const liftCarry = ({ radix }: Format): bigint => LIFT >> radix

/** Initial value of a column whose digit is taken: the first of its number, or one that receives a carry. */
export const lift = (format: Format, isFirst: boolean): bigint =>
  LIFT + format.half - (isFirst ? 0n : liftCarry(format))

/** Initial value of the last column of a number. */
export const lastLift = (format: Format): bigint => LOW_MAGIC - liftCarry(format)

const liftOf = (format: Format, k: number, limbs: number): bigint =>
  k === limbs - 1 ? lastLift(format) : lift(format, k === 0)

/**
 * Computes limbs from columns with their lifts. Signed: each carry is added to the next limb without further carries, so limbs
 * stay within 2^50 + 2^12 of zero. Unsigned: carries propagate through all limbs. The last limb takes the rest.
 */
export function carry<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, result: P, load: (k: number) => V): void {
  const { isSigned, radix, mask, half } = m.format
  let up: V | undefined
  for (let k = 0; k < limbs; k++) {
    const isLast = k === limbs - 1
    const staysOnTop = isSigned && !isLast
    let sum = load(k)
    if (up !== undefined && !staysOnTop) sum = m.add(sum, up)
    let bits = isLast ? sum : m.or(m.and(sum, m.constant(mask)), m.constant(BITS_2_52))
    if (up !== undefined && staysOnTop) bits = m.add(bits, up)
    const offset = doubleBits(isLast ? 3 * 2 ** 51 : 2 ** 52 + Number(half))
    if (isLast) bits = boundLast(m, bits, offset)
    m.store(result, k, m.minus(bits, m.constant(offset)))
    up = m.shiftRight(sum, Number(radix))
  }
}

/** Bound of the absolute value: numbers are below B^limbs / 32. */
const LAST_LIMB_MAX = 1n << 48n

function boundLast<V, P, I>(m: FloatMachine<V, P, I>, bits: V, zero: bigint): V {
  return m.bounded(bits, m.format.isSigned ? zero - LAST_LIMB_MAX : zero, zero + LAST_LIMB_MAX)
}

/** Digits of a number whose columns have their lifts, each plus `half`, and the carry plus `liftCarry`. */
export function digits<V, P, I>(m: FloatMachine<V, P, I>, columns: readonly V[]): { values: V[]; carry: V } {
  const values: V[] = []
  let carry: V | undefined
  for (const column of columns) {
    const sum: V = carry === undefined ? column : m.add(column, carry)
    values.push(m.and(sum, m.constant(m.format.mask)))
    carry = m.shiftRight(sum, Number(m.format.radix))
  }
  return { values, carry: carry! }
}

export function toNumber<V, P, I>(m: FloatMachine<V, P, I>, digit: V): V {
  return m.minus(m.or(digit, m.constant(BITS_2_52)), m.constant(doubleBits(2 ** 52 + Number(m.format.half))))
}

export function toBits<V, P, I>(m: FloatMachine<V, P, I>, limb: V, plus = 0n): V {
  const magic = m.format.limbMagic
  return m.add(m.plus(limb, m.constant(magic)), m.constant(BigInt.asUintN(64, plus - magic)))
}

/** a + b without reduction; the caller must count additions. */
export function add<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, result: P, a: P, b: P): void {
  carry(m, limbs, result, (k) => {
    const lifted = toBits(m, m.load(a, k), liftOf(m.format, k, limbs))
    return m.add(lifted, toBits(m, m.load(b, k)))
  })
}

/** a - b; unsigned: a - b + 4 n, for b up to 4 n. */
export function subtract<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, result: P, a: P, b: P, n: P): void {
  carry(m, limbs, result, (k) => {
    const lifted = toBits(m, m.load(a, k), liftOf(m.format, k, limbs))
    const difference = m.sub(lifted, toBits(m, m.load(b, k)))
    if (m.format.isSigned) return difference
    const limb = toBits(m, m.load(n, k))
    const twice = m.add(limb, limb)
    return m.add(difference, m.add(twice, twice))
  })
}

/** Doubles `a` in place where the mask is all ones. */
export function doubleIf<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, a: P, mask: V): void {
  carry(m, limbs, a, (k) => {
    const lifted = toBits(m, m.load(a, k), liftOf(m.format, k, limbs))
    return m.add(lifted, toBits(m, m.and(mask, m.load(a, k))))
  })
}

/** Reduces a modulo n to 0 .. n - 1, for -n <= a < n; unsigned: for 0 <= a < 3 n. */
export function canonical<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, result: P, a: P, n: P): void {
  if (m.format.isSigned) addIfNegative(m, limbs, result, a, n)
  else {
    subtractIfNotBelow(m, limbs, result, a, n)
    subtractIfNotBelow(m, limbs, result, result, n)
  }
}

function addIfNegative<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, result: P, a: P, n: P): void {
  const isNegative = sign(m, limbs, (k, lift) => toBits(m, m.load(a, k), lift))
  const mask = m.sub(m.constant(0n), isNegative)
  carryAll(m, limbs, result, (k, lift) => {
    const part = m.and(mask, m.load(n, k))
    return m.add(toBits(m, m.load(a, k), lift), toBits(m, part))
  })
}

function subtractIfNotBelow<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, result: P, a: P, n: P): void {
  const isBelow = sign(m, limbs, (k, lift) => m.sub(toBits(m, m.load(a, k), lift), toBits(m, m.load(n, k))))
  const mask = m.sub(isBelow, m.constant(1n))
  carryAll(m, limbs, result, (k, lift) => {
    const part = m.and(mask, m.load(n, k))
    return m.sub(toBits(m, m.load(a, k), lift), toBits(m, part))
  })
}

type Column<V> = (k: number, lift: bigint) => V

/** 1 if the number is negative, else 0: the sign of the last limb once all other digits are non-negative. */
function sign<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, column: Column<V>): V {
  const last = ripple(m, limbs, column, LIFT)
  return m.shiftRight(m.bounded(last, -LAST_LIMB_MAX, LAST_LIMB_MAX), 63)
}

function carryAll<V, P, I>(m: FloatMachine<V, P, I>, limbs: number, result: P, column: Column<V>): void {
  const last = ripple(m, limbs, column, LIFT + m.format.half, (k, digit) => m.store(result, k, toNumber(m, digit)))
  const magic = m.constant(LOW_MAGIC)
  m.store(result, limbs - 1, m.minus(m.add(boundLast(m, last, 0n), magic), magic))
}

/** Propagates carries through all limbs. Returns the last limb, signed. */
function ripple<V, P, I>(
  m: FloatMachine<V, P, I>,
  limbs: number,
  column: Column<V>,
  lift: bigint,
  give?: (k: number, digit: V) => void,
): V {
  const carried = liftCarry(m.format)
  let up: V | undefined
  for (let k = 0; k < limbs - 1; k++) {
    const bits = column(k, k === 0 ? lift : lift - carried)
    const sum = up === undefined ? bits : m.add(bits, up)
    give?.(k, m.and(sum, m.constant(m.format.mask)))
    up = m.shiftRight(sum, Number(m.format.radix))
  }
  return m.add(column(limbs - 1, -carried), up!)
}
