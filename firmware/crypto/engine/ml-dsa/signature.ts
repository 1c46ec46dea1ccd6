/** Signs and verifies with keys in memory. FIPS 204, sections 6.2, 6.3 and 7.2. */

import { timingSafeEqual } from 'node:crypto'
import { CofferError } from '../../../base/error.ts'
import { wipe } from '../../../base/secret.ts'
import { keccak, SHAKE256 } from '../keccak.ts'
import { INTEGERS, type Lattice, matrixEntry, POLYNOMIAL } from './lattice.ts'
import { DIGEST_BYTES, N } from './parameters.ts'
import { expandChallenge, expandMask } from './sampling.ts'

/** Reason for rejecting a round. The round and the polynomial may be public, the coefficient and its sign may not. */
export type Rejection = 'z' | 'w0' | 't0' | 'hints'

const ROUNDS_MAX = 814 // FIPS 204, appendix C: exceeded once in 2^256 signatures

/**
 * Signs mu with 32 random bytes, or with zeros for deterministic signatures. Call it inside `use`. The block of the key stays in
 * memory for `verify`.
 */
export function sign(
  lattice: Lattice,
  key: { k: Uint8Array; block: Uint8Array },
  mu: Uint8Array,
  random: Uint8Array,
  onRejection: (rejection: Rejection) => void = () => {},
): Uint8Array {
  const { at, bytes, parameters } = lattice
  bytes.set(key.block, at.matrix)
  const rhoPrime = keccak(SHAKE256, DIGEST_BYTES, key.k, random, mu)
  try {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const rejection = attempt(lattice, mu, rhoPrime, round * parameters.columns)
      if (rejection === undefined) return bytes.slice(at.signature, at.signature + parameters.signatureBytes)
      onRejection(rejection)
    }
  } finally {
    wipe(rhoPrime)
  }
  throw new CofferError('internal', 'No signature after all rounds')
}

/** One round. Writes a signature to memory unless it is rejected. */
function attempt(lattice: Lattice, mu: Uint8Array, rhoPrime: Uint8Array, kappa: number): Rejection | undefined {
  const { at, bytes, code, parameters } = lattice
  const { rows, columns, highBytes, challengeBytes, responseBytes } = parameters
  expandMask(lattice, rhoPrime, kappa)
  for (let j = 0; j < columns; j++) code.forward(at.vector + j * POLYNOMIAL, at.y + j * POLYNOMIAL)
  for (let i = 0; i < rows; i++) {
    code.row(at.scratch, matrixEntry(lattice, i, 0), at.vector)
    code.inverse(at.scratch)
    code.decompose(at.scratch, at.low + i * INTEGERS, at.high + i * INTEGERS, at.commitment + i * highBytes)
  }
  const challenge = hashCommitment(lattice, mu)
  bytes.set(challenge, at.signature)
  expandChallenge(lattice, challenge)
  const multiply = (integers: number): number => {
    code.product(at.scratch, integers, at.challenge)
    code.inverse(at.scratch)
    return at.scratch
  }
  for (let j = 0; j < columns; j++) {
    const response = at.signature + challengeBytes + j * responseBytes
    if (code.respond(response, at.y + j * POLYNOMIAL, multiply(at.s1 + j * INTEGERS)) !== 0) return 'z'
  }
  for (let i = 0; i < rows; i++) {
    if (code.lessen(at.low + i * INTEGERS, multiply(at.s2 + i * INTEGERS)) !== 0) return 'w0'
  }
  for (let i = 0; i < rows; i++) {
    const place = i * INTEGERS
    if (code.hint(at.hints + place, at.low + place, at.high + place, multiply(at.t0 + place)) !== 0) return 't0'
  }
  return listHints(lattice) ? undefined : 'hints'
}

/**
 * True if the signature, in the caller's memory, is valid for mu. Call it inside `use`, with t1 and the matrix in memory. All
 * inputs are public.
 */
export function verify(lattice: Lattice, mu: Uint8Array, signature: Uint8Array): boolean {
  const { at, bytes, code, parameters } = lattice
  const { rows, columns, highBytes, challengeBytes, responseBytes, signatureBytes } = parameters
  if (signature.length !== signatureBytes) return false
  bytes.set(signature, at.signature)
  for (let j = 0; j < columns; j++) {
    const z = at.y + j * POLYNOMIAL
    if (code.unpack(z, at.signature + challengeBytes + j * responseBytes) !== 0) return false
    code.forward(at.vector + j * POLYNOMIAL, z)
  }
  if (!readHints(lattice)) return false
  const challenge = signature.subarray(0, challengeBytes)
  expandChallenge(lattice, challenge)
  for (let i = 0; i < rows; i++) {
    code.wholeRow(at.scratch, matrixEntry(lattice, i, 0), at.vector)
    code.inverse(at.scratch)
    code.useHints(at.commitment + i * highBytes, at.scratch, at.hints + i * INTEGERS)
  }
  return timingSafeEqual(hashCommitment(lattice, mu), challenge)
}

/** Hash for the challenge: of mu and of w1, which is packed in memory. */
function hashCommitment({ at, bytes, parameters }: Lattice, mu: Uint8Array): Uint8Array {
  const { rows, highBytes, challengeBytes } = parameters
  return keccak(SHAKE256, challengeBytes, mu, bytes.subarray(at.commitment, at.commitment + rows * highBytes))
}

/**
 * Writes the positions of the hints unless there are too many. This is the last check, so positions written are part of the
 * signature. Too many hints are rare and may affect the time: they reveal as much about a rejected signature as is public of an
 * accepted one.
 */
function listHints(lattice: Lattice): boolean {
  const { rows, omega } = lattice.parameters
  const { hints, listed } = hintsOf(lattice)
  let count = 0
  for (let i = 0; i < rows; i++) {
    for (let n = 0; n < N; n++) {
      if (hints[i * N + n] === 0) continue
      if (count === omega) return false
      listed[count++] = n
    }
    listed[omega + i] = count
  }
  listed.fill(0, count, omega)
  return true
}

/** Algorithm 21: positions must ascend in each polynomial, and unused bytes must be zero. */
function readHints(lattice: Lattice): boolean {
  const { rows, omega } = lattice.parameters
  const { hints, listed } = hintsOf(lattice)
  hints.fill(0)
  let count = 0
  for (let i = 0; i < rows; i++) {
    const end = listed[omega + i]!
    if (end < count || end > omega) return false
    for (const first = count; count < end; count++) {
      const place = listed[count]!
      if (count > first && listed[count - 1]! >= place) return false
      hints[i * N + place] = -1
    }
  }
  return listed.subarray(count, omega).every((place) => place === 0)
}

/** Views of all hints, and of the list of their positions at the end of the signature. */
function hintsOf({ at, bytes, integers, parameters: { rows, omega, signatureBytes } }: Lattice) {
  const end = at.signature + signatureBytes
  const hints = integers.subarray(at.hints / 4, at.hints / 4 + rows * N)
  return { hints, listed: bytes.subarray(end - omega - rows, end) }
}
