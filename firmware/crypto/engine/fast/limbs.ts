/**
 * Between bytes and limbs, and the constants of a modulus, on pieces of 17 bits, three to a limb. Everything here may be
 * secret: the same operations for every value, and no BigInt.
 */

const PIECE_BITS = 17
const PIECE = 2 ** PIECE_BITS
const PIECES = 3 // to a limb of 51 bits
const LIMB = PIECE ** PIECES

/** Big-endian bytes below 2^(51 limbs) to limbs, least significant first, around zero but for the last. */
export function bytesToLimbs(bytes: Uint8Array, limbs: number): Float64Array {
  return join(bytesToPieces(bytes, limbs * PIECES), limbs)
}

/** The big-endian bytes of a number that is not negative and fits; its limbs may be of either sign. */
export function limbsToBytes(limbs: Float64Array, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  let at = length - 1
  let [buffer, bits, up] = [0, 0, 0]
  for (let i = 0; i < limbs.length; i++) {
    const limb = limbs[i]! + up
    up = Math.floor(limb / LIMB)
    const high = Math.floor(limb / PIECE)
    for (const piece of [limb - high * PIECE, high, Math.floor(high / PIECE)]) {
      buffer |= (piece & (PIECE - 1)) << bits
      for (bits += PIECE_BITS; bits >= 8; bits -= 8) {
        if (at >= 0) bytes[at--] = buffer
        buffer >>>= 8
      }
    }
  }
  return bytes
}

/** The modulus, c = -1/modulus mod B^digits taken around zero, and (c modulus + 1) / B^digits; for an odd modulus. */
export function modulusLimbs(
  bytes: Uint8Array,
  limbs: number,
  digits: number,
): { modulus: Float64Array; scaled: Float64Array; inverse: Float64Array } {
  const n = bytesToPieces(bytes, limbs * PIECES)
  const count = digits * PIECES
  const low = n.subarray(0, count)
  // Newton: from x = 1/n mod 2^k to x (2 - n x) = 1/n mod 2^2k; n itself is right in three bits
  let x: Float64Array = low.slice()
  for (let bits = 3; bits < PIECE_BITS * count; bits *= 2) {
    const error = remainder(product(low, x, count)).map((piece) => -piece)
    error[0]! += 2
    x = remainder(product(error, x, count))
  }
  const c = remainder(product(Float64Array.of(-1), x, count))
  c[count - 1]! -= PIECE * Math.floor((2 * c[count - 1]!) / PIECE)
  const scaled = product(c, n, n.length + count)
  scaled[0]! += 1 // to a zero with a carry: the sum is divisible by B^digits
  carry(scaled)
  try {
    return { modulus: join(n, limbs), scaled: join(scaled.subarray(count), limbs), inverse: join(c, digits) }
  } finally {
    for (const secret of [n, x, c, scaled]) secret.fill(0)
  }
}

/** The first pieces of a b, from 0 to 2^17 - 1 but for the last, which has all the rest. */
function product(a: Float64Array, b: Float64Array, pieces: number): Float64Array {
  const result = new Float64Array(pieces)
  for (let i = 0; i < a.length; i++) {
    for (let j = 0; j < b.length && i + j < pieces; j++) result[i + j]! += a[i]! * b[j]! // below 12 * 2^34
  }
  return carry(result)
}

function carry(pieces: Float64Array): Float64Array {
  for (let i = 0; i < pieces.length - 1; i++) {
    const carried = Math.floor(pieces[i]! / PIECE)
    pieces[i]! -= carried * PIECE
    pieces[i + 1]! += carried
  }
  return pieces
}

/** Modulo 2^17 to the number of the pieces. */
function remainder(pieces: Float64Array): Float64Array {
  const last = pieces.length - 1
  pieces[last]! -= PIECE * Math.floor(pieces[last]! / PIECE)
  return pieces
}

function bytesToPieces(bytes: Uint8Array, count: number): Float64Array {
  const pieces = new Float64Array(count)
  const used = Math.min(count, Math.ceil((8 * bytes.length) / PIECE_BITS))
  const last = bytes.length - 1
  for (let i = 0; i < used; i++) {
    const index = (PIECE_BITS * i) >> 3
    const low = bytes[last - index]! | (index < last ? bytes[last - index - 1]! << 8 : 0)
    const window = low | (index + 1 < last ? bytes[last - index - 2]! << 16 : 0)
    pieces[i] = (window >> ((PIECE_BITS * i) & 7)) & (PIECE - 1)
  }
  return pieces
}

/** Limbs from -2^50 to 2^50 - 1 but for the last. */
function join(pieces: Float64Array, limbs: number): Float64Array {
  const result = new Float64Array(limbs)
  let up = 0
  for (let i = 0; i < limbs; i++) {
    const high = pieces[PIECES * i + 1]! + PIECE * pieces[PIECES * i + 2]!
    const limb = pieces[PIECES * i]! + PIECE * high + up
    up = i < limbs - 1 ? Math.floor(limb / LIMB + 0.5) : 0
    result[i] = limb - up * LIMB
  }
  return result
}
