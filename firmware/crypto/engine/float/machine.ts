/**
 * Abstract machine for the generators of arithmetic, with registers of two 64-bit lanes. One implementation emits WebAssembly
 * (emitter.ts), another one computes with bounds instead of values (checker.ts).
 */

import type { Format } from './format.ts'

/** Bytes of a limb in memory: one double for each of the two lanes. */
export const LIMB_BYTES = 16

/**
 * An integer of up to 52 bits, or 51 and a sign, is stored as a double ("number") or as an integer in a 64-bit lane ("bits"). V
 * is a register, P an address, I a loop counter.
 */
export interface FloatMachine<V, P, I> {
  readonly format: Format
  constant(bits: bigint): V
  load(from: P, limb: number): V
  store(to: P, limb: number, value: V): void
  at(from: P, limbs: number): P

  /**
   * Splits the product of limbs: a b = high B + low with |low| <= B / 2. Both parts are bits, offset by `highMagic` and
   * `lowMagic` of the format.
   */
  split(a: V, b: V): { high: V; low: V }
  /** Exact operations on numbers. */
  plus(a: V, b: V): V
  minus(a: V, b: V): V

  /** Operations on bits, modulo 2^64. */
  add(a: V, b: V): V
  sub(a: V, b: V): V
  and(a: V, b: V): V
  or(a: V, b: V): V
  shiftRight(a: V, bits: number): V

  /** Asserts bounds that only the caller can prove; the checker trusts them. */
  bounded(a: V, lowest: bigint, highest: bigint): V

  /** Runs the body `times` times with pointers that advance by `step` limbs. Returns the final pointers. `remaining` counts down to 1. */
  repeat(times: number | I, walk: readonly Walk<P>[], body: (pointers: P[], remaining: I) => void): P[]
  /** Counter minus a constant, which must not be negative. */
  less(counter: I, by: number): I
  variable(initial: V): { get: () => V; set: (value: V) => void }
}

export interface Walk<P> {
  from: P
  step: number
}

/** Bits of the double 2^52. The bits of 2^52 + x, for 0 <= x < 2^52, are these plus x. */
export const BITS_2_52 = 0x4330_0000_0000_0000n

/** Bits of the double 3 * 2^51. Adding it to an integer with absolute value below 2^51 leaves the integer in the low bits. */
export const LOW_MAGIC = doubleBits(3 * 2 ** 51)

export function doubleBits(value: number): bigint {
  return new BigUint64Array(Float64Array.of(value).buffer)[0]!
}
