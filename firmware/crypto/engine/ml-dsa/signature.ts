/** Signing and verification with keys that lie ready. FIPS 204, sections 6.2, 6.3 and 7.2. */

import { CofferError } from '../../../base/error.ts'
import { copySecret, wipe } from '../../../base/secret.ts'
import { SHAKE256 } from '../keccak.ts'
import { HINTS, INTEGERS, type Lattice, POLYNOMIAL } from './lattice.ts'
import { DIGEST_BYTES, N, SEED_BYTES } from './parameters.ts'
import { expandChallenge, expandMask } from './sampling.ts'

/** Why a round gave no signature: which polynomial it was and which round may be known, the coefficient and its sign may not. */
export type Rejection = 'z' | 'w0' | 't0' | 'hints'

export const ROUNDS_MAX = 814 // FIPS 204, appendix C: more are needed once in 2^256 signatures

/**
 * Of mu, with 32 random bytes, or zeros for what is called deterministic. To be called inside of `use`. The block of the key stays in
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
  bytes.set(key.block, at.t1)
  const [input] = at.inputs
  bytes.set(key.k, input)
  bytes.set(random, input + SEED_BYTES)
  bytes.set(mu, input + 2 * SEED_BYTES)
  lattice.absorb(input, 2 * SEED_BYTES + DIGEST_BYTES, SHAKE256)
  const rhoPrime = copySecret(bytes.subarray(at.state, at.state + DIGEST_BYTES))
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

/** One round, which leaves a signature in memory unless it is rejected. */
function attempt(lattice: Lattice, mu: Uint8Array, rhoPrime: Uint8Array, kappa: number): Rejection | undefined {
  const { at, bytes, code, parameters } = lattice
  const { rows, columns, highBits, challengeBytes, responseBytes } = parameters
  const highBytes = (N / 8) * highBits
  expandMask(lattice, rhoPrime, kappa)
  for (let j = 0; j < columns; j++) code.forward(at.transformed + j * POLYNOMIAL, at.y + j * POLYNOMIAL)
  for (let i = 0; i < rows; i++) {
    code.row(at.scratch, at.matrix + i * columns * INTEGERS, at.transformed)
    code.inverse(at.scratch)
    const packed = at.hashed + DIGEST_BYTES + i * highBytes
    code.decompose(at.scratch, at.low + i * INTEGERS, at.high + i * INTEGERS, packed)
  }
  hashCommitment(lattice, mu)
  bytes.copyWithin(at.signature, at.state, at.state + challengeBytes)
  expandChallenge(lattice, at.signature)
  const multiply = (integers: number): number => {
    code.product(at.scratch, integers, at.challenge)
    code.inverse(at.scratch)
    return at.scratch
  }
  for (let j = 0; j < columns; j++) {
    const product = multiply(at.s1 + j * INTEGERS)
    if (code.respond(at.z + j * INTEGERS, at.y + j * POLYNOMIAL, product) !== 0) return 'z'
  }
  for (let i = 0; i < rows; i++) {
    if (code.lessen(at.low + i * INTEGERS, multiply(at.s2 + i * INTEGERS)) !== 0) return 'w0'
  }
  for (let i = 0; i < rows; i++) {
    const product = multiply(at.t0 + i * INTEGERS)
    const [low, high] = [at.low + i * INTEGERS, at.high + i * INTEGERS]
    if (code.hint(at.hints + i * HINTS, low, high, product) !== 0) return 't0'
  }
  for (let j = 0; j < columns; j++) {
    code.pack(at.signature + challengeBytes + j * responseBytes, at.z + j * INTEGERS)
  }
  return listHints(lattice) ? undefined : 'hints'
}

/**
 * Whether the signature in this caller's hands is one of mu. To be called inside of `use`, with t1 and the matrix in memory.
 * Everything here is public.
 */
export function verify(lattice: Lattice, mu: Uint8Array, signature: Uint8Array): boolean {
  const { at, bytes, code, parameters } = lattice
  const { rows, columns, highBits, challengeBytes, responseBytes, signatureBytes } = parameters
  if (signature.length !== signatureBytes) return false
  bytes.set(signature, at.signature)
  for (let j = 0; j < columns; j++) {
    const z = at.y + j * POLYNOMIAL
    if (code.unpack(z, at.signature + challengeBytes + j * responseBytes) !== 0) return false
    code.forward(at.transformed + j * POLYNOMIAL, z)
  }
  if (!readHints(lattice)) return false
  expandChallenge(lattice, at.signature)
  for (let i = 0; i < rows; i++) {
    const [matrix, t1] = [at.matrix + i * columns * INTEGERS, at.t1 + i * INTEGERS]
    code.rowLess(at.scratch, matrix, at.transformed, at.challenge, t1)
    code.inverse(at.scratch)
    code.useHints(at.hashed + DIGEST_BYTES + (i * N * highBits) / 8, at.scratch, at.hints + i * HINTS)
  }
  hashCommitment(lattice, mu)
  let difference = 0
  for (let i = 0; i < challengeBytes; i++) difference |= bytes[at.state + i]! ^ signature[i]!
  return difference === 0
}

/** The challenge's hash of mu and of w1, which is packed in memory: at the start of the state. */
function hashCommitment(lattice: Lattice, mu: Uint8Array): void {
  const { at, bytes, parameters } = lattice
  bytes.set(mu, at.hashed)
  lattice.absorb(at.hashed, DIGEST_BYTES + (parameters.rows * N * parameters.highBits) / 8, SHAKE256)
}

/**
 * Writes the places of the hints, unless they are too many. Nothing else can fail then: they are part of the signature. Those that are
 * too many, which is rare, may show in time; they tell what a signature that is given out tells, of one that is not.
 */
function listHints(lattice: Lattice): boolean {
  const { at, bytes, parameters } = lattice
  const start = hintsStart(lattice)
  bytes.fill(0, start, start + parameters.omega + parameters.rows)
  let count = 0
  for (let i = 0; i < parameters.rows; i++) {
    for (let four = 0; four < HINTS; four++) {
      const bits = bytes[at.hints + i * HINTS + four]!
      if (bits === 0) continue
      for (let lane = 0; lane < 4; lane++) {
        if (((bits >> lane) & 1) === 0) continue
        if (count === parameters.omega) return false
        bytes[start + count++] = 4 * four + lane
      }
    }
    bytes[start + parameters.omega + i] = count
  }
  return true
}

/** Algorithm 21: places ascend in each polynomial, and what is not used is zero. */
function readHints(lattice: Lattice): boolean {
  const { at, bytes, parameters } = lattice
  const { rows, omega } = parameters
  const start = hintsStart(lattice)
  bytes.fill(0, at.hints, at.hints + rows * HINTS)
  let count = 0
  for (let i = 0; i < rows; i++) {
    const end = bytes[start + omega + i]!
    if (end < count || end > omega) return false
    for (const first = count; count < end; count++) {
      const place = bytes[start + count]!
      if (count > first && bytes[start + count - 1]! >= place) return false
      bytes[at.hints + i * HINTS + (place >> 2)]! |= 1 << (place & 3)
    }
  }
  for (; count < omega; count++) if (bytes[start + count] !== 0) return false
  return true
}

const hintsStart = ({ at, parameters }: Lattice): number =>
  at.signature + parameters.challengeBytes + parameters.columns * parameters.responseBytes
