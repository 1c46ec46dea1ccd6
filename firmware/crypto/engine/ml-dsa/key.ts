/** Keys of ML-DSA: from a seed, from their expanded form, and ready for use. FIPS 204, sections 6.1, 7.2 and algorithm 35. */

import { copySecret, newSecret, wipe } from '../../../base/secret.ts'
import { keccak, SHAKE256 } from '../keccak.ts'
import { INTEGERS, type Lattice, POLYNOMIAL } from './lattice.ts'
import { DIGEST_BYTES, DROPPED_BITS, N, Q, SEED_BYTES } from './parameters.ts'
import { expandMatrix, sampleBounded } from './sampling.ts'

/** The caller wipes it. */
export interface ExpandedKey {
  publicKey: Uint8Array
  /** The hash of the public key: public. */
  tr: Uint8Array
  /** What hides y. */
  k: Uint8Array
  /** t1, the matrix, s1, s2 and t0, transformed, as they lie in the module's memory. */
  block: Uint8Array
}

export const wipeExpandedKey = ({ k, block }: ExpandedKey): void => wipe(k, block)

export const expandSeed = (lattice: Lattice, seed: Uint8Array): ExpandedKey =>
  fromSeed(lattice, seed, () => {}) as ExpandedKey

/** The expanded private key of a seed: FIPS 204, algorithm 24. */
export function encodeSeed(lattice: Lattice, seed: Uint8Array): Uint8Array {
  const encoded = newSecret(lattice.parameters.expandedBytes)
  wipeExpandedKey(fromSeed(lattice, seed, (part) => part.copyTo(encoded)))
  return encoded
}

/** Undefined when a coefficient is out of range, or t0 or the hash of the public key is not what follows from the rest. */
export function expandPrivate(lattice: Lattice, encoded: Uint8Array): ExpandedKey | undefined {
  const { parameters, doubles } = lattice
  const { rows, columns, eta, etaBits } = parameters
  const again = newSecret(parameters.expandedBytes)
  const key = lattice.use(() => {
    let start = SECRETS_START
    let outOfRange = 0
    for (let i = 0; i < columns + rows; i++) {
      const target = secretPolynomial(lattice, i) / 8
      unpackBits(encoded, start, etaBits, (n, bits) => {
        outOfRange |= (2 * eta - bits) >> 31
        doubles[target + n] = eta - bits
      })
      start += (N / 8) * etaBits
    }
    if (outOfRange !== 0) return undefined
    expandMatrix(lattice, encoded.subarray(0, SEED_BYTES))
    const [rho, k] = [encoded.subarray(0, SEED_BYTES), encoded.subarray(SEED_BYTES, 2 * SEED_BYTES)]
    return complete(lattice, rho, k, (part) => part.copyTo(again))
  })
  let difference = 0
  for (let i = 0; i < again.length; i++) difference |= again[i]! ^ encoded[i]!
  wipe(again)
  if (key === undefined || difference === 0) return key
  wipeExpandedKey(key)
  return undefined
}

/** A public key that signatures are verified with: its hash, and t1 and the matrix as they lie in memory. */
export function expandPublic(lattice: Lattice, publicKey: Uint8Array): { tr: Uint8Array; block: Uint8Array } {
  const { at, bytes, doubles, parameters } = lattice
  return lattice.use(() => {
    expandMatrix(lattice, publicKey.subarray(0, SEED_BYTES))
    for (let i = 0; i < parameters.rows; i++) {
      unpackBits(publicKey, SEED_BYTES + i * T1_BYTES, T1_BITS, (n, high) => {
        doubles[at.scratch / 8 + n] = high * 2 ** DROPPED_BITS
      })
      keep(lattice, at.t1 + i * INTEGERS, at.scratch)
    }
    return { tr: keccak(SHAKE256, DIGEST_BYTES, publicKey), block: copySecret(bytes.subarray(at.t1, at.s1)) }
  })
}

const T1_BITS = 10
const T1_BYTES = (N / 8) * T1_BITS
/** In an expanded key, behind rho, K and tr. */
const SECRETS_START = 2 * SEED_BYTES + DIGEST_BYTES

/** What an expanded key can be written from, while it lies in memory. */
interface Part {
  copyTo(encoded: Uint8Array): void
}

function fromSeed(lattice: Lattice, seed: Uint8Array, take: (part: Part) => void): ExpandedKey {
  const { rows, columns } = lattice.parameters
  const hash = keccak(SHAKE256, 2 * SEED_BYTES + DIGEST_BYTES, seed, Uint8Array.of(rows, columns))
  const rho = hash.subarray(0, SEED_BYTES)
  const rhoPrime = hash.subarray(SEED_BYTES, SEED_BYTES + DIGEST_BYTES)
  try {
    return lattice.use(() => {
      expandMatrix(lattice, rho)
      for (let i = 0; i < columns + rows; i++) sampleBounded(lattice, secretPolynomial(lattice, i), rhoPrime, i)
      return complete(lattice, rho, hash.subarray(SEED_BYTES + DIGEST_BYTES), take)
    })
  } finally {
    wipe(hash)
  }
}

/** Where the polynomials of s1 and then of s2 lie as doubles. */
const secretPolynomial = ({ at, parameters: { columns } }: Lattice, i: number): number =>
  i < columns ? at.y + i * POLYNOMIAL : at.rows + (i - columns) * POLYNOMIAL

/** The matrix, s1 and s2 are in memory: t = A s1 + s2, and all that is kept. */
function complete(lattice: Lattice, rho: Uint8Array, k: Uint8Array, take: (part: Part) => void): ExpandedKey {
  const { at, bytes, doubles, code, parameters } = lattice
  const { rows, columns } = parameters
  const publicKey = new Uint8Array(parameters.publicBytes)
  publicKey.set(rho)
  const t0 = new Int32Array(rows * N)
  const high = new Int32Array(N)
  try {
    for (let j = 0; j < columns; j++) {
      code.forward(at.transformed + j * POLYNOMIAL, at.y + j * POLYNOMIAL)
      code.narrow(at.s1 + j * INTEGERS, at.transformed + j * POLYNOMIAL)
    }
    const scratch = doubles.subarray(at.scratch / 8, at.scratch / 8 + N)
    for (let i = 0; i < rows; i++) {
      code.row(at.scratch, at.matrix + i * columns * INTEGERS, at.transformed)
      code.inverse(at.scratch)
      const s2 = secretPolynomial(lattice, columns + i) / 8
      for (let n = 0; n < N; n++) {
        const sum = scratch[n]! + doubles[s2 + n]!
        const t = sum + ((sum >> 31) & Q)
        high[n] = (t + 2 ** (DROPPED_BITS - 1) - 1) >> DROPPED_BITS
        t0[i * N + n] = t - (high[n]! << DROPPED_BITS)
      }
      packBits(publicKey, SEED_BYTES + i * T1_BYTES, T1_BITS, (n) => high[n]!)
      for (let n = 0; n < N; n++) scratch[n] = high[n]! * 2 ** DROPPED_BITS
      keep(lattice, at.t1 + i * INTEGERS, at.scratch)
      for (let n = 0; n < N; n++) scratch[n] = t0[i * N + n]!
      keep(lattice, at.t0 + i * INTEGERS, at.scratch)
    }
    const tr = keccak(SHAKE256, DIGEST_BYTES, publicKey)
    take({ copyTo: (encoded) => encode(lattice, encoded, rho, k, tr, t0) })
    for (let i = 0; i < rows; i++) keep(lattice, at.s2 + i * INTEGERS, secretPolynomial(lattice, columns + i))
    return { publicKey, tr, k: copySecret(k), block: copySecret(bytes.subarray(at.t1, at.y)) }
  } finally {
    wipe(t0, high)
  }
}

/** Transforms a polynomial and keeps it as integers. */
function keep({ code }: Lattice, to: number, from: number): void {
  code.forward(from, from)
  code.narrow(to, from)
}

function encode(
  lattice: Lattice,
  encoded: Uint8Array,
  rho: Uint8Array,
  k: Uint8Array,
  tr: Uint8Array,
  t0: Int32Array,
): void {
  const { doubles, parameters } = lattice
  const { rows, columns, eta, etaBits } = parameters
  encoded.set(rho)
  encoded.set(k, SEED_BYTES)
  encoded.set(tr, 2 * SEED_BYTES)
  let start = SECRETS_START
  for (let i = 0; i < columns + rows; i++) {
    const from = secretPolynomial(lattice, i) / 8
    packBits(encoded, start, etaBits, (n) => eta - doubles[from + n]!)
    start += (N / 8) * etaBits
  }
  for (let i = 0; i < rows; i++) {
    packBits(encoded, start, DROPPED_BITS, (n) => 2 ** (DROPPED_BITS - 1) - t0[i * N + n]!)
    start += (N / 8) * DROPPED_BITS
  }
}

/** N numbers of so many bits, at most 24. */
function packBits(to: Uint8Array, start: number, bits: number, value: (n: number) => number): void {
  let [held, heldBits, at] = [0, 0, start]
  for (let n = 0; n < N; n++) {
    held |= value(n) << heldBits
    for (heldBits += bits; heldBits >= 8; heldBits -= 8) {
      to[at++] = held
      held >>>= 8
    }
  }
}

function unpackBits(from: Uint8Array, start: number, bits: number, put: (n: number, value: number) => void): void {
  let [held, heldBits, at] = [0, 0, start]
  for (let n = 0; n < N; n++) {
    for (; heldBits < bits; heldBits += 8) held |= from[at++]! << heldBits
    put(n, held & (2 ** bits - 1))
    held >>>= bits
    heldBits -= bits
  }
}
