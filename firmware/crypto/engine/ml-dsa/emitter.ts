/** Emits WebAssembly for the generators of polynomial arithmetic. */

import { type CodeAddress, Emitter } from '../float/emitter.ts'
import { doubleBits, LIMB_BYTES, LOW_MAGIC } from '../float/machine.ts'
import { f64x2, i8x16, type Local, v128 } from '../wasm.ts'
import { Q } from './parameters.ts'
import type { PolynomialMachine } from './transform-code.ts'

const FIRSTS = [0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23]
const SECONDS = FIRSTS.map((byte) => byte + 8)

export class PolynomialEmitter extends Emitter implements PolynomialMachine<Local, CodeAddress> {
  times = (a: Local, b: Local): Local => this.keep(f64x2.mul(a, b))

  plusProduct(sum: Local, a: Local, b: Local): Local {
    return this.keep(this.products === 'fused' ? f64x2.relaxedMadd(a, b, sum) : f64x2.add(sum, f64x2.mul(a, b)))
  }

  /** Product minus a nearest, or nearly nearest, multiple of q. Exact, since both are integers below 2^53. */
  modular(a: Local, factor: Local, share: Local): Local {
    const magic = this.constant(LOW_MAGIC)
    const quotient = this.minus(this.plusProduct(magic, a, share), magic)
    return this.plusProduct(this.times(a, factor), quotient, this.constant(doubleBits(-Q)))
  }

  exchanged(a: Local, b: Local): [Local, Local] {
    return [this.keep(i8x16.shuffle(a, FIRSTS, b)), this.keep(i8x16.shuffle(a, SECONDS, b))]
  }

  widen({ base, bytes }: CodeAddress, limb: number, half: 0 | 1): Local {
    return this.keep(f64x2.convertLowI32x4(v128.load64Zero(base, bytes + (limb + half / 2) * LIMB_BYTES)))
  }
}
