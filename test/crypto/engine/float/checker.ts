/**
 * Executes what the generators emit on bounds instead of values: each register is an interval, and an operation that could
 * lose a bit for any value inside throws. Loops run for real, so one pass proves every limb of a given number of limbs.
 */

import type { Products } from '../../../../firmware/crypto/engine/float/emitter.ts'
import { type Format, SIGNED } from '../../../../firmware/crypto/engine/float/format.ts'
import { BITS_2_52, type FloatMachine, type Walk } from '../../../../firmware/crypto/engine/float/machine.ts'

/** An integer held as a double, or the 64 bits of a lane, of which multiples of 2^64 do not count. */
export interface Interval {
  kind: 'number' | 'bits'
  low: bigint
  high: bigint
}

export const number = (low: bigint, high: bigint): Interval => ({ kind: 'number', low, high })
const bits = (low: bigint, high: bigint): Interval => ({ kind: 'bits', low, high })

const WORD = 1n << 64n
const EXACT = 1n << 53n

/** Addresses are numbers of limbs. */
export class Checker implements FloatMachine<Interval, number, number> {
  readonly memory = new Map<number, Interval>()
  splits = 0
  readonly format: Format
  readonly #halfMax: bigint
  readonly #productMin: bigint
  readonly #productMax: bigint

  constructor(format = SIGNED, products: Products = 'fused') {
    this.format = format
    const half = 1n << (format.radix - 1n)
    // rounded twice, a high part may be the second nearest when the low one is near half: product's last bit is 2^49 at most
    this.#halfMax = half + (products === 'fused' ? 0n : 1n << 48n)
    // what rounds to a high part of at most 2^51 around zero, or from 0 to 2^52 - 2: then the second addend is exact
    this.#productMin = format.isSigned ? half - (1n << (2n * format.radix)) : 0n
    this.#productMax = (1n << (2n * format.radix)) - (format.isSigned ? half : 3n * half)
  }

  constant(value: bigint): Interval {
    return bits(value, value)
  }

  load(from: number, limb: number): Interval {
    const value = this.memory.get(from + limb)
    if (value === undefined) throw new Error(`reads limb ${from + limb}, which was never written`)
    return value
  }

  store(to: number, limb: number, value: Interval): void {
    this.memory.set(to + limb, value)
  }

  at(from: number, limbs: number): number {
    return from + limbs
  }

  split(a: Interval, b: Interval): { high: Interval; low: Interval } {
    this.splits++
    const [x, y] = [asNumber(a), asNumber(b)]
    const products = [x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high]
    const [low, high] = [smallest(products), largest(products)]
    if (low < this.#productMin || high > this.#productMax) throw new RangeError('a product that is too large')
    const half = this.#halfMax
    const { radix, highMagic, lowMagic } = this.format
    return {
      high: bits(highMagic + ((low - half) >> radix), highMagic + ((high + half) >> radix) + 1n),
      low: bits(lowMagic - half, lowMagic + half),
    }
  }

  plus(a: Interval, b: Interval): Interval {
    const [x, y] = [asNumber(a), asNumber(b)]
    return exact(x.low + y.low, x.high + y.high)
  }

  minus(a: Interval, b: Interval): Interval {
    const [x, y] = [asNumber(a), asNumber(b)]
    return exact(x.low - y.high, x.high - y.low)
  }

  add(a: Interval, b: Interval): Interval {
    const [x, y] = [asBits(a), asBits(b)]
    return bits(x.low + y.low, x.high + y.high)
  }

  sub(a: Interval, b: Interval): Interval {
    const [x, y] = [asBits(a), asBits(b)]
    return bits(x.low - y.high, x.high - y.low)
  }

  and(a: Interval, b: Interval): Interval {
    if (b.kind === 'number') {
      if (a.kind !== 'bits' || a.low < -1n || a.high > 0n) throw new RangeError('a number cut by what is no selection')
      return number(b.low < 0n ? b.low : 0n, b.high > 0n ? b.high : 0n)
    }
    const { mask } = this.format
    if (b.low !== mask || b.high !== mask) throw new Error('only the mask of a limb is understood')
    return bits(0n, mask)
  }

  or(a: Interval, b: Interval): Interval {
    const x = asBits(a)
    if (b.low !== BITS_2_52 || b.high !== BITS_2_52) throw new Error('only the bits of 2^52 are understood')
    if (x.low < 0n || x.high >= EXACT / 2n) throw new RangeError('bits that meet the exponent')
    return bits(x.low + BITS_2_52, x.high + BITS_2_52)
  }

  shiftRight(a: Interval, count: number): Interval {
    const x = asBits(a)
    const shift = BigInt(count)
    if (count === 63) {
      if (x.low < -WORD / 2n || x.high >= WORD / 2n) throw new RangeError('a sign that is none')
      return bits(x.high >= 0n ? 0n : 1n, x.low < 0n ? 1n : 0n)
    }
    // lifted by 2^62, a column is between 0 and 2^63: a bias counted once too often or too rarely shows
    const turns = floorDivide(x.low, WORD)
    if (x.high - turns * WORD >= WORD / 2n) throw new RangeError('a column that leaves its 63 bits')
    return bits((x.low - turns * WORD) >> shift, (x.high - turns * WORD) >> shift)
  }

  bounded(a: Interval, lowest: bigint, highest: bigint): Interval {
    const x = asBits(a)
    const turns = floorDivide((x.low + x.high - lowest - highest + WORD) / 2n, WORD) * WORD
    const low = largest([x.low - turns, lowest])
    const high = smallest([x.high - turns, highest])
    if (low > high) throw new RangeError('a bound that cannot hold')
    return bits(low, high)
  }

  repeat(times: number, walk: readonly Walk<number>[], body: (p: number[], remaining: number) => void): number[] {
    if (times < 0) throw new RangeError('a loop that runs less than never')
    const pointers = walk.map(({ from }) => from)
    for (let remaining = times; remaining > 0; remaining--) {
      body([...pointers], remaining)
      walk.forEach(({ step }, i) => {
        pointers[i]! += step
      })
    }
    return pointers
  }

  less(counter: number, by: number): number {
    return counter - by
  }

  variable(initial: Interval): { get: () => Interval; set: (value: Interval) => void } {
    let value = initial
    return {
      get: () => value,
      set: (next) => {
        value = next
      },
    }
  }
}

function exact(low: bigint, high: bigint): Interval {
  if (low < -EXACT || high > EXACT) throw new RangeError('a number above 2^53')
  return number(low, high)
}

/** Bits as the double they are: understood from 2^52 to 2^53, where the last bit is worth one. */
function asNumber(value: Interval): Interval {
  if (value.kind === 'number') return value
  const turns = floorDivide(value.low, WORD) * WORD
  const [low, high] = [value.low - turns - BITS_2_52, value.high - turns - BITS_2_52]
  if (low < 0n || high > EXACT / 2n) throw new RangeError('a double outside of 2^52 to 2^53')
  return number(low + EXACT / 2n, high + EXACT / 2n)
}

function asBits(value: Interval): Interval {
  if (value.kind === 'bits') return value
  if (value.low < EXACT / 2n || value.high > EXACT) throw new RangeError('a double outside of 2^52 to 2^53')
  return bits(value.low - EXACT / 2n + BITS_2_52, value.high - EXACT / 2n + BITS_2_52)
}

const floorDivide = (a: bigint, b: bigint): bigint => (a - (((a % b) + b) % b)) / b
const compare = (a: bigint, b: bigint): number => Number(a > b) - Number(a < b)
const smallest = (values: bigint[]): bigint => values.sort(compare)[0]!
const largest = (values: bigint[]): bigint => values.sort(compare).at(-1)!
