/** ML-DSA keys from a seed or from the expanded form. FIPS 204, sections 6.1, 7.2 and algorithm 35. */

import { timingSafeEqual } from 'node:crypto'
import { copySecret, newSecret, wipe } from '../../../base/secret.ts'
import { keccak, SHAKE256 } from '../keccak.ts'
import { INTEGERS, type Lattice, matrixEntry, POLYNOMIAL } from './lattice.ts'
import { DIGEST_BYTES, DROPPED_BITS, N, packedBytes, Q, SEED_BYTES, T1_BITS } from './parameters.ts'
import { expandMatrix, sampleBounded } from './sampling.ts'

/** The caller wipes all members. */
interface ExpandedKey {
  publicKey: Uint8Array
  /**
   * Private key as algorithm 24 encodes it, and parts of it: the secret K for the mask y, and tr, the hash of the public key,
   * which is public.
   */
  encoded: Uint8Array
  k: Uint8Array
  tr: Uint8Array
  /** Matrix with -t1, s1, s2 and t0, transformed, in the form of the module's memory. */
  block: Uint8Array
}

export function expandSeed(lattice: Lattice, seed: Uint8Array): ExpandedKey {
  const { rows, columns } = lattice.parameters
  const hash = keccak(SHAKE256, 2 * SEED_BYTES + DIGEST_BYTES, seed, Uint8Array.of(rows, columns))
  const rhoPrime = hash.subarray(SEED_BYTES, SEED_BYTES + DIGEST_BYTES)
  try {
    return lattice.use(() => {
      for (let i = 0; i < columns + rows; i++) sampleBounded(lattice, secretPolynomial(lattice, i), rhoPrime, i)
      return complete(lattice, hash.subarray(0, SEED_BYTES), hash.subarray(SEED_BYTES + DIGEST_BYTES))
    })
  } finally {
    wipe(hash)
  }
}

/** Undefined if a coefficient is out of range, or if t0 or the hash of the public key does not match the rest. */
export function expandPrivate(lattice: Lattice, encoded: Uint8Array): ExpandedKey | undefined {
  const { parameters, doubles } = lattice
  const { rows, columns, eta, etaBits } = parameters
  const key = lattice.use(() => {
    let outOfRange = 0
    for (let i = 0; i < columns + rows; i++) {
      const [start, target] = [SECRETS_START + i * packedBytes(etaBits), secretPolynomial(lattice, i) / 8]
      for (let n = 0; n < N; n++) {
        const bits = unpacked(encoded, start, etaBits, n)
        outOfRange |= (2 * eta - bits) >> 31
        doubles[target + n] = eta - bits
      }
    }
    if (outOfRange !== 0) return undefined
    return complete(lattice, encoded.subarray(0, SEED_BYTES), encoded.subarray(SEED_BYTES, 2 * SEED_BYTES))
  })
  if (key === undefined || timingSafeEqual(key.encoded, encoded)) return key
  wipe(key.encoded, key.block)
  return undefined
}

/** Writes -t1 of a public key to memory, in the form for verification. */
export function keepPublic(lattice: Lattice, publicKey: Uint8Array): void {
  const { at, doubles, parameters } = lattice
  for (let i = 0; i < parameters.rows; i++) {
    const [start, target] = [SEED_BYTES + i * packedBytes(T1_BITS), at.scratch / 8]
    for (let n = 0; n < N; n++) doubles[target + n] = -(unpacked(publicKey, start, T1_BITS, n) << DROPPED_BITS)
    keep(lattice, matrixEntry(lattice, i, parameters.columns), at.scratch)
  }
}

/** Offset in an expanded key, after rho, K and tr. */
const SECRETS_START = 2 * SEED_BYTES + DIGEST_BYTES

/** Addresses of the polynomials of s1 and s2 as doubles. Those of s2 share the memory of w0 and w1. */
const secretPolynomial = ({ at, parameters: { columns } }: Lattice, i: number): number =>
  i < columns ? at.y + i * POLYNOMIAL : at.low + (i - columns) * POLYNOMIAL

/** Expects s1 and s2 in memory. Computes t = A s1 + s2 and all parts of the key. */
function complete(lattice: Lattice, rho: Uint8Array, k: Uint8Array): ExpandedKey {
  const { at, bytes, doubles, code, parameters } = lattice
  const { rows, columns, eta, etaBits } = parameters
  const publicKey = new Uint8Array(parameters.publicBytes)
  const encoded = newSecret(parameters.expandedBytes)
  publicKey.set(rho)
  encoded.set(rho)
  encoded.set(k, SEED_BYTES)
  for (let i = 0; i < columns + rows; i++) {
    const from = secretPolynomial(lattice, i) / 8
    packBits(encoded, SECRETS_START + i * packedBytes(etaBits), etaBits, (n) => eta - doubles[from + n]!)
  }
  expandMatrix(lattice, rho)
  for (let j = 0; j < columns; j++) {
    code.forward(at.vector + j * POLYNOMIAL, at.y + j * POLYNOMIAL)
    code.narrow(at.s1 + j * INTEGERS, at.vector + j * POLYNOMIAL)
  }
  const scratch = doubles.subarray(at.scratch / 8, at.scratch / 8 + N)
  const t0Start = SECRETS_START + (columns + rows) * packedBytes(etaBits)
  for (let i = 0; i < rows; i++) {
    code.row(at.scratch, matrixEntry(lattice, i, 0), at.vector)
    code.inverse(at.scratch)
    const s2 = secretPolynomial(lattice, columns + i)
    packBits(publicKey, SEED_BYTES + i * packedBytes(T1_BITS), T1_BITS, (n) => {
      const sum = scratch[n]! + doubles[s2 / 8 + n]!
      const t = sum + ((sum >> 31) & Q)
      const high = (t + 2 ** (DROPPED_BITS - 1) - 1) >> DROPPED_BITS
      scratch[n] = t - (high << DROPPED_BITS)
      return high
    })
    const start = t0Start + i * packedBytes(DROPPED_BITS)
    packBits(encoded, start, DROPPED_BITS, (n) => 2 ** (DROPPED_BITS - 1) - scratch[n]!)
    keep(lattice, at.t0 + i * INTEGERS, at.scratch)
    keep(lattice, at.s2 + i * INTEGERS, s2)
  }
  keepPublic(lattice, publicKey)
  encoded.set(keccak(SHAKE256, DIGEST_BYTES, publicKey), 2 * SEED_BYTES)
  const [kept, tr] = [encoded.subarray(SEED_BYTES, 2 * SEED_BYTES), encoded.subarray(2 * SEED_BYTES, SECRETS_START)]
  return { publicKey, encoded, k: kept, tr, block: copySecret(bytes.subarray(at.matrix, at.y)) }
}

function keep({ code }: Lattice, to: number, from: number): void {
  code.forward(from, from)
  code.narrow(to, from)
}

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

/** Reads number n. Numbers have 3, 4 or 10 bits, so each spans at most two bytes. */
function unpacked(from: Uint8Array, start: number, bits: number, n: number): number {
  const [at, shift] = [start + ((n * bits) >> 3), (n * bits) & 7]
  return ((from[at]! | (from[at + 1]! << 8)) >> shift) & (2 ** bits - 1)
}
