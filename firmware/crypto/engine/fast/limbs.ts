/**
 * The constants of a modulus, computed on pieces of limbs. They are as secret as it is: the same operations for every value,
 * and no BigInt.
 */

import { type Format, SIGNED, UNSIGNED } from './format.ts'

interface Pieces {
  bits: number
  /** 2^bits. */
  base: number
  /** To a limb. */
  count: number
  /** Of limbs, and whether they are around zero. */
  radix: number
  isSigned: boolean
}

function pieces({ radix, isSigned }: Format, count: number): Pieces {
  const bits = Number(radix) / count
  return { bits, base: 2 ** bits, count, radix: 2 ** Number(radix), isSigned }
}

/** Products of pieces, some dozens of them, must stay below 2^53. */
const SIGNED_PIECES = pieces(SIGNED, 3)
const UNSIGNED_PIECES = pieces(UNSIGNED, 4)

/**
 * The modulus, c = -1/modulus mod B^digits, if signed taken around zero, and (c modulus + 1) / B^digits; for an odd modulus.
 */
export function modulusLimbs(
  bytes: Uint8Array,
  limbs: number,
  digits: number,
  format: Format,
): { modulus: Float64Array; scaled: Float64Array; inverse: Float64Array } {
  const pieces = format.isSigned ? SIGNED_PIECES : UNSIGNED_PIECES
  const n = bytesToPieces(bytes, limbs * pieces.count, pieces)
  const count = digits * pieces.count
  const low = n.subarray(0, count)
  // Newton: from x = 1/n mod 2^k to x (2 - n x) = 1/n mod 2^2k; n itself is right in three bits
  let x: Float64Array = low.slice(0, 1)
  for (let bits = 3; bits < pieces.bits * count; bits *= 2) {
    const right = Math.min(Math.ceil((2 * bits) / pieces.bits), count)
    const error = remainder(product(low, x, right, pieces), pieces)
    for (let i = 0; i < right; i++) error[i] = -error[i]!
    error[0]! += 2
    const better = remainder(product(error, x, right, pieces), pieces)
    for (const secret of [error, x]) secret.fill(0)
    x = better
  }
  const c = remainder(product(Float64Array.of(-1), x, count, pieces), pieces)
  const { base, isSigned } = pieces
  if (isSigned) c[count - 1]! -= base * Math.floor((2 * c[count - 1]!) / base)
  const scaled = product(c, n, n.length + count, pieces)
  scaled[0]! += 1 // to a zero with a carry: the sum is divisible by B^digits
  carry(scaled, pieces)
  try {
    return {
      modulus: join(n, limbs, pieces),
      scaled: join(scaled.subarray(count), limbs, pieces),
      inverse: join(c, digits, pieces),
    }
  } finally {
    for (const secret of [n, x, c, scaled]) secret.fill(0)
  }
}

/** The first pieces of a b, from zero up but for the last, which has all the rest. */
function product(a: Float64Array, b: Float64Array, count: number, pieces: Pieces): Float64Array {
  const result = new Float64Array(count)
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length && i + j < count; j++) result[i + j]! += a[i]! * b[j]! // below 16 * 2^34
  }
  return carry(result, pieces)
}

function carry(numbers: Float64Array, { base }: Pieces): Float64Array {
  for (let i = 0; i < numbers.length - 1; i++) {
    const carried = Math.floor(numbers[i]! / base)
    numbers[i]! -= carried * base
    numbers[i + 1]! += carried
  }
  return numbers
}

/** Modulo two to the bits of all pieces. */
function remainder(numbers: Float64Array, { base }: Pieces): Float64Array {
  const last = numbers.length - 1
  numbers[last]! -= base * Math.floor(numbers[last]! / base)
  return numbers
}

function bytesToPieces(bytes: Uint8Array, count: number, { bits, base }: Pieces): Float64Array {
  const pieces = new Float64Array(count)
  const used = Math.min(count, Math.ceil((8 * bytes.length) / bits))
  const last = bytes.length - 1
  for (let i = 0; i < used; i++) {
    const from = last - ((bits * i) >> 3)
    const window =
      at(bytes, from) | (at(bytes, from - 1) << 8) | (at(bytes, from - 2) << 16) | (at(bytes, from - 3) << 24)
    pieces[i] = (window >>> ((bits * i) & 7)) & (base - 1)
  }
  return pieces
}

const at = (bytes: Uint8Array, i: number): number => (i < 0 ? 0 : bytes[i]!)

/** Limbs from -B / 2 to B / 2 - 1 but for the last if signed, from zero up if not. */
function join(numbers: Float64Array, limbs: number, { base, count, radix, isSigned }: Pieces): Float64Array {
  const result = new Float64Array(limbs)
  let up = 0
  for (let i = 0; i < limbs; i++) {
    let limb = 0
    for (let k = count - 1; k >= 0; k--) limb = limb * base + numbers[count * i + k]!
    limb += up
    up = isSigned && i < limbs - 1 ? Math.floor(limb / radix + 0.5) : 0
    result[i] = limb - up * radix
  }
  return result
}
