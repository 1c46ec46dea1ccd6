/** Executes the generators of polynomial arithmetic on bounds instead of values: see checker.ts of the curves, of which it is one more kind. */

import type { Products } from '../../../../firmware/crypto/engine/float/emitter.ts'
import { SIGNED } from '../../../../firmware/crypto/engine/float/format.ts'
import { Q } from '../../../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { INTEGER_LIMBS, type PolynomialMachine } from '../../../../firmware/crypto/engine/ml-dsa/transform-code.ts'
import { Checker, type Interval, number } from '../float/checker.ts'

/** Stands where a factor's share of q is read: its value decides nothing that `modular` does not bound. */
export const SHARE = number(0n, 0n)

const EXACT = 1n << 53n
const INTEGER = 1n << 31n
const MODULUS = BigInt(Q)

export class PolynomialChecker extends Checker implements PolynomialMachine<Interval, number> {
  largest = 0n
  /** Rounding errors before a quotient: its last bit, and that of the share. */
  readonly #errorBits: bigint

  constructor(products: Products) {
    super(SIGNED, products)
    this.#errorBits = products === 'fused' ? 53n : 52n
  }

  times(a: Interval, b: Interval): Interval {
    const products = [a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]
    return this.#exact(products.reduce(smaller), products.reduce(larger))
  }

  plusProduct(sum: Interval, a: Interval, b: Interval): Interval {
    const product = this.times(a, b)
    return this.#exact(sum.low + product.low, sum.high + product.high)
  }

  /** Half of q, and q times what the quotient is beside itself. */
  modular(a: Interval, factor: Interval, share: Interval): Interval {
    if (share !== SHARE) throw new Error('a factor without its share')
    const product = size(this.times(a, factor))
    this.#exact(-product - MODULUS, product + MODULUS) // the multiple of q
    const most = MODULUS / 2n + 1n + (product >> this.#errorBits)
    return number(-most, most)
  }

  exchanged = (a: Interval, b: Interval): [Interval, Interval] => [both(a, b), both(a, b)]

  widen(from: number, limb: number): Interval {
    return asInteger(this.load(from, limb))
  }

  narrow(to: number, from: number): void {
    for (let limb = 0; limb < INTEGER_LIMBS; limb++) {
      this.store(to, limb, asInteger(both(this.load(from, 2 * limb), this.load(from, 2 * limb + 1))))
    }
  }

  #exact(low: bigint, high: bigint): Interval {
    this.largest = [this.largest, -low, high].reduce(larger)
    if (this.largest >= EXACT) throw new RangeError('a product or a sum above 2^53')
    return number(low, high)
  }
}

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b)
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b)
export const size = ({ low, high }: Interval): bigint => larger(-low, high)
export const both = (a: Interval, b: Interval): Interval => number(smaller(a.low, b.low), larger(a.high, b.high))

function asInteger(value: Interval): Interval {
  if (value.low < -INTEGER || value.high >= INTEGER) throw new RangeError('an integer of more than 32 bits')
  return value
}
