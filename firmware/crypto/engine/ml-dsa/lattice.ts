/**
 * Module of one parameter set (FIPS 204) and its memory: constants, then data that is secret or belongs to one operation and is
 * wiped after it.
 */

import { wipe } from '../../../base/secret.ts'
import { balance, defineConstantsDefect } from '../constants.ts'
import { Fault } from '../fault.ts'
import type { CodeAddress, Products } from '../float/emitter.ts'
import { SIGNED } from '../float/format.ts'
import { LIMB_BYTES } from '../float/machine.ts'
import { expectKeccakConstants } from '../keccak.ts'
import { WasmModule } from '../wasm.ts'
import { PolynomialEmitter } from './emitter.ts'
import { type MlDsaParameters, N } from './parameters.ts'
import { defineRounding, type RoundingCode } from './rounding-code.ts'
import { forward, inverse, row, transformTables } from './transform-code.ts'

/** Arguments are addresses of polynomials. */
interface TransformCode {
  forward(to: number, from: number): void
  inverse(at: number): void
  /** Multiplies one row of the matrix with a vector. `wholeRow` also includes -t1 and the challenge. */
  row(to: number, matrix: number, vector: number): void
  wholeRow(to: number, matrix: number, vector: number): void
  product(to: number, integers: number, challenge: number): void
}

/** Bytes of a polynomial as doubles, and as 32-bit integers. */
export const POLYNOMIAL = 8 * N
export const INTEGERS = 4 * N

function layoutOf({ rows, columns, responseBytes, highBytes, signatureBytes }: MlDsaParameters) {
  let end = 0
  const take = (bytes: number): number => {
    const start = end
    end += Math.ceil(bytes / LIMB_BYTES) * LIMB_BYTES
    return start
  }
  const slack = LIMB_BYTES // for accesses to complete vectors
  return {
    tables: take(transformTables().byteLength),
    balance: take(LIMB_BYTES),
    secrets: end,
    /** -t1 follows each row, and the challenge follows the vector. */
    matrix: take(rows * (columns + 1) * INTEGERS),
    s1: take(columns * INTEGERS),
    s2: take(rows * INTEGERS),
    t0: take(rows * INTEGERS),
    y: take(columns * POLYNOMIAL),
    vector: take(columns * POLYNOMIAL),
    challenge: take(POLYNOMIAL),
    scratch: take(POLYNOMIAL),
    low: take(rows * INTEGERS),
    high: take(rows * INTEGERS),
    hints: take(rows * INTEGERS),
    masks: [take(responseBytes + slack), take(responseBytes + slack)] as const,
    commitment: take(rows * highBytes + slack),
    signature: take(signatureBytes + slack),
    end: take(0),
  }
}

export const matrixEntry = ({ at, parameters }: Lattice, row: number, column: number): number =>
  at.matrix + (row * (parameters.columns + 1) + column) * INTEGERS

export class Lattice {
  readonly parameters: MlDsaParameters
  readonly at: ReturnType<typeof layoutOf>
  readonly code: TransformCode & RoundingCode & { constantsDefect(): number }
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly integers: Int32Array
  readonly doubles: Float64Array

  constructor(parameters: MlDsaParameters, products: Products) {
    this.parameters = parameters
    this.at = layoutOf(parameters)
    const module = new WasmModule(Math.ceil(this.at.end / 65_536))
    defineTransforms(module, parameters, this.at.tables, products)
    defineRounding(module, parameters)
    defineConstantsDefect(module, this.at.secrets)
    const exports = module.instantiate()
    this.code = exports as unknown as Lattice['code']
    const { buffer } = exports.memory
    this.bytes = new Uint8Array(buffer)
    this.integers = new Int32Array(buffer)
    this.doubles = new Float64Array(buffer)
    this.doubles.set(transformTables(), this.at.tables / 8)
    this.bytes.set(balance(this.bytes.subarray(0, this.at.balance)), this.at.balance)
  }

  /** Runs `work`, then clears the memory. Throws `Fault` if constants have changed, including those of Keccak. */
  use<T>(work: () => T): T {
    try {
      const result = work()
      if (this.code.constantsDefect() !== 0) throw new Fault('a constant has changed in memory')
      expectKeccakConstants()
      return result
    } finally {
      wipe(this.bytes.subarray(this.at.secrets))
    }
  }
}

function defineTransforms(
  module: WasmModule,
  { columns }: MlDsaParameters,
  tablesAt: number,
  products: Products,
): void {
  const define = (
    name: keyof TransformCode,
    operands: number,
    body: (emitter: PolynomialEmitter, a: CodeAddress, b: CodeAddress, c: CodeAddress) => void,
  ): void => {
    const types = Array.from({ length: operands }, () => 'i32' as const)
    module.define(name, types, [], (parameters, local) => {
      const emitter = new PolynomialEmitter(local, SIGNED, products)
      const [a, b, c] = parameters.map((base) => ({ base, bytes: 0 }))
      body(emitter, a!, b!, c!)
      return emitter.code
    })
  }
  const tables: CodeAddress = { base: 0, bytes: tablesAt }
  define('forward', 2, (emitter, to, from) => forward(emitter, to, from, tables))
  define('inverse', 1, (emitter, at) => inverse(emitter, at, tables))
  define('row', 3, (emitter, ...at) => row(emitter, columns, ...at, tables))
  define('wholeRow', 3, (emitter, ...at) => row(emitter, columns + 1, ...at, tables))
  define('product', 3, (emitter, ...at) => row(emitter, 1, ...at, tables))
}
