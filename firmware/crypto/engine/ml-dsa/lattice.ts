/**
 * The module of one parameter set and its memory: constants, then what is secret or of one operation only, which is wiped after each.
 * FIPS 204.
 */

import { wipe } from '../../../base/secret.ts'
import { balance, defineConstantsDefect } from '../constants.ts'
import { Fault } from '../fault.ts'
import type { Address, Products } from '../float/emitter.ts'
import { LIMB_BYTES } from '../float/machine.ts'
import {
  defineKeccak,
  type KeccakCode,
  PAIR_BYTES,
  pad,
  roundConstants,
  SHAKE128,
  STATE_BYTES,
  type Variant,
} from '../keccak.ts'
import { type Local, WasmModule } from '../wasm.ts'
import { PolynomialEmitter } from './emitter.ts'
import { DIGEST_BYTES, N, type Parameters, packedBytes } from './parameters.ts'
import { defineRounding, type RoundingCode } from './rounding-code.ts'
import { forward, inverse, narrow, row, transformTables } from './transform-code.ts'

/** Addresses of polynomials. */
export interface TransformCode {
  forward(to: number, from: number): void
  inverse(at: number): void
  /** One row of the matrix times a vector. */
  row(to: number, matrix: number, vector: number): void
  /** The same less challenge times t1. */
  rowLess(to: number, matrix: number, vector: number, challenge: number, t1: number): void
  /** Of a polynomial of the key and the challenge. */
  product(to: number, integers: number, challenge: number): void
  narrow(to: number, from: number): void
}

/** Bytes of a polynomial as doubles, and as integers of 32 bits. */
export const POLYNOMIAL = 8 * N
export const INTEGERS = 4 * N
/** Bytes of a polynomial's hints. */
export const HINTS = N / 4

/** Blocks taken out of a pair of states at once: enough for a polynomial of y, and nearly always for one of the matrix. */
export const BLOCKS = 5

function layoutOf({ rows, columns, signatureBytes, highBits }: Parameters) {
  let end = 0
  const take = (bytes: number): number => {
    const start = end
    end += Math.ceil(bytes / LIMB_BYTES) * LIMB_BYTES
    return start
  }
  const slack = LIMB_BYTES // for what reads or writes whole vectors
  const two = (bytes: number) => [take(bytes), take(bytes)] as const
  return {
    roundConstants: take(roundConstants().byteLength),
    tables: take(transformTables().byteLength),
    balance: take(LIMB_BYTES),
    secrets: end,
    state: take(STATE_BYTES),
    pair: take(PAIR_BYTES),
    outputs: two(BLOCKS * SHAKE128.rateBytes + slack),
    inputs: two(2 * SHAKE128.rateBytes),
    /** mu and then w1, as they are hashed. */
    hashed: take(DIGEST_BYTES + rows * packedBytes(highBits) + 2 * SHAKE128.rateBytes),
    challenge: take(POLYNOMIAL),
    t1: take(rows * INTEGERS),
    matrix: take(rows * columns * INTEGERS),
    s1: take(columns * INTEGERS),
    s2: take(rows * INTEGERS),
    t0: take(rows * INTEGERS),
    y: take(columns * POLYNOMIAL),
    transformed: take(columns * POLYNOMIAL),
    scratch: take(POLYNOMIAL),
    low: take(rows * INTEGERS),
    high: take(rows * INTEGERS),
    z: take(columns * INTEGERS),
    hints: take(rows * HINTS),
    signature: take(signatureBytes + slack),
    end: take(0),
  }
}

const PAGE_BYTES = 65_536

export class Lattice {
  readonly parameters: Parameters
  readonly at: ReturnType<typeof layoutOf>
  readonly code: KeccakCode & TransformCode & RoundingCode
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly integers: Int32Array
  readonly doubles: Float64Array
  readonly #constantsDefect: () => number

  constructor(parameters: Parameters, products: Products) {
    this.parameters = parameters
    this.at = layoutOf(parameters)
    const module = new WasmModule(Math.ceil(this.at.end / PAGE_BYTES))
    defineKeccak(module, this.at.roundConstants)
    defineTransforms(module, parameters, this.at.tables, products)
    defineRounding(module, parameters)
    defineConstantsDefect(module, this.at.secrets)
    const exports = module.instantiate()
    this.code = exports as unknown as Lattice['code']
    this.#constantsDefect = exports.constantsDefect as () => number
    const { buffer } = exports.memory
    this.bytes = new Uint8Array(buffer)
    this.integers = new Int32Array(buffer)
    this.doubles = new Float64Array(buffer)
    this.bytes.set(new Uint8Array(roundConstants().buffer), this.at.roundConstants)
    this.bytes.set(new Uint8Array(transformTables().buffer), this.at.tables)
    this.bytes.set(balance(this.bytes.subarray(0, this.at.balance)), this.at.balance)
  }

  /** Runs `work`, and leaves nothing of it in memory. Throws when the constants are not what they were. */
  use<T>(work: () => T): T {
    try {
      const result = work()
      if (this.#constantsDefect() !== 0) throw new Fault('a constant has changed in memory')
      return result
    } finally {
      wipe(this.bytes.subarray(this.at.secrets))
    }
  }

  /** The state after a message of so many bytes in memory, behind which there is room for two blocks. */
  absorb(message: number, bytes: number, variant: Variant): void {
    const { state } = this.at
    this.bytes.fill(0, state, state + STATE_BYTES)
    this.code.absorb(state, message, pad(this.bytes, message, bytes, variant), variant.rateBytes / 8)
  }

  /** The pair of states after the two messages in `inputs`, each shorter than a block. */
  absorbPair(bytes: number, variant: Variant): void {
    const { pair, inputs } = this.at
    this.bytes.fill(0, pair, pair + PAIR_BYTES)
    for (const input of inputs) pad(this.bytes, input, bytes, variant)
    this.code.absorbPair(pair, ...inputs, 1, variant.rateBytes / 8)
  }
}

function defineTransforms(module: WasmModule, { columns }: Parameters, tables: number, products: Products): void {
  const define = (
    name: keyof TransformCode,
    operands: number,
    body: (emitter: PolynomialEmitter, at: (operand: number) => Address) => void,
  ): void => {
    const types = Array.from({ length: operands }, () => 'i32' as const)
    module.define(name, types, [], (parameters: readonly Local[], local) => {
      const emitter = new PolynomialEmitter(local, products)
      body(emitter, (operand) => ({ base: parameters[operand]!, bytes: 0 }))
      return emitter.code
    })
  }
  const tablesAt: Address = { base: 0, bytes: tables }
  define('forward', 2, (emitter, at) => forward(emitter, at(0), at(1), tablesAt))
  define('inverse', 1, (emitter, at) => inverse(emitter, at(0), tablesAt))
  define('row', 3, (emitter, at) => row(emitter, columns, at(0), at(1), at(2)))
  define('rowLess', 5, (emitter, at) => row(emitter, columns, at(0), at(1), at(2), { challenge: at(3), t1: at(4) }))
  define('product', 3, (emitter, at) => row(emitter, 1, at(0), at(1), at(2)))
  define('narrow', 2, (emitter, at) => narrow(emitter, at(0), at(1)))
}
