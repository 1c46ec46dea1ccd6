/**
 * Rounding, norms, hints and packing on four integers at a time (FIPS 204, sections 7.1 and 7.4). No branch, address or division
 * depends on a coefficient. A norm check covers a complete polynomial and reveals neither which coefficient failed nor its sign.
 */

import { LOW_MAGIC } from '../float/machine.ts'
import {
  type Code,
  f64x2,
  i8x16,
  i32,
  i32x4,
  i64,
  i64x2,
  type Local,
  type NewLocal,
  repeatWhile,
  v128,
  type WasmModule,
} from '../wasm.ts'
import { type MlDsaParameters, N, Q } from './parameters.ts'

/** Arguments are addresses of polynomials: doubles, 32-bit integers, or packed. Each function returns 1 if a norm is too large, else 0. */
export interface RoundingCode {
  narrow(to: number, from: number): number
  /** Splits w into w1 and w0; also packs w1. */
  decompose(from: number, low: number, high: number, packed: number): number
  /** z = y + c s1, packed. */
  respond(packed: number, y: number, product: number): number
  /** w0 - c s2. */
  lessen(low: number, product: number): number
  /** Marks with -1 the coefficients of w1 that -c t0 changes; all others are 0. `low` is w0 - c s2. */
  hint(hints: number, low: number, high: number, product: number): number
  /** Unpacks z or y to doubles. */
  unpack(to: number, packed: number): number
  /** Computes w1 from w and hints, and packs it. */
  useHints(packed: number, from: number, hints: number): number
}

const LANES = 4 // coefficients per iteration
const [DOUBLES, INTEGERS] = [8 * LANES, 4 * LANES]
const bytesOf = (bits: number): number => (bits * LANES) / 8

type Note = (bound: number) => Code

export function defineRounding(module: WasmModule, parameters: MlDsaParameters): void {
  const { gamma1Bits, gamma2, beta, highBits } = parameters
  const [gamma1, responseBits] = [2 ** gamma1Bits, gamma1Bits + 1]
  const circle = (Q - 1) / (2 * gamma2) // number of values of w1

  /** `body` processes four coefficients at pointers that advance by `steps`, and calls `note` for values that must stay below a bound. */
  const define = <const Steps extends readonly number[]>(
    name: keyof RoundingCode,
    steps: Steps,
    body: (pointers: { [K in keyof Steps]: Local }, value: Local, note: Note, local: NewLocal) => Code[],
  ) => {
    const types = steps.map(() => 'i32' as const)
    module.define(name, types, ['i32'], (pointers, local) => {
      const [turns, value, exceeded] = [local('i32'), local('v128'), local('v128')]
      const note: Note = (bound) =>
        exceeded.set(v128.or(exceeded, i32x4.gtS(i32x4.abs(value), i32x4.constant(bound - 1))))
      const turn = body(pointers as never, value, note, local)
      const advance = pointers.map((pointer, i) => pointer.set(i32.add(pointer, steps[i]!)))
      return [
        turns.set(i32.add(N / LANES, 0)),
        repeatWhile([...turn, ...advance], turns.tee(i32.sub(turns, 1))),
        v128.anyTrue(exceeded),
      ]
    })
  }

  define('narrow', [INTEGERS, DOUBLES], ([to, from]) => [v128.store(to, integers(from))])

  const steps = [DOUBLES, INTEGERS, INTEGERS, bytesOf(highBits)] as const
  define('decompose', steps, ([from, low, high, packed], value, _, local) => {
    const split = newDecomposition(value, local, gamma2, circle)
    return [
      ...split.of(integers(from)),
      v128.store(low, split.low),
      v128.store(high, split.high),
      ...packFour(local, packed, split.high, highBits),
    ]
  })

  define('respond', [bytesOf(responseBits), DOUBLES, DOUBLES], ([packed, y, product], value, note, local) => {
    const sum = (offset: number) => f64x2.add(v128.load(y, offset), v128.load(product, offset))
    return [
      value.set(narrowed(sum(0), sum(16))),
      note(gamma1 - beta),
      value.set(i32x4.sub(i32x4.constant(gamma1), value)),
      ...packFour(local, packed, value, responseBits),
    ]
  })

  define('lessen', [INTEGERS, DOUBLES], ([low, product], value, note) => [
    value.set(i32x4.sub(v128.load(low), integers(product))),
    v128.store(low, value),
    note(gamma2 - beta),
  ])

  define('hint', [INTEGERS, INTEGERS, INTEGERS, DOUBLES], ([hints, low, high, product], value, note) => {
    const edge = v128.and(i32x4.eq(value, i32x4.constant(-gamma2)), i32x4.ne(v128.load(high), i32x4.constant(0)))
    return [
      value.set(integers(product)),
      note(gamma2),
      value.set(i32x4.add(v128.load(low), value)),
      v128.store(hints, v128.or(i32x4.gtS(i32x4.abs(value), i32x4.constant(gamma2)), edge)),
    ]
  })

  define('unpack', [DOUBLES, bytesOf(responseBits)], ([to, from], value, note) => [
    value.set(i32x4.sub(i32x4.constant(gamma1), unpackFour(from, responseBits))),
    v128.store(to, f64x2.convertLowI32x4(value)),
    v128.store(to, f64x2.convertLowI32x4(i8x16.shuffle(value, UPPER_HALF)), 16),
    note(gamma1 - beta),
  ])

  define('useHints', [bytesOf(highBits), DOUBLES, INTEGERS], ([packed, from, hints], value, _, local) => {
    const { of, high, low } = newDecomposition(value, local, gamma2, circle)
    const change = v128.or(i32x4.gtS(i32x4.constant(1), low), i32x4.constant(1)) // -1 or 1
    return [
      ...of(integers(from)),
      high.set(i32x4.add(high, v128.and(change, v128.load(hints)))),
      high.set(i32x4.add(high, v128.and(i32x4.shrS(high, 31), i32x4.constant(circle)))),
      high.set(v128.and(high, i32x4.gtS(i32x4.constant(circle), high))),
      ...packFour(local, packed, high, highBits),
    ]
  })
}

/** Converts four doubles below 2^31 to integers: after adding 3 * 2^51 they are in the low half of the bits. */
const narrowed = (a: Code, b: Code): Code => {
  const magic = v128.constant(LOW_MAGIC)
  return i8x16.shuffle(f64x2.add(a, magic), LOW_HALVES, f64x2.add(b, magic))
}
const UPPER_HALF = [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7]
const LOW_HALVES = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]
const integers = (from: Local): Code => narrowed(v128.load(from), v128.load(from, 16))

/**
 * FIPS 204, algorithm 36, for numbers from -q to q. Quotients are computed by multiplications that are exact enough for all
 * numbers below q.
 */
function newDecomposition(value: Local, local: NewLocal, gamma2: number, circle: number) {
  const [low, high] = [local('v128'), local('v128')]
  const [factor, bits] = gamma2 === (Q - 1) / 32 ? [1025, 22] : [11275, 24]
  const scaled = i32x4.add(i32x4.mul(high, i32x4.constant(factor)), i32x4.constant(2 ** (bits - 1)))
  const of = (from: Code): Code[] => [
    value.set(from),
    value.set(i32x4.add(value, v128.and(i32x4.shrS(value, 31), i32x4.constant(Q)))),
    high.set(i32x4.shrS(i32x4.add(value, i32x4.constant(127)), 7)),
    high.set(i32x4.shrS(scaled, bits)),
    high.set(v128.and(high, i32x4.gtS(i32x4.constant(circle), high))), // values next to q belong to 0
    low.set(i32x4.sub(value, i32x4.mul(high, i32x4.constant(2 * gamma2)))),
    low.set(i32x4.sub(low, v128.and(i32x4.gtS(low, i32x4.constant((Q - 1) / 2)), i32x4.constant(Q)))),
  ]
  return { of, low, high }
}

/** Stores four numbers of `bits` bits, and overwrites up to eight bytes after them. */
function packFour(local: NewLocal, to: Local, value: Local, bits: number): Code[] {
  const pairs = local('v128')
  const [first, second] = [0, 1].map((lane) => i64x2.extractLane(pairs, lane))
  return [
    pairs.set(v128.or(v128.and(value, v128.constant(0xffff_ffffn)), i64x2.shl(i64x2.shrU(value, 32), bits))),
    i64.store(to, i64.or(first!, i64.shl(second!, 2 * bits))),
    ...(4 * bits > 64 ? [i64.store(to, i64.shrU(second!, 64 - 2 * bits), 8)] : []),
  ]
}

/** Reads up to seven bytes beyond the numbers. */
function unpackFour(from: Local, bits: number): Code {
  const starts = [0, 1, 2, 3].map((lane) => lane * bits)
  const bytes = starts.flatMap((start) => [0, 1, 2, 3].map((i) => (start >> 3) + i))
  const highest = Math.max(...starts.map((start) => start & 7))
  const [a, b, c, d] = starts.map((start) => 2 ** (highest - (start & 7)))
  const aligned = i32x4.mul(i8x16.shuffle(v128.load(from), bytes), i32x4.constant(a!, b, c, d))
  return v128.and(i32x4.shrU(aligned, highest), i32x4.constant(2 ** bits - 1))
}
