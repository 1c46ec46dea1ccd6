/** Montgomery multiplication and squaring (Montgomery 1985): products in columns, then reduction. README.md explains the method. */

import { carry, digits, lastLift, lift, liftCarry, toBits, toNumber } from './carry.ts'
import type { Format } from './format.ts'
import type { FloatMachine } from './machine.ts'

/** Rows of products per pass: four multipliers fit the registers. */
export const ROWS = 4

/** Operands of a multiplication. Each has `limbs` limbs, `columns` twice as many. */
export interface Modulus<P> {
  limbs: number
  /** Quotient digits per pass, at most ROWS. More digits mean fewer passes, but more work for the last ones. */
  digits: number
  modulus: P
  /** (c n + 1) / B^digits, where c n = -1 mod B^digits. With it, a quotient digit equals its column. */
  scaled: P
  /** c = -1/n mod B^digits, in `digits` limbs. */
  inverse: P
  columns: P
  squareBiases: P
  multiplyBiases: P
  productBiases: P
  wideBiases: P
}

export function square<V, P, I>(m: FloatMachine<V, P, I>, n: Modulus<P>, result: P, a: P): void {
  copy(m, n.columns, n.squareBiases, n.limbs)
  const blocks = Math.floor(n.limbs / ROWS)
  const rest = n.limbs % ROWS
  const walk = [
    { from: a, step: ROWS },
    { from: n.columns, step: 2 * ROWS },
    { from: m.at(n.squareBiases, n.limbs), step: ROWS },
  ]
  const end = m.repeat(blocks - 1, walk, ([from, to, fresh], remaining) => {
    const x = range(ROWS).map((k) => m.load(from!, k))
    addRows(m, to!, {
      x,
      y: from!,
      full: { times: m.less(remaining, 1), rest: rest + 1 },
      fresh: fresh!,
      isSquare: true,
    })
  })
  const x = range(ROWS + rest).map((k) => m.load(end[0]!, k))
  addRows(m, end[1]!, { x, y: end[0]!, full: { times: 0, rest: 1 - x.length }, fresh: end[2]!, isSquare: true })
  reduce(m, n, result)
}

export function multiply<V, P, I>(m: FloatMachine<V, P, I>, n: Modulus<P>, result: P, a: P, b: P): void {
  addProduct(m, n, a, b, n.multiplyBiases)
  reduce(m, n, result)
}

/** a b + c without reduction, in twice as many limbs. */
export function product<V, P, I>(m: FloatMachine<V, P, I>, n: Modulus<P>, result: P, a: P, b: P, c: P): void {
  addProduct(m, n, a, b, n.productBiases)
  carry(m, 2 * n.limbs, result, (k) => {
    const column = m.load(n.columns, k)
    return k < n.limbs ? m.add(column, toBits(m, m.load(c, k))) : column
  })
}

function addProduct<V, P, I>(m: FloatMachine<V, P, I>, n: Modulus<P>, a: P, b: P, biases: P): void {
  copy(m, n.columns, biases, n.limbs)
  const walk = [
    { from: a, step: ROWS },
    { from: n.columns, step: ROWS },
    { from: m.at(biases, n.limbs), step: ROWS },
  ]
  const [from, to, fresh] = m.repeat(Math.floor(n.limbs / ROWS), walk, ([from, to, fresh]) => {
    const x = range(ROWS).map((k) => m.load(from!, k))
    addRows(m, to!, { x, y: b, full: fixed(n.limbs - ROWS + 1), fresh: fresh! })
  })
  const x = range(n.limbs % ROWS).map((k) => m.load(from!, k))
  addRows(m, to!, { x, y: b, full: fixed(n.limbs - x.length + 1), fresh: fresh! })
}

/** Multiplies a number of twice as many limbs at `wide`, below n B^limbs / 16, by B^-limbs modulo n. */
export function reduceWide<V, P, I>(m: FloatMachine<V, P, I>, n: Modulus<P>, result: P, wide: P): void {
  const walk = [n.columns, n.wideBiases, wide].map((from) => ({ from, step: 1 }))
  m.repeat(2 * n.limbs, walk, ([to, biases, from]) => {
    m.store(to!, 0, m.add(m.load(biases!, 0), toBits(m, m.load(from!, 0))))
  })
  reduce(m, n, result)
}

/** Adds a low part. If its offset is a negative double, the bits decrease as the part increases. */
function addLow<V, P, I>(m: FloatMachine<V, P, I>, sum: V, low: V): V {
  return m.format.isSigned ? m.add(sum, low) : m.sub(sum, low)
}

/** Number of columns with a product from each row: `times` (a number or counter) times ROWS, plus `rest`. */
interface FullColumns<I> {
  times: number | I
  rest: number
}

const fixed = (columns: number): FullColumns<never> => ({ times: Math.floor(columns / ROWS), rest: columns % ROWS })

interface Rows<V, P, I> {
  x: V[]
  y: P
  full: FullColumns<I>
  /** Initial values of the last columns, one for each row, if these columns are still empty. */
  fresh?: P
  isSquare?: boolean
}

/** Selects the rows whose products a column receives. */
interface Part {
  isWanted: (k: number) => boolean
  diagonal?: number
  /** True if the column, except the diagonal, counts twice. */
  isDoubled?: boolean
}

const WHOLE: Part = { isWanted: () => true }

/** Adds the products of x and the limbs at `y` to the columns at `t`. Row k begins one column above row k - 1. */
function addRows<V, P, I>(
  m: FloatMachine<V, P, I>,
  t: P,
  { x, y, full, fresh, isSquare = false }: Rows<V, P, I>,
): void {
  const rows = x.length
  if (rows === 0) return
  const { isSigned } = m.format
  const twice = isSquare && isSigned ? x.map((value) => m.plus(value, value)) : x
  let highs: V | undefined
  let diagonalHigh: V | undefined
  /** Limbs of y at j, j - 1, ..., one for each row. */
  let window: (V | undefined)[] = []
  /**
   * Adds the products x[k] y[j - k] to column c of `start` and writes column c of `to`. `highs` is carried from each column to
   * the next.
   */
  const column = (start: P, to: P, c: number, next: V | undefined, { isWanted, diagonal, isDoubled }: Part): void => {
    window = [next, ...window.slice(0, rows - 1)]
    let sum = m.load(start, c)
    if (highs !== undefined) sum = m.add(sum, highs)
    highs = undefined
    for (let k = 0; k < rows; k++) {
      const limb = window[k]
      if (limb === undefined || k === diagonal || !isWanted(k)) continue
      const { high, low } = m.split(twice[k]!, limb)
      sum = addLow(m, sum, low)
      highs = highs === undefined ? high : m.add(highs, high)
    }
    if (isDoubled) sum = m.add(sum, sum)
    if (diagonalHigh !== undefined) sum = m.add(sum, diagonalHigh)
    diagonalHigh = undefined
    if (diagonal !== undefined) {
      const { high, low } = m.split(x[diagonal]!, x[diagonal]!)
      sum = addLow(m, sum, low)
      diagonalHigh = high
    }
    m.store(to, c, sum)
  }
  /** For a square, doubles the products right of the diagonal: their factors have no bit to spare, so the columns are doubled. */
  const part = (j: number): Part => {
    if (!isSquare || j >= 2 * rows) return WHOLE
    return { isWanted: (k) => j > 2 * k, isDoubled: !isSigned, ...(j % 2 === 0 && { diagonal: j / 2 }) }
  }
  const lead = (isSquare ? 2 * rows : rows) - 1 + full.rest
  for (let c = 0; c < lead; c++) column(t, t, c, m.load(y, c), part(c))
  let to = m.at(t, lead)
  if (full.times !== 0) {
    const running = [highs, ...window].slice(0, rows).map((value) => m.variable(value!))
    const walk = [to, m.at(y, lead)].map((from) => ({ from, step: ROWS }))
    ;[to] = m.repeat(full.times, walk, ([to, from]) => {
      ;[highs, ...window] = running.map((value) => value.get())
      for (let c = 0; c < ROWS; c++) column(to!, to!, c, m.load(from!, c), WHOLE)
      for (const [k, value] of [highs, ...window].slice(0, rows).entries()) running[k]!.set(value!)
    }) as [P]
    ;[highs, ...window] = running.map((value) => value.get())
  }
  for (let c = 0; c < rows; c++) {
    column(fresh ?? to, to, c, undefined, full.times === 0 ? part(lead + c) : WHOLE)
  }
}

/** Divides the number in the columns by B^limbs modulo n, and writes limbs. */
function reduce<V, P, I>(m: FloatMachine<V, P, I>, n: Modulus<P>, result: P): void {
  const free = n.limbs - n.digits
  const addDigits = (t: P, count: number): void => {
    const q = takeDigits(m, t, count)
    addRows(m, m.at(t, n.digits), { x: q, y: n.scaled, full: fixed(n.limbs - count + 1) })
  }
  let [t] = m.repeat(Math.floor(free / n.digits), [{ from: n.columns, step: n.digits }], ([t]) =>
    addDigits(t!, n.digits),
  ) as [P]
  if (free % n.digits > 0) addDigits(t, free % n.digits)
  t = m.at(t, free % n.digits)
  lastRows(m, n, t, takeDigits(m, t, n.digits))
  carry(m, n.limbs, result, (k) => m.load(t, n.digits + k))
}

/** Takes the digits of the columns at t, which then count as zero. Their carry goes to the next column. */
function takeDigits<V, P, I>(m: FloatMachine<V, P, I>, t: P, count: number): V[] {
  const columns = range(count).map((k) => m.load(t, k))
  const { values, carry } = digits(m, columns)
  m.store(t, count, m.add(m.load(t, count), carry))
  return values.map((bits) => toNumber(m, bits))
}

/** Adds q n for the last digits x, with q = -x / n mod B^digits. This brings the result back to the size of n. */
function lastRows<V, P, I>(m: FloatMachine<V, P, I>, n: Modulus<P>, t: P, x: V[]): void {
  const f = m.format
  x.forEach((digit, k) => {
    m.store(t, k, toBits(m, digit, lift(f, k === 0) - f.half - columnBias(f, k + 1, k)))
  })
  const inverse = range(n.digits).map((k) => m.load(n.inverse, k))
  let highs: V | undefined
  const quotient = range(n.digits).map((c) => {
    let sum = m.constant(BigInt.asUintN(64, lift(f, c === 0) - columnBias(f, c + 1, c)))
    if (highs !== undefined) sum = m.add(sum, highs)
    highs = undefined
    for (let k = 0; k <= c; k++) {
      const { high, low } = m.split(x[k]!, inverse[c - k]!)
      sum = addLow(m, sum, low)
      highs = highs === undefined ? high : m.add(highs, high)
    }
    return sum
  })
  const q = digits(m, quotient).values.map((bits) => toNumber(m, bits))
  addRows(m, t, { x: q, y: n.modulus, full: fixed(n.limbs - n.digits + 1) })
  let up: V | undefined
  for (let k = 0; k < n.digits; k++) {
    const sum = up === undefined ? m.load(t, k) : m.add(m.load(t, k), up)
    up = m.shiftRight(sum, Number(f.radix))
  }
  m.store(t, n.digits, m.add(m.load(t, n.digits), up!))
}

/** Sum of the offsets of so many low and high parts. */
export const columnBias = ({ isSigned, lowMagic, highMagic }: Format, lows: number, highs: number): bigint =>
  BigInt(isSigned ? lows : -lows) * lowMagic + BigInt(highs) * highMagic

/** Products that the columns receive: of a square or of two numbers with reduction, of two numbers without it, or none. */
export type ColumnProducts = 'square' | 'multiply' | 'product' | 'none'

/** Initial values of the columns: their lifts minus the offsets of all products to come. */
export function columnBiases(format: Format, limbs: number, digits: number, products: ColumnProducts): bigint[] {
  const isReduced = products !== 'product'
  const isDoubled = products === 'square' && !format.isSigned
  const lows = new Array<number>(2 * limbs + 1).fill(0)
  for (const i of range(limbs)) {
    for (const j of range(limbs)) {
      if (products === 'multiply' || products === 'product' || isDoubled || (products === 'square' && j >= i))
        lows[i + j]!++
      if (!isReduced) continue
      if (i < limbs - digits) lows[i + digits + j]!++
      else if (i + j >= limbs) lows[i + j]!++
    }
  }
  // in the last rows, columns below `limbs` get lifts of their own; their high parts still reach column `limbs`
  return range(2 * limbs).map((k) => {
    let highs = k === 0 ? 0 : lows[k - 1]!
    let start = k === 2 * limbs - 1 ? lastLift(format) : lift(format, k === 0)
    if (k === limbs && isReduced) {
      highs += digits
      start -= liftCarry(format) // one from the digits, one from the last rows
    }
    start -= columnBias(format, lows[k]!, highs)
    return BigInt.asUintN(64, isDoubled ? start / 2n : start)
  })
}

function copy<V, P, I>(m: FloatMachine<V, P, I>, to: P, from: P, limbs: number): void {
  const walk = [to, from].map((pointer) => ({ from: pointer, step: ROWS }))
  const [toEnd, fromEnd] = m.repeat(Math.floor(limbs / ROWS), walk, ([to, from]) => {
    for (let k = 0; k < ROWS; k++) m.store(to!, k, m.load(from!, k))
  })
  for (let k = 0; k < limbs % ROWS; k++) m.store(toEnd!, k, m.load(fromEnd!, k))
}

export const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
