/**
 * The private operation c^d mod n (RFC 8017 sections 5.1.2 and 5.2.1). It is blinded, so that the caller who chooses c does not
 * know the input of the exponentiation. It is checked, since one faulty half of a CRT result reveals the key.
 */

import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { bitLength, type Engine, type Residue, type RsaArithmetic } from '../engine/engine.ts'
import { inverse } from '../engine/integer/arithmetic.ts'
import type { Random } from '../random.ts'
import type { RsaPrivateKey } from './encoding.ts'

/** Blinding factors are squared for each operation and drawn again after this number. */
const BLINDING_USES = 64

export class RsaOperation {
  readonly bits: number
  readonly #n: Uint8Array
  readonly #e: Uint8Array
  readonly #arithmetic: RsaArithmetic
  readonly #random: Random
  #blinding: { factor: Residue; inverse: Residue; uses: number } | undefined

  /** Copies the necessary parts of the key. */
  constructor(key: RsaPrivateKey, random: Random, engine: Engine) {
    this.bits = bitLength(key.n)
    this.#n = key.n.slice()
    this.#e = key.e.slice()
    this.#random = random
    this.#arithmetic = engine.openRsa(key)
  }

  /** Returns exactly as many bytes as n has. `number` must be below n. */
  power(number: Uint8Array): Uint8Array {
    return this.#arithmetic.use(() => this.#power(number))
  }

  #power(number: Uint8Array): Uint8Array {
    const arithmetic = this.#arithmetic
    const blinding = this.#nextBlinding()
    const base = arithmetic.enter(number)
    const blinded = arithmetic.multiply(base, blinding.factor)
    const blindedPower = arithmetic.privatePower(blinded)
    const power = arithmetic.multiply(blindedPower, blinding.inverse)
    // Compares the final bytes with the input bytes, so that the check covers all steps between them.
    const result = arithmetic.leave(power)
    const reentered = arithmetic.enter(result)
    const check = arithmetic.publicPower(reentered, this.#e)
    const expected = arithmetic.enter(number)
    const isRight = arithmetic.isSame(check, expected)
    wipe(base, blinded, blindedPower, power, reentered, check, expected)
    if (isRight) return result
    wipe(result)
    throw new CofferError('internal', 'The RSA operation failed')
  }

  wipe(): void {
    this.#forgetBlinding()
    this.#arithmetic.wipe()
  }

  #nextBlinding() {
    if (this.#blinding === undefined || this.#blinding.uses === BLINDING_USES) {
      this.#forgetBlinding()
      this.#blinding = this.#drawBlinding()
    } else {
      const { factor, inverse } = this.#blinding
      this.#blinding.factor = this.#arithmetic.multiply(factor, factor)
      this.#blinding.inverse = this.#arithmetic.multiply(inverse, inverse)
      wipe(factor, inverse)
    }
    this.#blinding.uses++
    return this.#blinding
  }

  /** r^e and r^-1 of a random r below 2^(bits - 1), which is below n. */
  #drawBlinding() {
    for (;;) {
      const r = this.#random(this.#n.length)
      r[0]! &= 2 ** ((this.bits - 1) % 8) - 1
      const rInverse = inverse(r, this.#n)
      if (rInverse === null) continue // r is zero, or a multiple of p or q
      const residue = this.#arithmetic.enter(r)
      const factor = this.#arithmetic.publicPower(residue, this.#e)
      const blinding = { factor, inverse: this.#arithmetic.enter(rInverse), uses: 0 }
      wipe(r, rInverse, residue)
      return blinding
    }
  }

  #forgetBlinding(): void {
    wipe(this.#blinding?.factor, this.#blinding?.inverse)
    this.#blinding = undefined
  }
}
