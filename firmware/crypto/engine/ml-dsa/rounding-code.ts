/**
 * Rounding, norms, hints and packing on four integers at a time: no branch, no address and no division depends on a coefficient,
 * and a norm is told of a whole polynomial, without which coefficient passed it or its sign. FIPS 204, sections 7.1 and 7.4.
 */

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
import { narrowed } from './emitter.ts'
import { N, type Parameters, Q } from './parameters.ts'

/** Addresses of polynomials: doubles, integers of 32 bits, packed. What ends in a number says by it whether a norm is too large. */
export interface RoundingCode {
  /** What rounds away of w, and the rest of it (w0); w1 also packed. */
  decompose(from: number, low: number, high: number, packed: number): void
  /** z = y + c s1. */
  respond(z: number, y: number, product: number): number
  /** w0 less c s2. */
  lessen(low: number, product: number): number
  /** Where w1 changes by -c t0: a bit for each coefficient, four to a byte. `low` is w0 - c s2. */
  hint(hints: number, low: number, high: number, product: number): number
  pack(to: number, z: number): void
  /** z or y, to doubles. */
  unpack(to: number, from: number): number
  /** w1 of w and hints, packed. */
  useHints(packed: number, from: number, hints: number): void
}

/** Coefficients that are done in one turn. */
const LANES = 4

export function defineRounding(module: WasmModule, parameters: Parameters): void {
  const { gamma1Bits, gamma2, beta, highBits } = parameters
  const gamma1 = 2 ** gamma1Bits
  const responseBits = gamma1Bits + 1

  module.define('decompose', ['i32', 'i32', 'i32', 'i32'], [], ([from, low, high, packed], local) => {
    const split = newDecomposition(local, parameters)
    return loop(local, [
      ...split.of(integers(from!)),
      v128.store(low!, split.low),
      v128.store(high!, split.high),
      ...packFour(local, packed!, split.high, highBits),
      ...advance([from!, 8 * LANES], [low!, 4 * LANES], [high!, 4 * LANES]),
    ])
  })

  module.define('respond', ['i32', 'i32', 'i32'], ['i32'], ([z, y, product], local) => {
    const [value, exceeded] = [local('v128'), local('v128')]
    const sum = (offset: number) => f64x2.add(v128.load(y!, offset), v128.load(product!, offset))
    return [
      ...loop(local, [
        value.set(narrowed(sum(0), sum(16))),
        v128.store(z!, value),
        exceeded.set(v128.or(exceeded, isAtLeast(value, gamma1 - beta))),
        ...advance([z!, 4 * LANES], [y!, 8 * LANES], [product!, 8 * LANES]),
      ]),
      v128.anyTrue(exceeded),
    ]
  })

  module.define('lessen', ['i32', 'i32'], ['i32'], ([low, product], local) => {
    const [value, exceeded] = [local('v128'), local('v128')]
    return [
      ...loop(local, [
        value.set(i32x4.sub(v128.load(low!), integers(product!))),
        v128.store(low!, value),
        exceeded.set(v128.or(exceeded, isAtLeast(value, gamma2 - beta))),
        ...advance([low!, 4 * LANES], [product!, 8 * LANES]),
      ]),
      v128.anyTrue(exceeded),
    ]
  })

  module.define('hint', ['i32', 'i32', 'i32', 'i32'], ['i32'], ([hints, low, high, product], local) => {
    const [value, exceeded, changed] = [local('v128'), local('v128'), local('v128')]
    const edge = v128.and(i32x4.eq(value, i32x4.constant(-gamma2)), i32x4.ne(v128.load(high!), i32x4.constant(0)))
    return [
      ...loop(local, [
        value.set(integers(product!)),
        exceeded.set(v128.or(exceeded, isAtLeast(value, gamma2))),
        value.set(i32x4.add(v128.load(low!), value)),
        changed.set(v128.or(i32x4.gtS(i32x4.abs(value), i32x4.constant(gamma2)), edge)),
        i32.store8(hints!, i32x4.bitmask(changed)),
        ...advance([hints!, 1], [low!, 4 * LANES], [high!, 4 * LANES], [product!, 8 * LANES]),
      ]),
      v128.anyTrue(exceeded),
    ]
  })

  module.define('pack', ['i32', 'i32'], [], ([to, z], local) => {
    const value = local('v128')
    return loop(local, [
      value.set(i32x4.sub(i32x4.constant(gamma1), v128.load(z!))),
      ...packFour(local, to!, value, responseBits),
      ...advance([z!, 4 * LANES]),
    ])
  })

  module.define('unpack', ['i32', 'i32'], ['i32'], ([to, from], local) => {
    const [value, exceeded] = [local('v128'), local('v128')]
    const high = i8x16.shuffle(value, [8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7])
    return [
      ...loop(local, [
        value.set(i32x4.sub(i32x4.constant(gamma1), unpackFour(from!, responseBits))),
        v128.store(to!, f64x2.convertLowI32x4(value)),
        v128.store(to!, f64x2.convertLowI32x4(high), 16),
        exceeded.set(v128.or(exceeded, isAtLeast(value, gamma1 - beta))),
        ...advance([to!, 8 * LANES], [from!, (responseBits * LANES) / 8]),
      ]),
      v128.anyTrue(exceeded),
    ]
  })

  module.define('useHints', ['i32', 'i32', 'i32'], [], ([packed, from, hints], local) => {
    const split = newDecomposition(local, parameters)
    const [isHinted, change] = [local('v128'), local('v128')]
    const { high, low } = split
    const bits = i32x4.constant(1, 2, 4, 8)
    const count = (Q - 1) / (2 * gamma2) // of values of w1, which are a circle
    const isUp = i32x4.gtS(low, i32x4.constant(0))
    return loop(local, [
      ...split.of(integers(from!)),
      isHinted.set(i32x4.ne(v128.and(i32x4.splat(i32.load8U(hints!)), bits), i32x4.constant(0))),
      change.set(v128.or(i32x4.eq(isUp, i32x4.constant(0)), i32x4.constant(1))), // 1 or -1
      high.set(i32x4.add(high, v128.and(change, isHinted))),
      high.set(i32x4.add(high, v128.and(i32x4.shrS(high, 31), i32x4.constant(count)))),
      high.set(v128.and(high, i32x4.gtS(i32x4.constant(count), high))),
      ...packFour(local, packed!, high, highBits),
      ...advance([from!, 8 * LANES], [hints!, 1]),
    ])
  })
}

/** Four coefficients of doubles as integers. */
const integers = (from: Local): Code => narrowed(v128.load(from), v128.load(from, 16))

/** All ones where the absolute value is that or more. */
const isAtLeast = (value: Code | Local, bound: number): Code => i32x4.gtS(i32x4.abs(value), i32x4.constant(bound - 1))

/** For all coefficients of a polynomial. */
function loop(local: NewLocal, body: readonly Code[]): Code[] {
  const turns = local('i32')
  return [turns.set(i32.add(N / LANES, 0)), repeatWhile(body, turns.tee(i32.sub(turns, 1)))]
}

const advance = (...steps: readonly (readonly [Local, number])[]): Code[] =>
  steps.map(([pointer, bytes]) => pointer.set(i32.add(pointer, bytes)))

/** FIPS 204, algorithm 36, of numbers from -q to q. Quotients are those of multiplications that are exact enough for all numbers below q. */
function newDecomposition(local: NewLocal, { gamma2 }: Parameters) {
  const [value, low, high] = [local('v128'), local('v128'), local('v128')]
  const scaled = (factor: number, bits: number) =>
    i32x4.shrS(i32x4.add(i32x4.mul(high, i32x4.constant(factor)), i32x4.constant(2 ** (bits - 1))), bits)
  const is32 = gamma2 === (Q - 1) / 32
  const quotient = is32 ? scaled(1025, 22) : scaled(11275, 24)
  const count = (Q - 1) / (2 * gamma2)
  const of = (from: Code): Code[] => [
    value.set(from),
    value.set(i32x4.add(value, v128.and(i32x4.shrS(value, 31), i32x4.constant(Q)))),
    high.set(i32x4.shrS(i32x4.add(value, i32x4.constant(127)), 7)),
    high.set(quotient),
    high.set(v128.and(high, i32x4.gtS(i32x4.constant(count), high))), // what is next to q belongs to 0
    low.set(i32x4.sub(value, i32x4.mul(high, i32x4.constant(2 * gamma2)))),
    low.set(i32x4.sub(low, v128.and(i32x4.gtS(low, i32x4.constant((Q - 1) / 2)), i32x4.constant(Q)))),
  ]
  return { of, low, high }
}

/** Stores four numbers of so many bits, and up to eight bytes behind them; the pointer comes behind the numbers. */
function packFour(local: NewLocal, to: Local, value: Local, bits: number): Code[] {
  const pairs = local('v128')
  const [first, second] = [local('i64'), local('i64')]
  const low = v128.and(value, v128.constant(0xffff_ffffn))
  return [
    pairs.set(v128.or(low, i64x2.shl(i64x2.shrU(value, 32), bits))),
    first.set(i64x2.extractLane(pairs, 0)),
    second.set(i64x2.extractLane(pairs, 1)),
    i64.store(to, i64.or(first, i64.shl(second, 2 * bits))),
    ...(4 * bits > 64 ? [i64.store(to, i64.shrU(second, 64 - 2 * bits), 8)] : []),
    ...advance([to, bits / 2]),
  ]
}

/** Reads up to seven bytes more. */
function unpackFour(from: Local, bits: number): Code {
  const starts = [0, 1, 2, 3].map((lane) => lane * bits)
  const bytes = starts.flatMap((start) => [0, 1, 2, 3].map((i) => (start >> 3) + i))
  const highest = Math.max(...starts.map((start) => start & 7))
  const [a, b, c, d] = starts.map((start) => 2 ** (highest - (start & 7)))
  const aligned = i32x4.mul(i8x16.shuffle(v128.load(from), bytes), i32x4.constant(a!, b, c, d))
  return v128.and(i32x4.shrU(aligned, highest), i32x4.constant(2 ** bits - 1))
}
