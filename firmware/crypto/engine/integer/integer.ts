/** The plain engine: integer WebAssembly, one modulus after the other. Runs on every processor. */

import { timingSafeEqual } from 'node:crypto'
import { copySecret, wipe } from '../../../base/secret.ts'
import { bitLength, type Engine, type Pair, type Residue, type RsaArithmetic, type RsaNumbers } from '../engine.ts'
import { WINDOW_BITS } from './layout.ts'
import {
  code,
  leaveForm,
  limbsFor,
  MODULUS,
  put,
  putBlock,
  putBytes,
  putLimbs,
  putModulus,
  R_ONCE,
  R_SQUARED,
  reduce,
  slots,
  take,
  takeBlock,
  takeLimbs,
  work,
} from './memory.ts'

export const plainEngine: Engine = {
  name: 'plain',
  openRsa: (numbers) => new PlainRsa(numbers),
  powers: (moduli, bases, exponents) => {
    const [first, second] = bases === 2 ? [TWO, TWO] : bases
    return [modularPower(moduli[0], first, exponents[0]), modularPower(moduli[1], second, exponents[1])]
  },
}

const { UNIT, X, Y, HIGH, LOW, EXPONENT, AT_P, AT_Q, COEFFICIENT, PRIME_Q } = slots(
  'UNIT',
  'X',
  'Y',
  'HIGH',
  'LOW',
  'EXPONENT',
  'AT_P',
  'AT_Q',
  'COEFFICIENT',
  'PRIME_Q',
)
const ONE = Uint8Array.of(1)
const TWO = Uint8Array.of(2)

function modularPower(modulus: Uint8Array, base: Uint8Array, exponent: Uint8Array): Uint8Array {
  const limbs = limbsFor(bitLength(modulus))
  return work(() => {
    putModulus(modulus, limbs)
    put(UNIT, ONE, limbs)
    put(X, base, limbs)
    putBytes(EXPONENT, exponent)
    code().multiply(X, X, R_SQUARED, MODULUS, limbs)
    code().power(Y, X, EXPONENT, windows(8 * exponent.length), R_ONCE, MODULUS, limbs)
    leaveForm(Y, UNIT, limbs)
    return take(Y, limbs, modulus.length)
  })
}

const windows = (bits: number) => Math.ceil(bits / WINDOW_BITS)

class PlainRsa implements RsaArithmetic {
  readonly #bytes: number
  readonly #limbs: number
  /** Limbs of either prime. The longer prime decides, so that twice as many limbs hold a number below n. */
  readonly #primeLimbs: number
  readonly #windows: Pair<number>
  readonly #modulus: Uint8Array
  readonly #primes: Pair<Uint8Array>
  readonly #exponents: Pair<Uint8Array>
  readonly #q: Uint8Array
  readonly #qinv: Uint8Array

  constructor({ n, p, q, dp, dq, qinv }: RsaNumbers) {
    const primeBits = [bitLength(p), bitLength(q)] as const
    const bits = bitLength(n)
    this.#bytes = Math.ceil(bits / 8)
    this.#limbs = limbsFor(bits)
    this.#primeLimbs = limbsFor(Math.max(...primeBits))
    this.#windows = [windows(primeBits[0]), windows(primeBits[1])]
    this.#modulus = block(n, this.#limbs)
    this.#primes = [block(p, this.#primeLimbs), block(q, this.#primeLimbs)]
    this.#exponents = [copySecret(dp), copySecret(dq)]
    this.#q = copySecret(q)
    this.#qinv = copySecret(qinv)
  }

  /** Needs no setup: each operation loads its numbers into memory and wipes them. */
  use<T>(work: () => T): T {
    return work()
  }

  enter(number: Uint8Array): Residue {
    return this.#work(() => {
      put(X, number, this.#limbs)
      code().multiply(X, X, R_SQUARED, MODULUS, this.#limbs)
    })
  }

  leave(residue: Residue): Uint8Array {
    return work(() => {
      putBlock(this.#modulus)
      put(UNIT, ONE, this.#limbs)
      putLimbs(X, residue)
      leaveForm(X, UNIT, this.#limbs)
      return take(X, this.#limbs, this.#bytes)
    })
  }

  multiply(a: Residue, b: Residue): Residue {
    return this.#work(() => {
      putLimbs(X, a)
      putLimbs(Y, b)
      code().multiply(X, X, Y, MODULUS, this.#limbs)
    })
  }

  publicPower(base: Residue, publicExponent: Uint8Array): Residue {
    return this.#work(() => {
      putLimbs(X, base)
      putLimbs(Y, base)
      for (let bit = bitLength(publicExponent) - 2; bit >= 0; bit--) {
        code().multiply(X, X, X, MODULUS, this.#limbs)
        const byte = publicExponent[publicExponent.length - 1 - (bit >> 3)]!
        if ((byte >> (bit & 7)) & 1) code().multiply(X, X, Y, MODULUS, this.#limbs)
      }
    })
  }

  isSame(a: Residue, b: Residue): boolean {
    const [left, right] = [this.leave(a), this.leave(b)]
    const isSame = timingSafeEqual(left, right)
    wipe(left, right)
    return isSame
  }

  privatePower(base: Residue): Residue {
    const limbs = this.#limbs
    return this.#work(() => {
      put(UNIT, ONE, limbs)
      putLimbs(X, base)
      leaveForm(X, UNIT, limbs)
      this.#powerModuloPrime(1, AT_Q)
      this.#powerModuloPrime(0, AT_P)
      this.#quotient()

      // Garner: the power is AT_Q + q * AT_P, below n.
      putBlock(this.#modulus)
      put(PRIME_Q, this.#q, limbs)
      code().multiply(PRIME_Q, PRIME_Q, R_SQUARED, MODULUS, limbs)
      code().multiply(X, AT_P, PRIME_Q, MODULUS, limbs)
      reduce(X, limbs)
      code().add(X, X, AT_Q, limbs)
      code().multiply(X, X, R_SQUARED, MODULUS, limbs)
    })
  }

  wipe(): void {
    wipe(...this.#primes, ...this.#exponents, this.#q, this.#qinv)
  }

  /** X^d modulo one prime, reduced. Does not change X. */
  #powerModuloPrime(index: 0 | 1, to: number): void {
    const limbs = this.#primeLimbs
    putBlock(this.#primes[index])
    // X = high R + low. Its Montgomery form is high R^2 + low R, computed as high * R^3 / R + low * R^2 / R.
    code().multiply(HIGH, R_SQUARED, R_SQUARED, MODULUS, limbs)
    reduce(HIGH, limbs)
    code().multiply(HIGH, X + 4 * limbs, HIGH, MODULUS, limbs)
    code().multiply(LOW, X, R_SQUARED, MODULUS, limbs)
    reduce(HIGH, limbs)
    reduce(LOW, limbs)
    code().add(LOW, LOW, HIGH, limbs)
    putBytes(EXPONENT, this.#exponents[index])
    code().power(to, LOW, EXPONENT, this.#windows[index], R_ONCE, MODULUS, limbs)
    leaveForm(to, UNIT, limbs)
  }

  /** AT_P = (AT_P - AT_Q) / q mod p. The modulus must be p; AT_Q may exceed it. */
  #quotient(): void {
    const limbs = this.#primeLimbs
    put(COEFFICIENT, this.#qinv, limbs)
    code().multiply(COEFFICIENT, COEFFICIENT, R_SQUARED, MODULUS, limbs)
    reduce(COEFFICIENT, limbs)
    code().multiply(Y, AT_Q, COEFFICIENT, MODULUS, limbs)
    code().multiply(AT_P, AT_P, COEFFICIENT, MODULUS, limbs)
    reduce(Y, limbs)
    reduce(AT_P, limbs)
    code().subtract(AT_P, AT_P, Y, MODULUS, limbs)
  }

  /** Runs an operation modulo n whose result is in X. */
  #work(operation: () => void): Residue {
    return work(() => {
      putBlock(this.#modulus)
      operation()
      return takeLimbs(X, this.#limbs)
    })
  }
}

function block(modulus: Uint8Array, limbs: number): Uint8Array {
  return work(() => {
    putModulus(modulus, limbs)
    return takeBlock()
  })
}
