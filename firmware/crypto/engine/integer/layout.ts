/**
 * Numbers and memory of the plain integer arithmetic. A number consists of 27-bit limbs, one per 32-bit word, least significant
 * first. Loop counts and addresses depend on public arguments only.
 */

import { type Code, i32, i64, type Local, type Operand, repeatWhile } from '../wasm.ts'

/**
 * The largest radix whose column sums need no carry: a product of 304 limbs (8192 bits) adds up to 608 products of two limbs in a
 * column, and 608 * 2^54 < 2^64.
 */
export const LIMB_BITS = 27
export const LIMBS_MAX = 304

export const LIMB_MASK = 2 ** LIMB_BITS - 1

export const WINDOW_BITS = 5
export const WINDOW_ENTRIES = 2 ** WINDOW_BITS

/** Room for a product of two numbers and reads past its end. The header before it holds the inverse of a modulus. */
export const SLOT_BYTES = 2560
export const HEADER_BYTES = 16

/** Memory: column sums of a product, powers of the base, then the slots. Pages have 64 KiB. */
export const COLUMNS = 0
const COLUMNS_BYTES = 8 * 2 * LIMBS_MAX + 256
export const TABLE = COLUMNS + COLUMNS_BYTES
const TABLE_BYTES = WINDOW_ENTRIES * 4 * LIMBS_MAX
const SLOTS = TABLE + TABLE_BYTES
export const MEMORY_PAGES = 2

export const slot = (index: number): number => SLOTS + index * SLOT_BYTES + HEADER_BYTES
export const SLOTS_MAX = Math.floor((MEMORY_PAGES * 65536 - SLOTS) / SLOT_BYTES)

/** Runs the body until the first pointer reaches `end`. Pointers advance by `strides` bytes. */
export function forEach(
  pointers: readonly Local[],
  end: Operand,
  strides: readonly number[],
  body: readonly Code[],
): Code {
  const step = pointers.map((pointer, i) => pointer.set(i32.add(pointer, strides[i]!)))
  return repeatWhile([...body, ...step], i32.ne(pointers[0]!, end))
}

export const limbsEnd = (start: Operand, limbs: Operand): Code => i32.add(start, i32.shl(limbs, 2))
export const low = (value: Operand): Code => i64.and(value, LIMB_MASK)
export const carryOf = (value: Operand): Code => i64.shrU(value, LIMB_BITS)
