/** Samples polynomials from hashes (FIPS 204, section 7.3 and appendix C). Hashes are so long that they do not suffice once in 2^256. */

import { wipe } from '../../../base/secret.ts'
import { keccak, keccakPair, SHAKE128, SHAKE256 } from '../keccak.ts'
import { type Lattice, matrixEntry, POLYNOMIAL } from './lattice.ts'
import { N, Q } from './parameters.ts'

const UNIFORM_BYTES = 894
const BOUNDED_BYTES = 481
const CHALLENGE_BYTES = 221

/** ExpandA: the matrix of a public key, in the coefficient order of the transform. All of it is public. */
export function expandMatrix(lattice: Lattice, rho: Uint8Array): void {
  const { rows, columns } = lattice.parameters
  const entries = Array.from({ length: rows * columns }, (_, i) => [Math.floor(i / columns), i % columns] as const)
  const [first, second] = [new Uint8Array(UNIFORM_BYTES), new Uint8Array(UNIFORM_BYTES)]
  for (let i = 0; i < entries.length; i += 2) {
    const [a, b] = [entries[i]!, entries[i + 1]!]
    keccakPair(SHAKE128, rho, [256 * a[0] + a[1], 256 * b[0] + b[1]], [first, second])
    acceptUniform(lattice, matrixEntry(lattice, ...a), first)
    acceptUniform(lattice, matrixEntry(lattice, ...b), second)
  }
}

function acceptUniform({ integers }: Lattice, target: number, hash: Uint8Array): void {
  let found = 0
  for (let i = 0; i < hash.length && found < N; i += 3) {
    const value = hash[i]! | (hash[i + 1]! << 8) | ((hash[i + 2]! & 0x7f) << 16)
    if (value < Q) integers[target / 4 + transformOrder(found++)] = value
  }
  expectEnough(found === N)
}

/** The transform exchanges the second and third of four coefficients. */
const transformOrder = (i: number): number => (i & ~3) | ((i & 1) << 1) | ((i >> 1) & 1)

/** ExpandS: writes a polynomial of s1 or s2 as doubles, from the 64 bytes of rho'. */
export function sampleBounded(lattice: Lattice, target: number, rhoPrime: Uint8Array, index: number): void {
  const hash = keccak(SHAKE256, BOUNDED_BYTES, rhoPrime, Uint8Array.of(index, 0))
  try {
    acceptBounded(lattice, target, hash)
  } finally {
    wipe(hash)
  }
}

/** The time may reveal rejected values, but not accepted ones: these index no table and are not divided. */
export function acceptBounded({ doubles, parameters: { eta } }: Lattice, target: number, hash: Uint8Array): void {
  const limit = eta === 2 ? 15 : 9
  let found = 0
  for (let i = 0; i < 2 * hash.length && found < N; i++) {
    const value = (hash[i >> 1]! >> (4 * (i & 1))) & 15
    if (value >= limit) continue
    const residue = eta === 2 ? value - 5 * ((value * 205) >> 10) : value
    doubles[target / 8 + found++] = eta - residue
  }
  expectEnough(found === N)
}

/**
 * ExpandMask: y from rho'' and a counter. If the number of columns is odd, the surplus polynomial is written to memory that the
 * transform of y overwrites.
 */
export function expandMask({ at, bytes, code, parameters }: Lattice, rhoPrime: Uint8Array, kappa: number): void {
  const [first, second] = at.masks
  const viewOf = (place: number) => bytes.subarray(place, place + parameters.responseBytes)
  const masks = [viewOf(first), viewOf(second)] as const
  for (let column = 0; column < parameters.columns; column += 2) {
    keccakPair(SHAKE256, rhoPrime, [kappa + column, kappa + column + 1], masks)
    code.unpack(at.y + column * POLYNOMIAL, first)
    code.unpack(at.y + (column + 1) * POLYNOMIAL, second)
  }
}

/** SampleInBall: the transformed challenge of a hash. Hashes count as public even if their signature is rejected. */
export function expandChallenge({ at, doubles, code, parameters: { tau } }: Lattice, hash: Uint8Array): void {
  const stream = keccak(SHAKE256, CHALLENGE_BYTES, hash)
  const start = at.challenge / 8
  const coefficients = doubles.fill(0, start, start + N).subarray(start, start + N)
  let next = 8 // after the signs
  for (let i = N - tau; i < N; i++) {
    while (stream[next]! > i) next++
    const [place, bit] = [stream[next++]!, i - (N - tau)]
    coefficients[i] = coefficients[place]!
    coefficients[place] = 1 - 2 * ((stream[bit >> 3]! >> (bit & 7)) & 1)
  }
  expectEnough(next <= CHALLENGE_BYTES)
  code.forward(at.challenge, at.challenge)
}

function expectEnough(isEnough: boolean): void {
  if (!isEnough) throw new RangeError('A hash of ML-DSA is too short')
}
