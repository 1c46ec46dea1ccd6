/**
 * Generators of polynomial arithmetic modulo q, written against a machine: one emits WebAssembly (emitter.ts), one executes bounds
 * (checker.ts beside the tests). Coefficients are integers held as doubles, two to a limb, and are reduced where a product would
 * otherwise pass 2^53. FIPS 204, sections 7.5 and 7.6.
 */

import type { Machine, Walk } from '../float/machine.ts'
import { N, Q } from './parameters.ts'

export interface PolynomialMachine<V, P>
  extends Pick<Machine<V, P, unknown>, 'load' | 'store' | 'at' | 'plus' | 'minus'> {
  /** Products that are exact. */
  times(a: V, b: V): V
  plusProduct(sum: V, a: V, b: V): V
  minusProduct(sum: V, a: V, b: V): V
  /** a times a factor, modulo q: at most q / 2 and one. `share` is the factor divided by q. */
  modular(a: V, factor: V, share: V): V
  /** a modulo q, likewise. */
  reduce(a: V): V
  /** The first lanes, and the second lanes. */
  firsts(a: V, b: V): V
  seconds(a: V, b: V): V
  /** Four integers of 32 bits, which are one limb, as doubles. */
  widen(from: P, limb: number): [V, V]
  /** And back. */
  narrow(to: P, limb: number, a: V, b: V): void
  repeat(times: number, walk: readonly Walk<P>[], body: (pointers: P[]) => void): unknown
}

/** Of a polynomial as doubles, and as integers of 32 bits. */
export const POLYNOMIAL_LIMBS = N / 2
export const INTEGER_LIMBS = N / 4

/**
 * Factors of the transforms, each with its share of q. Of layers up to the last but one, factor k is in both lanes at limb 2 k; those
 * of the last are in pairs behind them. Of the inverse, factor 0 is what divides by 256, and factor 1 does so, too.
 */
const PAIRS = N
const TABLE_LIMBS = PAIRS + N / 2
export const TABLES_LIMBS = 2 * TABLE_LIMBS

/** Quarters of the blocks that two layers work on, in limbs; the last two layers are by themselves. */
const QUARTERS = [32, 8, 2] as const
const LAST_BLOCKS = N / 4

/** Into the order a0 a2 a1 a3 of the transform's own. What comes out is not reduced. */
export function forward<V, P>(machine: PolynomialMachine<V, P>, to: P, from: P, tables: P): void {
  const butterfly = (a: V, b: V, [factor, share]: readonly [V, V]): [V, V] => {
    const product = machine.modular(b, factor, share)
    return [machine.plus(a, product), machine.minus(a, product)]
  }
  let source = from
  for (const quarter of QUARTERS) {
    eachBlock(machine, quarter, source, to, tables, ([a, b, c, d], [whole, first, second]) => {
      const [a1, c1] = butterfly(a, c, whole)
      const [b1, d1] = butterfly(b, d, whole)
      return [...butterfly(a1, b1, first), ...butterfly(c1, d1, second)]
    })
    source = to
  }
  eachLastBlock(machine, to, tables, (first, second, both, lanes) => {
    const [a, b] = butterfly(first, second, both)
    return butterfly(machine.firsts(a, b), machine.seconds(a, b), lanes)
  })
}

/** What goes in is reduced, and so is what comes out. */
export function inverse<V, P>(machine: PolynomialMachine<V, P>, at: P, allTables: P): void {
  const tables = machine.at(allTables, TABLE_LIMBS)
  const butterfly = (a: V, b: V, [factor, share]: readonly [V, V]): [V, V] => [
    machine.plus(a, b),
    machine.modular(machine.minus(a, b), factor, share),
  ]
  eachLastBlock(machine, at, tables, (first, second, both, lanes) => {
    const [even, odd] = butterfly(first, second, lanes)
    return butterfly(machine.firsts(even, odd), machine.seconds(even, odd), both)
  })
  for (const quarter of QUARTERS.toReversed()) {
    const divide = quarter === QUARTERS[0] ? ([machine.load(tables, 0), machine.load(tables, 1)] as const) : undefined
    const end = (a: V) => (divide === undefined ? a : machine.modular(a, ...divide))
    eachBlock(machine, quarter, at, at, tables, ([a, b, c, d], [whole, first, second]) => {
      const [a1, b1] = butterfly(a, b, first)
      const [c1, d1] = butterfly(c, d, second)
      const [a2, c2] = butterfly(a1, c1, whole)
      const [b2, d2] = butterfly(b1, d1, whole)
      return [end(a2), end(b2), c2, d2]
    })
  }
}

type Four<V> = [V, V, V, V]
type Factor<V> = readonly [factor: V, share: V]

/** Calls `work` with the limb of the same place in each quarter, and the block's factor and those of its halves. */
function eachBlock<V, P>(
  machine: PolynomialMachine<V, P>,
  quarter: number,
  from: P,
  to: P,
  tables: P,
  work: (limbs: Four<V>, factors: [Factor<V>, Factor<V>, Factor<V>]) => Four<V>,
): void {
  const blocks = QUARTERS[0] / quarter
  const factorAt = (at: P, limb: number): Factor<V> => [machine.load(at, limb), machine.load(at, limb + 1)]
  const walk = [
    { from, step: 4 * quarter },
    { from: to, step: 4 * quarter },
    { from: machine.at(tables, 2 * blocks), step: 2 },
    { from: machine.at(tables, 4 * blocks), step: 4 },
  ]
  machine.repeat(blocks, walk, ([source, target, whole, halves]) => {
    const factors: [Factor<V>, Factor<V>, Factor<V>] = [factorAt(whole!, 0), factorAt(halves!, 0), factorAt(halves!, 2)]
    const inner = [
      { from: source!, step: 1 },
      { from: target!, step: 1 },
    ]
    machine.repeat(quarter, inner, ([source, target]) => {
      const limbs = [0, 1, 2, 3].map((i) => machine.load(source!, i * quarter)) as Four<V>
      for (const [i, value] of work(limbs, factors).entries()) machine.store(target!, i * quarter, value)
    })
  })
}

function eachLastBlock<V, P>(
  machine: PolynomialMachine<V, P>,
  at: P,
  tables: P,
  work: (first: V, second: V, both: Factor<V>, lanes: Factor<V>) => [V, V],
): void {
  const walk = [
    { from: at, step: 2 },
    { from: machine.at(tables, 2 * LAST_BLOCKS), step: 2 },
    { from: machine.at(tables, PAIRS), step: 2 },
  ]
  machine.repeat(LAST_BLOCKS, walk, ([limbs, both, lanes]) => {
    const factorAt = (at: P): Factor<V> => [machine.load(at, 0), machine.load(at, 1)]
    const [first, second] = [machine.load(limbs!, 0), machine.load(limbs!, 1)]
    for (const [i, value] of work(first, second, factorAt(both!), factorAt(lanes!)).entries()) {
      machine.store(limbs!, i, value)
    }
  })
}

/** One row of the matrix, integers, times a vector of transformed polynomials; less `challenge` times `t1` if there are those. */
export function row<V, P>(
  machine: PolynomialMachine<V, P>,
  columns: number,
  to: P,
  matrix: P,
  vector: P,
  less?: { challenge: P; t1: P },
): void {
  const walk = [
    { from: to, step: 2 },
    { from: matrix, step: 1 },
    { from: vector, step: 2 },
    ...(less === undefined
      ? []
      : [
          { from: less.challenge, step: 2 },
          { from: less.t1, step: 1 },
        ]),
  ]
  machine.repeat(INTEGER_LIMBS, walk, ([to, matrix, vector, challenge, t1]) => {
    const sums = [0, 1].map((half) => {
      const entry = (j: number) => machine.widen(matrix!, j * INTEGER_LIMBS)[half]!
      const element = (j: number) => machine.load(vector!, j * POLYNOMIAL_LIMBS + half)
      let sum = machine.times(entry(0), element(0))
      for (let j = 1; j < columns; j++) sum = machine.plusProduct(sum, entry(j), element(j))
      if (less === undefined) return sum
      return machine.minusProduct(sum, machine.widen(t1!, 0)[half]!, machine.load(challenge!, half))
    })
    for (const [half, sum] of sums.entries()) machine.store(to!, half, machine.reduce(sum))
  })
}

/** Doubles to integers of 32 bits. */
export function narrow<V, P>(machine: PolynomialMachine<V, P>, to: P, from: P): void {
  const walk = [
    { from: to, step: 1 },
    { from, step: 2 },
  ]
  machine.repeat(INTEGER_LIMBS, walk, ([to, from]) => {
    machine.narrow(to!, 0, machine.load(from!, 0), machine.load(from!, 1))
  })
}

/** For both transforms. */
export function transformTables(): Float64Array<ArrayBuffer> {
  const tables = new Float64Array(2 * TABLES_LIMBS)
  const roots = powers(ROOT)
  const inverses = powers(ROOT_INVERSE)
  inverses[0] = N_INVERSE
  inverses[1] = multiply(inverses[1]!, N_INVERSE)
  for (const [i, factors] of [roots, inverses].entries()) {
    const put = (limb: number, first: number, second: number): void => {
      const [a, b] = [centred(first), centred(second)]
      tables.set([a, b, a / Q, b / Q], 2 * (i * TABLE_LIMBS + limb))
    }
    for (let k = 0; k < N / 2; k++) put(2 * k, factors[k]!, factors[k]!)
    for (let k = N / 2; k < N; k += 2) put(PAIRS + k - N / 2, factors[k]!, factors[k + 1]!)
  }
  return tables
}

const ROOT = 1753
const ROOT_INVERSE = 731_434
const N_INVERSE = 8_347_681
const centred = (value: number): number => (value > Q / 2 ? value - Q : value)
/** Of numbers below q: exact in doubles. */
const multiply = (a: number, b: number): number => (a * b) % Q

/** Power k at the place that is k with its eight bits the other way round. */
function powers(root: number): number[] {
  const found: number[] = []
  for (let [k, power] = [0, 1]; k < N; k++) {
    found[reversed(k)] = power
    power = multiply(power, root)
  }
  return found
}

function reversed(k: number): number {
  let result = 0
  for (let bit = 0; bit < 8; bit++) result |= ((k >> bit) & 1) << (7 - bit)
  return result
}
