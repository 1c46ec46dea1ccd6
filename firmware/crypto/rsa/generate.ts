/** Generates and imports RSA keys. FIPS 186-5 A.1.3; contract sections 4.4 and 6.4. */

import { CofferError } from '../../base/error.ts'
import { copySecret, wipe } from '../../base/secret.ts'
import { checkBits, RSA_BITS } from '../algorithms.ts'
import { bitLength, type Engine } from '../engine/engine.ts'
import { inverseOfOdd } from '../engine/integer/arithmetic.ts'
import { engine as defaultEngine } from '../engine/select.ts'
import { type Random, systemRandom } from '../random.ts'
import { computeRsaKey, type RsaPrivateKey, wipeRsaKey, withoutLeadingZeros } from './encoding.ts'
import { RsaOperation } from './operation.ts'
import { generatePrime, isProbablePrime } from './primes.ts'

/** Generates a key of exactly `bits` bits with e = 65537. */
export function generateRsa(
  bits: number,
  random: Random = systemRandom,
  engine: Engine = defaultEngine,
): RsaPrivateKey {
  checkBits('RSA', bits)
  for (;;) {
    const p = generatePrime(Math.ceil(bits / 2), random, engine)
    const q = generatePrime(Math.floor(bits / 2), random, engine)
    const key = farApart(p, q) ? computeRsaKey(p, q, PUBLIC_EXPONENT) : null
    wipe(p, q)
    if (key === null) continue
    checkPair(key, random, engine)
    return key
  }
}

/** Numbers of a key file that follow from the primes, big-endian: RFC 8017 A.1.2. */
export interface RsaClaims {
  privateExponent: Uint8Array
  exponentP: Uint8Array
  exponentQ: Uint8Array
  coefficient: Uint8Array
}

/**
 * Computes the key of two big-endian primes; leading zero bytes are allowed. Throws CofferError `invalid` with the field, also if
 * a claim of the file is wrong.
 */
export function rsaFromPrimes(
  primeP: Uint8Array,
  primeQ: Uint8Array,
  publicExponent: Uint8Array,
  random: Random = systemRandom,
  engine: Engine = defaultEngine,
  claims?: RsaClaims,
): RsaPrivateKey {
  const p = withoutLeadingZeros(primeP)
  const q = withoutLeadingZeros(primeQ)
  const e = withoutLeadingZeros(publicExponent)
  try {
    checkLength('primeP', p)
    checkLength('primeQ', q)
    // The product may have one bit less than the sum of the primes' bits.
    if (bitLength(p) + bitLength(q) > RSA_BITS.max + 1) throw badModulus()
    if (!isOdd(e) || bitLength(e) < 2) throw new CofferError('invalid', 'publicExponent: must be odd and at least 3')
    if (bitLength(e) > RSA_BITS.max) throw tooLargeExponent()
    checkPrime('primeP', p, random, engine)
    checkPrime('primeQ', q, random, engine)
    if (Buffer.compare(p, q) === 0) throw new CofferError('invalid', 'primeP and primeQ: must not be equal')
    if (!farApart(p, q)) throw new CofferError('invalid', 'primeP and primeQ: too close to each other')
    const key = computeRsaKey(p, q, e)
    if (key === null) throw new CofferError('invalid', 'publicExponent: must be coprime to both primes minus one')
    const bits = bitLength(key.n)
    if (bits < RSA_BITS.min || bits > RSA_BITS.max) throw badModulus()
    if (e.length > key.n.length || (e.length === key.n.length && Buffer.compare(e, key.n) >= 0))
      throw tooLargeExponent()
    try {
      checkPrivateExponent(key)
      if (claims !== undefined) checkClaims(key, claims)
      checkPair(key, random, engine)
    } catch (error) {
      wipeRsaKey(key)
      throw error
    }
    return key
  } finally {
    wipe(p, q)
  }
}

/**
 * d > 2^(bits / 2), FIPS 186-5 A.1.1: a smaller one can be computed from the public key. If d is below p - 1, it equals its
 * remainder modulo p - 1, and its remainder modulo q - 1 is the other exponent.
 */
function checkPrivateExponent(key: RsaPrivateKey): void {
  const { p, q, dp, dq } = key
  const bitsMax = bitLength(key.n) >> 1
  const isWhole = (exponent: Uint8Array, prime: Uint8Array, remainder: Uint8Array) =>
    bitLength(exponent) <= bitsMax && (bitLength(exponent) < 2 || isRemainder(exponent, prime, remainder))
  if (isWhole(dq, p, dp) || isWhole(dp, q, dq)) {
    throw new CofferError('invalid', 'publicExponent: the private exponent is too small')
  }
}

function checkClaims(key: RsaPrivateKey, claims: RsaClaims): void {
  const isSame = (claimed: Uint8Array, number: Uint8Array) => {
    const numbers = [claimed, number].map(withoutLeadingZeros) as [Uint8Array, Uint8Array]
    const isSame = Buffer.compare(...numbers) === 0
    wipe(...numbers)
    return isSame
  }
  const d = withoutLeadingZeros(claims.privateExponent)
  const isRight =
    isSame(claims.exponentP, key.dp) &&
    isSame(claims.exponentQ, key.dq) &&
    isSame(claims.coefficient, key.qinv) &&
    isOdd(d) &&
    bitLength(d) > 1 &&
    d.length <= key.n.length &&
    isRemainder(d, key.p, key.dp) &&
    isRemainder(d, key.q, key.dq)
  wipe(d)
  if (!isRight) throw new CofferError('invalid', 'The private numbers of the key contradict each other')
}

/** True if the odd number is congruent to `remainder` modulo prime - 1. The remainder has no factor in common with that. */
function isRemainder(number: Uint8Array, prime: Uint8Array, remainder: Uint8Array): boolean {
  const less = copySecret(prime)
  less[less.length - 1]! &= 0xfe
  const [first, second] = [inverseOfOdd(number, less), inverseOfOdd(remainder, less)]
  const isSame = first !== null && second !== null && Buffer.compare(first, second) === 0
  wipe(less, first, second)
  return isSame
}

const PUBLIC_EXPONENT = Uint8Array.of(1, 0, 1)

/** Shorter primes can be found by factoring the modulus, whatever its length. */
const PRIME_BITS_MIN = 256

const badModulus = () => new CofferError('invalid', `The modulus must have ${RSA_BITS.min} to ${RSA_BITS.max} bits`)
const tooLargeExponent = () => new CofferError('invalid', 'publicExponent: must be less than the modulus')
const isOdd = (number: Uint8Array) => number.length > 0 && (number[number.length - 1]! & 1) === 1

function checkLength(field: string, prime: Uint8Array): void {
  if (bitLength(prime) > RSA_BITS.max) throw badModulus()
  if (bitLength(prime) < PRIME_BITS_MIN) {
    throw new CofferError('invalid', `${field}: must have at least ${PRIME_BITS_MIN} bits`)
  }
}

function checkPrime(field: string, prime: Uint8Array, random: Random, engine: Engine): void {
  if (!isOdd(prime) || !isProbablePrime(prime, random, engine)) {
    throw new CofferError('invalid', `${field}: must be an odd prime`)
  }
}

/** |p - q| > 2^(bits / 2 - 100): the first 96 bits of p - q and of q - p are not all zero. */
function farApart(p: Uint8Array, q: Uint8Array): boolean {
  return differs(p, q) && differs(q, p)
}

function differs(a: Uint8Array, b: Uint8Array): boolean {
  let difference = 0
  let high = 0
  for (let i = 1; i <= a.length || i <= b.length; i++) {
    difference = (difference >> 8) + (a[a.length - i] ?? 0) - (b[b.length - i] ?? 0)
    if (i > Math.max(a.length, b.length) - 12) high |= difference & 0xff
  }
  return high !== 0
}

/** Performs one private operation on a new key, which checks its result with the public exponent. */
function checkPair(key: RsaPrivateKey, random: Random, engine: Engine): void {
  const operation = new RsaOperation(key, random, engine)
  try {
    operation.power(Uint8Array.of(2))
  } finally {
    operation.wipe()
  }
}
