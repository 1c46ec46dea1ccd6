/** Montgomery multiplication and squaring: products in columns, then reduction. README.md explains; Montgomery 1985. */

import { BITS_2_52, doubleBits, HIGH_MAGIC, LOW_MAGIC, type Machine, RADIX } from './machine.ts'

/** Rows of products done at once: four multipliers stay in registers. */
export const ROWS = 4

/** Columns carry this on top of their signed sum, so that a logical shift can stand for an arithmetic one. */
export const LIFT = 1n << 62n
/** What LIFT leaves in the carry. */
export const LIFT_CARRY = LIFT >> RADIX
/** Digits are taken around zero: -2^50 to 2^50 - 1. */
export const HALF = 1n << (RADIX - 1n)
export const MASK = (1n << RADIX) - 1n

/** Where a multiplication finds its numbers, all of `limbs` limbs but `columns` of twice as many. */
export interface Modulus<P> {
  limbs: number
  /** Quotient digits found at once, at most ROWS: more of them mean fewer passes, but more work for the last ones. */
  digits: number
  /** n, odd. */
  modulus: P
  /** (c n + 1) / B^digits, where c n = -1 mod B^digits: a quotient digit is then the column itself. */
  scaled: P
  /** c, which is -1/n mod B^digits, so many limbs. */
  inverse: P
  columns: P
  /** As `columnBiases` gives them. */
  squareBiases: P
  multiplyBiases: P
  productBiases: P
  wideBiases: P
}

export function square<V, P, I>(m: Machine<V, P, I>, n: Modulus<P>, result: P, a: P): void {
  copy(m, n.columns, n.squareBiases, 2 * n.limbs)
  const blocks = Math.floor(n.limbs / ROWS)
  const rest = n.limbs % ROWS
  const walk = [
    { from: a, step: ROWS },
    { from: n.columns, step: 2 * ROWS },
  ]
  const end = m.repeat(blocks - 1, walk, ([from, to], remaining) => {
    const x = range(ROWS).map((k) => m.load(from!, k))
    addRows(m, to!, x, from!, { times: m.less(remaining, 1), rest: rest + 1 }, true)
  })
  const x = range(ROWS + rest).map((k) => m.load(end[0]!, k))
  addRows(m, end[1]!, x, end[0]!, { times: 0, rest: 1 - x.length }, true)
  reduce(m, n, result)
}

export function multiply<V, P, I>(m: Machine<V, P, I>, n: Modulus<P>, result: P, a: P, b: P): void {
  copy(m, n.columns, n.multiplyBiases, 2 * n.limbs)
  addProduct(m, n, a, b)
  reduce(m, n, result)
}

/** a b, not reduced: twice as many limbs. */
export function product<V, P, I>(m: Machine<V, P, I>, n: Modulus<P>, result: P, a: P, b: P): void {
  copy(m, n.columns, n.productBiases, 2 * n.limbs)
  addProduct(m, n, a, b)
  carry(m, 2 * n.limbs, result, (k) => m.load(n.columns, k))
}

function addProduct<V, P, I>(m: Machine<V, P, I>, n: Modulus<P>, a: P, b: P): void {
  const walk = [
    { from: a, step: ROWS },
    { from: n.columns, step: ROWS },
  ]
  const [from, to] = m.repeat(Math.floor(n.limbs / ROWS), walk, ([from, to]) => {
    const x = range(ROWS).map((k) => m.load(from!, k))
    addRows(m, to!, x, b, fixed(n.limbs - ROWS + 1))
  })
  const x = range(n.limbs % ROWS).map((k) => m.load(from!, k))
  addRows(m, to!, x, b, fixed(n.limbs - x.length + 1))
}

/** The number of the columns, twice as many limbs at `wide`, below n B^limbs / 16, times B^-limbs modulo n. */
export function reduceWide<V, P, I>(m: Machine<V, P, I>, n: Modulus<P>, result: P, wide: P): void {
  const walk = [n.columns, n.wideBiases, wide].map((from) => ({ from, step: 1 }))
  m.repeat(2 * n.limbs, walk, ([to, biases, from]) => {
    m.store(to!, 0, m.add(m.load(biases!, 0), toBits(m, m.load(from!, 0), 0n)))
  })
  reduce(m, n, result)
}

/** a + b or a - b: not reduced, so the caller counts how often. */
export function combine<V, P, I>(m: Machine<V, P, I>, limbs: number, sign: 1 | -1, result: P, a: P, b: P): void {
  carry(m, limbs, result, (k) => {
    const lifted = toBits(m, m.load(a, k), k === limbs - 1 ? LOW_MAGIC : LIFT + HALF)
    const other = toBits(m, m.load(b, k), 0n)
    return sign === 1 ? m.add(lifted, other) : m.sub(lifted, other)
  })
}

/** 2 a where the mask is all ones, a where it is zero; in place. */
export function doubleIf<V, P, I>(m: Machine<V, P, I>, limbs: number, a: P, mask: V): void {
  carry(m, limbs, a, (k) => {
    const lifted = toBits(m, m.load(a, k), k === limbs - 1 ? LOW_MAGIC : LIFT + HALF)
    return m.add(lifted, toBits(m, m.and(mask, m.load(a, k)), 0n))
  })
}

/** The number from 0 to n - 1 that is a modulo n, for a from -n to n - 1. */
export function canonical<V, P, I>(m: Machine<V, P, I>, n: Modulus<P>, result: P, a: P): void {
  const last = n.limbs - 1
  /** Carries from limb to limb; gives the last one, signed. With digits from 0 up, its sign is that of the number. */
  const ripple = (load: (k: number, lift: bigint) => V, lift: bigint, give?: (k: number, digit: V) => void): V => {
    let up: V | undefined
    for (let k = 0; k < last; k++) {
      const bits = load(k, k === 0 ? lift : lift - LIFT_CARRY)
      const sum = up === undefined ? bits : m.add(bits, up)
      give?.(k, toNumber(m, m.and(sum, m.constant(MASK))))
      up = m.shiftRight(sum, Number(RADIX))
    }
    return m.bounded(m.add(load(last, -LIFT_CARRY), up!), 0n, 1n << 48n)
  }
  const top = ripple((k, lift) => toBits(m, m.load(a, k), lift), LIFT)
  const isNegative = m.sub(m.constant(0n), m.shiftRight(top, 63))
  const newTop = ripple(
    (k, lift) => {
      const part = m.and(isNegative, m.load(n.modulus, k))
      return m.add(toBits(m, m.load(a, k), lift), toBits(m, part, 0n))
    },
    LIFT + HALF,
    (k, digit) => m.store(result, k, digit),
  )
  const magic = m.constant(LOW_MAGIC)
  m.store(result, last, m.minus(m.add(newTop, magic), magic))
}

/** A number within 2^51 of zero as bits, plus a constant. */
function toBits<V, P, I>(m: Machine<V, P, I>, number: V, plus: bigint): V {
  return m.add(m.plus(number, m.constant(LOW_MAGIC)), m.constant(BigInt.asUintN(64, plus - LOW_MAGIC)))
}

/** How many columns have a product from each row: `times` (perhaps a counter) times ROWS, and `rest`. */
interface FullColumns<I> {
  times: number | I
  rest: number
}

const fixed = (columns: number): FullColumns<never> => ({ times: Math.floor(columns / ROWS), rest: columns % ROWS })

/**
 * Adds to the columns at `t` the products of x and the limbs at `y`, row k one column further up than row k - 1.
 * Of a square, x being the first limbs of y, only the diagonal and twice what is right of it are added.
 */
function addRows<V, P, I>(m: Machine<V, P, I>, t: P, x: V[], y: P, full: FullColumns<I>, isSquare = false): void {
  const rows = x.length
  if (rows === 0) return
  const twice = isSquare ? x.map((value) => m.plus(value, value)) : x
  let highs: V | undefined
  /** The limbs at j, j - 1, ... of y, as many as there are rows. */
  let window: (V | undefined)[] = []
  /** Column c of `to` gets the products x[k] y[j - k]; `highs` goes from each column to the next. */
  const column = (to: P, c: number, next: V | undefined, isWanted: (k: number) => boolean, diagonal = -1): void => {
    window = [next, ...window.slice(0, rows - 1)]
    let sum = m.load(to, c)
    if (highs !== undefined) sum = m.add(sum, highs)
    highs = undefined
    for (let k = 0; k < rows; k++) {
      const limb = window[k]
      if (limb === undefined || !isWanted(k)) continue
      const { high, low } = k === diagonal ? m.split(x[k]!, x[k]!) : m.split(twice[k]!, limb)
      sum = m.add(sum, low)
      highs = highs === undefined ? high : m.add(highs, high)
    }
    m.store(to, c, sum)
  }
  /** Columns known when emitting: of a square only what is right of the diagonal. */
  const plain = (to: P, c: number, j: number, next: V | undefined): void => {
    if (isSquare) column(to, c, next, (k) => j >= 2 * k, j % 2 === 0 ? j / 2 : -1)
    else column(to, c, next, () => true)
  }
  const lead = (isSquare ? 2 * rows : rows) - 1 + full.rest
  for (let c = 0; c < lead; c++) plain(t, c, c, m.load(y, c))
  let to = m.at(t, lead)
  if (full.times !== 0) {
    const running = [highs, ...window].slice(0, rows).map((value) => m.variable(value!))
    const walk = [to, m.at(y, lead)].map((from) => ({ from, step: ROWS }))
    ;[to] = m.repeat(full.times, walk, ([to, from]) => {
      ;[highs, ...window] = running.map((value) => value.get())
      for (let c = 0; c < ROWS; c++) column(to!, c, m.load(from!, c), () => true)
      for (const [k, value] of [highs, ...window].slice(0, rows).entries()) running[k]!.set(value!)
    }) as [P]
    ;[highs, ...window] = running.map((value) => value.get())
  }
  for (let c = 0; c < rows; c++) {
    if (full.times === 0) plain(to, c, lead + c, undefined)
    else column(to, c, undefined, () => true)
  }
}

/** Divides what is in the columns by B^limbs modulo n, into limbs. */
function reduce<V, P, I>(m: Machine<V, P, I>, n: Modulus<P>, result: P): void {
  const free = n.limbs - n.digits
  const addDigits = (t: P, count: number): void => {
    const q = takeDigits(m, t, count)
    addRows(m, m.at(t, n.digits), q, n.scaled, fixed(n.limbs - count + 1))
  }
  let [t] = m.repeat(Math.floor(free / n.digits), [{ from: n.columns, step: n.digits }], ([t]) =>
    addDigits(t!, n.digits),
  ) as [P]
  if (free % n.digits > 0) addDigits(t, free % n.digits)
  t = m.at(t, free % n.digits)
  lastRows(m, n, t, takeDigits(m, t, n.digits))
  carry(m, n.limbs, result, (k) => m.load(t, n.digits + k))
}

/** The digits of the columns at t, which leaves zeros there in effect; what they carry goes up. */
function takeDigits<V, P, I>(m: Machine<V, P, I>, t: P, count: number): V[] {
  const columns = range(count).map((k) => m.load(t, k))
  const { values, carry } = digits(m, columns)
  m.store(t, count, m.add(m.load(t, count), carry))
  return values.map((bits) => toNumber(m, bits))
}

/** Adds q n for the last digits x, q = -x / n mod B^digits: these bring the result back to the size of n. */
function lastRows<V, P, I>(m: Machine<V, P, I>, n: Modulus<P>, t: P, x: V[]): void {
  x.forEach((digit, k) => {
    m.store(t, k, toBits(m, digit, LIFT - (k > 0 ? LIFT_CARRY : 0n) - columnBias(k + 1, k)))
  })
  const inverse = range(n.digits).map((k) => m.load(n.inverse, k))
  let highs: V | undefined
  const quotient = range(n.digits).map((c) => {
    let sum = m.constant(digitLift(c) - columnBias(c + 1, c))
    if (highs !== undefined) sum = m.add(sum, highs)
    highs = undefined
    for (let k = 0; k <= c; k++) {
      const { high, low } = m.split(x[k]!, inverse[c - k]!)
      sum = m.add(sum, low)
      highs = highs === undefined ? high : m.add(highs, high)
    }
    return sum
  })
  const q = digits(m, quotient).values.map((bits) => toNumber(m, bits))
  addRows(m, t, q, n.modulus, fixed(n.limbs - n.digits + 1))
  let up: V | undefined
  for (let k = 0; k < n.digits; k++) {
    const sum = up === undefined ? m.load(t, k) : m.add(m.load(t, k), up)
    up = m.shiftRight(sum, Number(RADIX))
  }
  m.store(t, n.digits, m.add(m.load(t, n.digits), up!))
}

/**
 * One step of carrying: limbs come out within 2^50 + 2^12 of zero but for the last, which takes all that is left. That is
 * below 2^48, because the number is below 2 n and 2^5 n < B^limbs.
 */
export function carry<V, P, I>(m: Machine<V, P, I>, limbs: number, result: P, load: (k: number) => V): void {
  let up: V | undefined
  for (let k = 0; k < limbs; k++) {
    const sum = load(k)
    const isLast = k === limbs - 1
    let bits = isLast ? sum : m.or(m.and(sum, m.constant(MASK)), m.constant(BITS_2_52))
    if (up !== undefined) bits = m.add(bits, up)
    const offset = (isLast ? 3 * 2 ** 51 : 2 ** 52 + Number(HALF)) + (up === undefined ? 0 : Number(LIFT_CARRY))
    if (isLast) bits = m.bounded(bits, doubleBits(offset), 1n << 48n)
    m.store(result, k, m.minus(bits, m.constant(doubleBits(offset))))
    up = m.shiftRight(sum, Number(RADIX))
  }
}

/** Digits of a number whose columns carry `digitLift`, lifted by HALF, and the carry, lifted by LIFT_CARRY. */
function digits<V, P, I>(m: Machine<V, P, I>, columns: readonly V[]): { values: V[]; carry: V } {
  const values: V[] = []
  let carry: V | undefined
  for (const column of columns) {
    const sum: V = carry === undefined ? column : m.add(column, carry)
    values.push(m.and(sum, m.constant(MASK)))
    carry = m.shiftRight(sum, Number(RADIX))
  }
  return { values, carry: carry! }
}

export function toNumber<V, P, I>(m: Machine<V, P, I>, digit: V): V {
  return m.minus(m.or(digit, m.constant(BITS_2_52)), m.constant(doubleBits(2 ** 52 + Number(HALF))))
}

const digitLift = (k: number): bigint => LIFT + HALF - (k > 0 ? LIFT_CARRY : 0n)

export const columnBias = (lows: number, highs: number): bigint => BigInt(lows) * LOW_MAGIC + BigInt(highs) * HIGH_MAGIC

/** Of which products the columns get: those of a square or of two numbers, before reduction or without it, or none. */
export type ColumnProducts = 'square' | 'multiply' | 'product' | 'none'

/** What the columns hold at the start: the lifts they need, less the biases of all products that will come. */
export function columnBiases(limbs: number, digits: number, products: ColumnProducts): bigint[] {
  const isReduced = products !== 'product'
  const lows = new Array<number>(2 * limbs + 1).fill(0)
  const count = (column: number): void => {
    lows[column]!++
  }
  for (const i of range(limbs)) {
    for (const j of range(limbs)) {
      if (products === 'multiply' || products === 'product' || (products === 'square' && j >= i)) count(i + j)
      if (!isReduced) continue
      if (i < limbs - digits) count(i + digits + j)
      else if (i + j >= limbs) count(i + j)
    }
  }
  // of the last rows' products, columns below `limbs` get their lifts apart; their highs still reach column `limbs`
  return range(2 * limbs).map((k) => {
    let highs = k === 0 ? 0 : lows[k - 1]!
    if (k === limbs && isReduced) highs += digits
    const isCarried = k > 0 && k <= limbs && isReduced
    const lift =
      k === 2 * limbs - 1
        ? doubleBits(3 * 2 ** 51)
        : digitLift(isCarried ? k : 0) - (k === limbs && isReduced ? LIFT_CARRY : 0n)
    return BigInt.asUintN(64, lift - columnBias(lows[k]!, highs))
  })
}

function copy<V, P, I>(m: Machine<V, P, I>, to: P, from: P, limbs: number): void {
  const walk = [to, from].map((pointer) => ({ from: pointer, step: ROWS }))
  const [toEnd, fromEnd] = m.repeat(Math.floor(limbs / ROWS), walk, ([to, from]) => {
    for (let k = 0; k < ROWS; k++) m.store(to!, k, m.load(from!, k))
  })
  for (let k = 0; k < limbs % ROWS; k++) m.store(toEnd!, k, m.load(fromEnd!, k))
}

export const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i)
