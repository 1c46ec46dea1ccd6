/**
 * Memory of the integer arithmetic: numbers are written to slots, processed and read back, and the slots are cleared. No number
 * persists between operations.
 */

import { copySecret } from '../../../base/secret.ts'
import { bitLength } from '../engine.ts'
import { type IntegerCode, instantiateIntegerCode } from './code.ts'
import { HEADER_BYTES, LIMB_BITS, LIMBS_MAX, SLOT_BYTES, SLOTS_MAX, slot } from './layout.ts'

let instance: IntegerCode | undefined

/** Compiled at first use, since few threads need it where the fast engine works. */
export function code(): IntegerCode {
  instance ??= instantiateIntegerCode()
  return instance
}

/** The current modulus, followed by R^2 mod m and R mod m in the next slots. The three slots are one block. */
export const MODULUS = slot(0)
export const R_SQUARED = slot(1)
export const R_ONCE = slot(2)
const BLOCK_BYTES = 3 * SLOT_BYTES

const BYTES = slot(3)
const BYTES_MAX = SLOT_BYTES - HEADER_BYTES - 8 // conversions read words of eight bytes
const FACTOR = slot(4) // of putModulus
const FREE = 5

export function slots<Name extends string>(...names: Name[]): Record<Name, number> {
  if (FREE + names.length >= SLOTS_MAX) throw new Error('no slot is left')
  return Object.fromEntries(names.map((name, i) => [name, slot(FREE + i)])) as Record<Name, number>
}

/** Runs one operation, then clears the memory. */
export function work<T>(operation: () => T): T {
  try {
    return operation()
  } finally {
    code().wipe()
  }
}

/** Limbs for numbers of that many bits, with the spare factor of four that Montgomery multiplication requires. */
export function limbsFor(bits: number): number {
  const limbs = Math.max(4, 2 * Math.ceil((bits + 2) / (2 * LIMB_BITS)))
  if (limbs > LIMBS_MAX) throw new RangeError('the number is too large for this arithmetic')
  return limbs
}

/** Writes a big-endian number as little-endian bytes, followed by zeros to the end of the slot. */
export function putBytes(to: number, number: Uint8Array): void {
  if (number.length > BYTES_MAX) throw new RangeError('the number is too large for this arithmetic')
  const bytes = memory(to, SLOT_BYTES - HEADER_BYTES)
  bytes.set(number)
  bytes.subarray(0, number.length).reverse()
  bytes.fill(0, number.length)
}

export function put(to: number, number: Uint8Array, limbs: number): void {
  putBytes(BYTES, number)
  code().load(to, BYTES, limbs)
}

/** Returns a number as exactly `bytes` big-endian bytes, which must suffice. */
export function take(from: number, limbs: number, bytes: number): Uint8Array {
  code().save(BYTES, from, limbs)
  return copySecret(memory(BYTES, bytes)).reverse()
}

export function putLimbs(to: number, limbs: Uint8Array): void {
  memory(to, limbs.length).set(limbs)
}

export function takeLimbs(from: number, limbs: number): Uint8Array {
  return memory(from, 4 * limbs).slice()
}

/** Sets the current modulus, which must be odd and above 2. */
export function putModulus(modulus: Uint8Array, limbs: number): void {
  put(MODULUS, modulus, limbs)
  code().setHeader(MODULUS)
  const bits = bitLength(modulus)
  const top = new Uint8Array(Math.ceil(bits / 8))
  top[0] = 1 << ((bits - 1) % 8)
  put(R_ONCE, top, limbs)
  for (let bit = bits - 1; bit < LIMB_BITS * limbs; bit++) double(R_ONCE, limbs)

  // Montgomery form of 2^27, then its power 2^(27 limbs) = R.
  putLimbs(FACTOR, takeLimbs(R_ONCE, limbs))
  for (let bit = 0; bit < LIMB_BITS; bit++) double(FACTOR, limbs)
  putLimbs(R_SQUARED, takeLimbs(FACTOR, limbs))
  for (let bit = 30 - Math.clz32(limbs); bit >= 0; bit--) {
    code().multiply(R_SQUARED, R_SQUARED, R_SQUARED, MODULUS, limbs)
    if ((limbs >> bit) & 1) code().multiply(R_SQUARED, R_SQUARED, FACTOR, MODULUS, limbs)
  }
  reduce(R_SQUARED, limbs)
}

export function takeBlock(): Uint8Array {
  return memory(MODULUS - HEADER_BYTES, BLOCK_BYTES).slice()
}

export function putBlock(block: Uint8Array): void {
  memory(MODULUS - HEADER_BYTES, BLOCK_BYTES).set(block)
}

/** Reduces a number below 2m to a number below m. */
export function reduce(number: number, limbs: number): void {
  code().subtract(number, number, MODULUS, MODULUS, limbs)
}

/** Converts from Montgomery form to a number below m. `unit` holds 1. */
export function leaveForm(number: number, unit: number, limbs: number): void {
  code().multiply(number, number, unit, MODULUS, limbs)
  reduce(number, limbs)
}

function double(number: number, limbs: number): void {
  code().add(number, number, number, limbs)
  reduce(number, limbs)
}

function memory(at: number, bytes: number): Uint8Array {
  return new Uint8Array(code().memory.buffer, at, bytes)
}
