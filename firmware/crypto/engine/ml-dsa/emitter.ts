/** Emits WebAssembly for the generators of polynomial arithmetic. */

import { type Address, Emitter, type Products } from '../float/emitter.ts'
import { SIGNED } from '../float/format.ts'
import { doubleBits, LIMB_BYTES, LOW_MAGIC } from '../float/machine.ts'
import { type Code, f64x2, i8x16, type Local, type NewLocal, v128 } from '../wasm.ts'
import { Q } from './parameters.ts'
import type { PolynomialMachine } from './transform-code.ts'

const FIRSTS = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
const SECONDS = FIRSTS.map((byte) => byte + 8)
/** The low halves of two lanes twice. */
const LOW_HALVES = [0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27]

/** Four integers of 32 bits: below 2^31 they are the low half of the bits once 3 * 2^51 is added. */
export const narrowed = (a: Code | Local, b: Code | Local): Code => {
  const magic = v128.constant(LOW_MAGIC)
  return i8x16.shuffleBoth(f64x2.add(a, magic), f64x2.add(b, magic), LOW_HALVES)
}

export class PolynomialEmitter extends Emitter implements PolynomialMachine<Local, Address> {
  readonly #fused: boolean

  constructor(local: NewLocal, products: Products) {
    super(local, SIGNED, products)
    this.#fused = products === 'fused'
  }

  times = (a: Local, b: Local): Local => this.keep(f64x2.mul(a, b))

  plusProduct(sum: Local, a: Local, b: Local): Local {
    return this.keep(this.#fused ? f64x2.relaxedMadd(a, b, sum) : f64x2.add(sum, f64x2.mul(a, b)))
  }

  minusProduct(sum: Local, a: Local, b: Local): Local {
    return this.keep(this.#fused ? f64x2.relaxedNmadd(a, b, sum) : f64x2.sub(sum, f64x2.mul(a, b)))
  }

  modular(a: Local, factor: Local, share: Local): Local {
    return this.#rest(this.times(a, factor), a, share)
  }

  reduce(a: Local): Local {
    return this.#rest(a, a, this.constant(doubleBits(1 / Q)))
  }

  /** `value`, which is nearly a * share * q, less the nearest multiple of q: exact, as both are integers below 2^53. */
  #rest(value: Local, a: Local, share: Local): Local {
    const magic = this.constant(LOW_MAGIC)
    const quotient = this.minus(this.plusProduct(magic, a, share), magic)
    return this.minusProduct(value, quotient, this.constant(doubleBits(Q)))
  }

  firsts = (a: Local, b: Local): Local => this.keep(i8x16.shuffleBoth(a, b, FIRSTS))
  seconds = (a: Local, b: Local): Local => this.keep(i8x16.shuffleBoth(a, b, SECONDS))

  widen({ base, bytes }: Address, limb: number): [Local, Local] {
    const half = (offset: number) =>
      this.keep(f64x2.convertLowI32x4(v128.load64Zero(base, bytes + limb * LIMB_BYTES + offset)))
    return [half(0), half(LIMB_BYTES / 2)]
  }

  narrow(to: Address, limb: number, a: Local, b: Local): void {
    this.store(to, limb, this.keep(narrowed(a, b)))
  }
}
