/**
 * Generators of polynomial arithmetic modulo q (FIPS 204, sections 7.5 and 7.6) for an abstract machine. One implementation emits
 * WebAssembly (emitter.ts), another one computes with bounds (checker.ts in the tests). Coefficients are integers stored as
 * doubles, two per limb, and are reduced where a product could exceed 2^53.
 */

import type { FloatMachine } from '../float/machine.ts'
import { N, Q } from './parameters.ts'

export interface PolynomialMachine<V, P>
  extends Pick<FloatMachine<V, P, unknown>, 'load' | 'store' | 'at' | 'plus' | 'minus' | 'repeat'> {
  times(a: V, b: V): V
  plusProduct(sum: V, a: V, b: V): V
  /** a times a factor, modulo q: at most q / 2 + 1. `share` is the factor divided by q. */
  modular(a: V, factor: V, share: V): V
  /** Exchanges lanes: a0 a1 and a2 a3 become a0 a2 and a1 a3, and vice versa. */
  exchanged(a: V, b: V): [V, V]
  /** Converts two of the four 32-bit integers in one limb to doubles. */
  widen(from: P, limb: number, half: 0 | 1): V
}

/** Limbs of a polynomial as doubles, and as 32-bit integers. */
export const POLYNOMIAL_LIMBS = N / 2
export const INTEGER_LIMBS = N / 4

const LAYERS = [0, 1, 2, 3, 4, 5, 6, 7] as const
/** The layer whose halves are the two lanes. */
const LAST = LAYERS.length - 1

/**
 * Factors of the transforms, each with its share of q. For all layers but the last, factor k is in both lanes at limb 2 k.
 * Factors of the last layer follow in pairs. No layer uses factor 0: it is 1, and in the inverse transform it divides by 256, as
 * its factor 1 does, too.
 */
const TABLE_LIMBS = N + N / 2
export const TABLES_LIMBS = 2 * TABLE_LIMBS

/** Transforms into the order a0 a2 a1 a3. The result is not reduced. */
export function forward<V, P>(machine: PolynomialMachine<V, P>, to: P, from: P, tables: P): void {
  for (const layer of LAYERS) {
    eachPair(machine, layer, layer === 0 ? from : to, to, tables, (first, second, factor) => {
      const [a, b] = layer === LAST ? machine.exchanged(first, second) : [first, second]
      const product = machine.modular(b, ...factor)
      return [machine.plus(a, product), machine.minus(a, product)]
    })
  }
}

/** Expects reduced input; the result is reduced. */
export function inverse<V, P>(machine: PolynomialMachine<V, P>, at: P, allTables: P): void {
  const tables = machine.at(allTables, TABLE_LIMBS)
  for (const layer of LAYERS.toReversed()) {
    eachPair(machine, layer, at, at, tables, (first, second, factor) => {
      const sum = machine.plus(first, second)
      const difference = machine.modular(machine.minus(first, second), ...factor)
      if (layer === LAST) return machine.exchanged(sum, difference)
      return [layer === 0 ? machine.modular(sum, ...factorAt(machine, tables)) : sum, difference]
    })
  }
}

type Factor<V> = [factor: V, share: V]

const factorAt = <V, P>(machine: PolynomialMachine<V, P>, at: P): Factor<V> => [
  machine.load(at, 0),
  machine.load(at, 1),
]

/** Calls `work` with corresponding limbs of both halves of each block of the layer, and the factor of the block. */
function eachPair<V, P>(
  machine: PolynomialMachine<V, P>,
  layer: number,
  from: P,
  to: P,
  tables: P,
  work: (first: V, second: V, factor: Factor<V>) => [V, V],
): void {
  const blocks = 2 ** Math.min(layer, LAST - 1)
  const half = POLYNOMIAL_LIMBS / 2 / blocks
  const walk = [
    { from, step: 2 * half },
    { from: to, step: 2 * half },
    { from: machine.at(tables, 2 * 2 ** layer), step: 2 },
  ]
  machine.repeat(blocks, walk, ([source, target, factors]) => {
    const factor = factorAt(machine, factors!)
    const inner = [
      { from: source!, step: 1 },
      { from: target!, step: 1 },
    ]
    machine.repeat(half, inner, ([source, target]) => {
      const [first, second] = work(machine.load(source!, 0), machine.load(source!, half), factor)
      machine.store(target!, 0, first)
      machine.store(target!, half, second)
    })
  })
}

/** Multiplies a row of integer polynomials with as many transformed ones, and adds up the products. */
export function row<V, P>(
  machine: PolynomialMachine<V, P>,
  columns: number,
  to: P,
  matrix: P,
  vector: P,
  tables: P,
): void {
  const one = factorAt(machine, tables)
  const walk = [
    { from: to, step: 2 },
    { from: matrix, step: 1 },
    { from: vector, step: 2 },
  ]
  machine.repeat(INTEGER_LIMBS, walk, ([to, matrix, vector]) => {
    for (const half of [0, 1] as const) {
      const entry = (j: number) => machine.widen(matrix!, j * INTEGER_LIMBS, half)
      const element = (j: number) => machine.load(vector!, j * POLYNOMIAL_LIMBS + half)
      let sum = machine.times(entry(0), element(0))
      for (let j = 1; j < columns; j++) sum = machine.plusProduct(sum, entry(j), element(j))
      machine.store(to!, half, machine.modular(sum, ...one))
    }
  })
}

const ROOT = 1753
const ROOT_INVERSE = 731_434
const N_INVERSE = 8_347_681

export function transformTables(): Float64Array<ArrayBuffer> {
  const tables = new Float64Array(2 * TABLES_LIMBS)
  const [roots, inverses] = [powers(ROOT), powers(ROOT_INVERSE)]
  inverses[0] = N_INVERSE
  inverses[1] = multiply(inverses[1]!, N_INVERSE)
  for (const [i, factors] of [roots, inverses].entries()) {
    const put = (limb: number, ...lanes: number[]): void => {
      const centred = lanes.map((value) => (value > Q / 2 ? value - Q : value))
      tables.set([...centred, ...centred.map((value) => value / Q)], 2 * (i * TABLE_LIMBS + limb))
    }
    for (let k = 0; k < N / 2; k++) put(2 * k, factors[k]!, factors[k]!)
    for (let k = N / 2; k < N; k += 2) put(N / 2 + k, factors[k]!, factors[k + 1]!)
  }
  return tables
}

/** Powers in bit-reversed order of eight-bit indices. */
function powers(root: number): number[] {
  const squares = [root]
  for (let i = 1; i < LAYERS.length; i++) squares.unshift(multiply(squares[0]!, squares[0]!))
  return squares.reduce((found, factor) => found.concat(found.map((power) => multiply(power, factor))), [1])
}

/** Exact in doubles, for numbers below q. */
const multiply = (a: number, b: number): number => (a * b) % Q
