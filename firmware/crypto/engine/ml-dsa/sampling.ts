/** Polynomials from hashes: FIPS 204, section 7.3. */

import { SHAKE128, SHAKE256 } from '../keccak.ts'
import { BLOCKS, INTEGERS, type Lattice, POLYNOMIAL } from './lattice.ts'
import { DIGEST_BYTES, N, Q, SEED_BYTES } from './parameters.ts'

/** ExpandA: the matrix of a public key, as the transform orders its coefficients. All of it is public. */
export function expandMatrix(lattice: Lattice, rho: Uint8Array): void {
  const { at, code, parameters } = lattice
  const { rows, columns } = parameters
  const words = SHAKE128.rateBytes / 8
  for (let first = 0; first < rows * columns; first += 2) {
    for (const [i, input] of at.inputs.entries()) {
      const row = Math.floor((first + i) / columns)
      place(lattice, input, rho, first + i - row * columns, row)
    }
    lattice.absorbPair(SEED_BYTES + 2, SHAKE128)
    code.squeezePair(at.pair, ...at.outputs, BLOCKS, words)
    const targets = [0, 1].map((i) => at.matrix + (first + i) * INTEGERS)
    let counts = targets.map((target, i) => sampleUniform(lattice, target, 0, at.outputs[i]!, BLOCKS))
    while (counts.some((count) => count < N)) {
      code.permutePair(at.pair)
      code.squeezePair(at.pair, ...at.outputs, 1, words)
      counts = targets.map((target, i) => sampleUniform(lattice, target, counts[i]!, at.outputs[i]!, 1))
    }
  }
}

/** Adds to the first `count` coefficients, and says how many there are then. */
function sampleUniform(lattice: Lattice, target: number, count: number, from: number, blocks: number): number {
  const { bytes, integers } = lattice
  const end = from + blocks * SHAKE128.rateBytes
  let found = count
  for (let i = from; i < end && found < N; i += 3) {
    const value = bytes[i]! | (bytes[i + 1]! << 8) | ((bytes[i + 2]! & 0x7f) << 16)
    if (value < Q) integers[target / 4 + transformOrder(found++)] = value
  }
  return found
}

/** Of four coefficients, the transform exchanges the second and the third. */
const transformOrder = (i: number): number => (i & ~3) | ((i & 1) << 1) | ((i >> 1) & 1)

/**
 * ExpandS: a polynomial of s1 or s2 to doubles, from the 64 bytes of rho'. Which values are rejected may be seen, and an accepted
 * one may not: no table is read where it says, and nothing is divided.
 */
export function sampleBounded(lattice: Lattice, target: number, rhoPrime: Uint8Array, index: number): void {
  const { at, code } = lattice
  const [input] = at.inputs
  place(lattice, input, rhoPrime, index, 0)
  lattice.absorb(input, DIGEST_BYTES + 2, SHAKE256)
  for (let count = 0; ; code.permute(at.state)) {
    count = acceptBounded(lattice, target, count)
    if (count === N) return
  }
}

/** Adds what a block of the state gives to the first `count` coefficients, and says how many there are then. */
export function acceptBounded({ at, bytes, doubles, parameters }: Lattice, target: number, count: number): number {
  const { eta } = parameters
  const limit = eta === 2 ? 15 : 9
  let found = count
  for (let i = 0; i < 2 * SHAKE256.rateBytes && found < N; i++) {
    const value = (bytes[at.state + (i >> 1)]! >> (4 * (i & 1))) & 15
    if (value >= limit) continue
    const residue = eta === 2 ? value - 5 * ((value * 205) >> 10) : value
    doubles[target / 8 + found++] = eta - residue
  }
  return found
}

/** ExpandMask: y, from rho'' and a counter. */
export function expandMask(lattice: Lattice, rhoPrime: Uint8Array, kappa: number): void {
  const { at, code, parameters } = lattice
  const words = SHAKE256.rateBytes / 8
  const target = (column: number): number => at.y + column * POLYNOMIAL
  const [first, second] = at.inputs
  for (let column = 0; column < parameters.columns; column += 2) {
    place(lattice, first, rhoPrime, kappa + column, (kappa + column) >> 8)
    if (column + 1 < parameters.columns) {
      place(lattice, second, rhoPrime, kappa + column + 1, (kappa + column + 1) >> 8)
      lattice.absorbPair(DIGEST_BYTES + 2, SHAKE256)
      code.squeezePair(at.pair, ...at.outputs, BLOCKS, words)
      code.unpack(target(column + 1), at.outputs[1])
    } else {
      lattice.absorb(first, DIGEST_BYTES + 2, SHAKE256)
      code.squeeze(at.state, at.outputs[0], BLOCKS, words)
    }
    code.unpack(target(column), at.outputs[0])
  }
}

/** A seed and two bytes, as they are hashed. */
function place({ bytes }: Lattice, input: number, seed: Uint8Array, first: number, second: number): void {
  bytes.set(seed, input)
  bytes[input + seed.length] = first
  bytes[input + seed.length + 1] = second
}

/** SampleInBall: the challenge of a hash that is in memory, transformed. A hash that is rejected later counts as public, too. */
export function expandChallenge(lattice: Lattice, hash: number): void {
  const { at, bytes, doubles, code, parameters } = lattice
  const [input] = at.inputs
  const { tau, challengeBytes } = parameters
  bytes.copyWithin(input, hash, hash + challengeBytes)
  lattice.absorb(input, challengeBytes, SHAKE256)
  const coefficients = doubles.subarray(at.challenge / 8, at.challenge / 8 + N)
  bytes.fill(0, at.challenge, at.challenge + POLYNOMIAL)
  const signs = bytes.slice(at.state, at.state + 8)
  let next = at.state + 8
  for (let i = N - tau; i < N; i++) {
    let place: number
    do {
      if (next === at.state + SHAKE256.rateBytes) {
        code.permute(at.state)
        next = at.state
      }
      place = bytes[next++]!
    } while (place > i)
    const bit = i - (N - tau)
    coefficients[i] = coefficients[place]!
    coefficients[place] = 1 - 2 * ((signs[bit >> 3]! >> (bit & 7)) & 1)
  }
  code.forward(at.challenge, at.challenge)
}
