/**
 * What the generators of arithmetic are written against: a machine with registers of two 64-bit lanes.
 * One implementation emits WebAssembly (emitter.ts), one executes bounds instead of values (checker.ts).
 */

import type { Format } from './format.ts'

/** Bytes of a limb in memory: one double for each of the two lanes. */
export const LIMB_BYTES = 16

/**
 * An integer of up to 52 bits, or 51 and a sign, is held as a double ("number"), or as an integer in a 64-bit lane ("bits").
 * V is a register, P an address, I a counter of a loop.
 */
export interface FloatMachine<V, P, I> {
  readonly format: Format
  /** Bits, the same in both lanes. */
  constant(bits: bigint): V
  load(from: P, limb: number): V
  store(to: P, limb: number, value: V): void
  at(from: P, limbs: number): P

  /** Limbs a, b to a b = high B + low, |low| <= B / 2, as bits that ride on `highMagic` and `lowMagic` of the format. */
  split(a: V, b: V): { high: V; low: V }
  /** Numbers, exactly. */
  plus(a: V, b: V): V
  minus(a: V, b: V): V

  /** Bits, modulo 2^64. */
  add(a: V, b: V): V
  sub(a: V, b: V): V
  and(a: V, b: V): V
  or(a: V, b: V): V
  shiftRight(a: V, bits: number): V

  /** Bits from `lowest` to `highest` for a reason only the caller knows; the checker trusts it. */
  bounded(a: V, lowest: bigint, highest: bigint): V

  /**
   * Runs the body `times` times with copies of the pointers that advance by `step` limbs, and gives the pointers after
   * that; `remaining` counts down to 1.
   */
  repeat(times: number | I, walk: readonly Walk<P>[], body: (pointers: P[], remaining: I) => void): P[]
  /** A counter less a constant; not below zero. */
  less(counter: I, by: number): I
  /** A register that a loop's body changes. */
  variable(initial: V): { get: () => V; set: (value: V) => void }
}

export interface Walk<P> {
  from: P
  step: number
}

/** The bits of the double 2^52 + x, for 0 <= x < 2^52, are these plus x. */
export const BITS_2_52 = 0x4330_0000_0000_0000n

/** 3 * 2^51: adding an integer below 2^51, of either sign, to this double leaves it in the low bits. */
export const LOW_MAGIC = doubleBits(3 * 2 ** 51)

export function doubleBits(value: number): bigint {
  return new BigUint64Array(Float64Array.of(value).buffer)[0]!
}
