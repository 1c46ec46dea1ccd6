/** Subjects of the timing test on ML-DSA: whole signatures of one round, and its parts on coefficients of two classes. */

import { randomBytes, randomInt } from 'node:crypto'
import type { Products } from '../../firmware/crypto/engine/float/emitter.ts'
import { expandSeed } from '../../firmware/crypto/engine/ml-dsa/key.ts'
import { Lattice, POLYNOMIAL } from '../../firmware/crypto/engine/ml-dsa/lattice.ts'
import { type MlDsaSet, N, PARAMETERS, Q, SEED_BYTES } from '../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { acceptBounded } from '../../firmware/crypto/engine/ml-dsa/sampling.ts'
import { sign } from '../../firmware/crypto/engine/ml-dsa/signature.ts'
import { copies, type Pool, pool } from './inputs.ts'
import { preparedSubject, type Subject } from './subject.ts'

const bytes = (length: number): Uint8Array => new Uint8Array(randomBytes(length))

export const mlDsaSubjects = (products: Products): Subject[] => [
  ...signatures('ML_DSA_65', products),
  ...parts('ML_DSA_44', products),
  ...parts('ML_DSA_65', products),
]

/**
 * Only of messages for which one round suffices: how many there are tells nothing of the key. A key is opened before every sample,
 * and no message is used twice; with a key that stayed open, or some hundred messages, classes that are alike differed.
 */
function signatures(set: MlDsaSet, products: Products): Subject[] {
  const lattice = new Lattice(PARAMETERS[set], products)
  const seed = () => bytes(SEED_BYTES)
  const prepare = (seed: Uint8Array) => {
    const key = expandSeed(lattice, seed)
    for (;;) {
      const [mu, hedge] = [bytes(64), bytes(SEED_BYTES)]
      if (isOneRound(lattice, key, mu, hedge)) return { key, mu, hedge }
    }
  }
  const operation = ({ key, mu, hedge }: ReturnType<typeof prepare>) => lattice.use(() => sign(lattice, key, mu, hedge))
  return [
    preparedSubject(`control: ${set}, random keys in both classes`, [pool(seed), pool(seed)], prepare, operation),
    preparedSubject(
      `${set}, a signature of one round: one key / many`,
      [copies(seed()), pool(seed)],
      prepare,
      operation,
    ),
  ]
}

function isOneRound(lattice: Lattice, key: Parameters<typeof sign>[1], mu: Uint8Array, hedge: Uint8Array): boolean {
  const another = new Error('a second round')
  const stop = () => {
    throw another
  }
  try {
    lattice.use(() => sign(lattice, key, mu, hedge, stop))
    return true
  } catch (error) {
    if (error === another) return false
    throw error
  }
}

const REPEATS = 20 // of operations that take some hundred nanoseconds

/** Coefficients as integers of 32 bits, put to where the operation finds them. */
function parts(set: MlDsaSet, products: Products): Subject[] {
  const lattice = new Lattice(PARAMETERS[set], products)
  const { at, code, doubles, integers, parameters } = lattice
  const { columns, gamma1Bits, gamma2, beta, eta } = parameters
  const gamma1 = 2 ** gamma1Bits
  const polynomial = (coefficient: () => number): Uint8Array =>
    new Uint8Array(Int32Array.from({ length: N }, coefficient).buffer)
  const eitherSign = (number: number) => (randomInt(2) === 0 ? number : -number)
  const small = () => pool(() => polynomial(() => eitherSign(randomInt(100))))
  const upTo = (bound: number) => () => pool(() => polynomial(() => eitherSign(bound - 1 - randomInt(100))))
  const zeros = () => copies(polynomial(() => 0))
  const random = (bound: number) => () => pool(() => polynomial(() => eitherSign(randomInt(bound))))
  const halves = Q >> 1

  for (let i = 0; i < columns * N; i++) integers[at.matrix / 4 + i] = randomInt(Q)
  /** They are doubles in `scratch` and, as often as the matrix has columns, in `y`, and integers in `low`. */
  const measured = (name: string, pools: [Pool, Pool], operation: () => unknown): Subject => {
    const place = (input: Uint8Array): void => {
      const given = new Int32Array(input.slice().buffer)
      doubles.set(given, at.scratch / 8)
      for (let j = 0; j < columns; j++) doubles.set(given, at.y / 8 + j * N)
      integers.set(given, at.low / 4)
    }
    const repeat = (): void => {
      for (let i = 0; i < REPEATS; i++) operation()
    }
    return preparedSubject(`${set}, ${name}`, pools, place, repeat)
  }
  const [nothing, result] = [at.vector, at.s1] // one is never written, the other never read
  const edges = upTo(gamma2 - beta)
  return [
    measured('control: decompose, small in both classes', [small(), small()], () =>
      code.decompose(at.scratch, at.high, result, at.commitment),
    ),
    measured('decompose: around 0 / at the edges, both signs', [small(), edges()], () =>
      code.decompose(at.scratch, at.high, result, at.commitment),
    ),
    measured('norm of z: around 0 / at the bound, both signs', [small(), upTo(gamma1 - beta)()], () =>
      code.respond(at.signature, at.scratch, nothing),
    ),
    measured('norm of w0: around 0 / at the bound, both signs', [small(), edges()], () => code.lessen(at.low, nothing)),
    measured('hints: around 0 / at the edges, both signs', [small(), upTo(gamma2)()], () =>
      code.hint(at.hints, at.low, at.t0, nothing),
    ),
    measured('transform: zeros / random', [zeros(), random(gamma1)()], () => code.forward(result, at.scratch)),
    measured('inverse transform: zeros / random', [zeros(), random(halves)()], () => {
      lattice.bytes.copyWithin(result, at.scratch, at.scratch + POLYNOMIAL)
      code.inverse(result)
    }),
    measured('product: zeros / random', [zeros(), random(halves)()], () => code.product(result, at.low, at.scratch)),
    measured('row: zeros / random', [zeros(), random(halves)()], () => code.row(result, at.matrix, at.y)),
    measured('packing of z: zeros / random', [zeros(), random(gamma1 - beta)()], () =>
      code.respond(at.signature, at.scratch, nothing),
    ),
    accepted(lattice, set, eta),
    {
      ...measured('control: a norm that ends early by sign, leaks', [small(), upTo(gamma2)()], () =>
        endsEarly(integers, at.low / 4, gamma2 - 200),
      ),
      leaks: true,
    },
  ]
}

/** Nibbles that are all accepted: where others are rejected may be seen. */
function accepted(lattice: Lattice, set: MlDsaSet, eta: 2 | 4): Subject {
  const nibble = () => randomInt(eta === 2 ? 15 : 9)
  const block = () => Uint8Array.from({ length: N / 2 }, () => nibble() | (nibble() << 4))
  const pools = [copies(new Uint8Array(N / 2)), pool(block)] as const
  const operation = (hash: Uint8Array) => acceptBounded(lattice, lattice.at.y, hash)
  return preparedSubject(`${set}, opening: accepted values all the same / random`, pools, (hash) => hash, operation)
}

/** Leaks on purpose, never use it with a secret: the first coefficient above the bound, but none below its negative, ends it. */
function endsEarly(integers: Int32Array, start: number, bound: number): boolean {
  for (let n = 0; n < N; n++) if (integers[start + n]! > bound) return true
  return false
}
