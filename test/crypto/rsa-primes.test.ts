import assert from 'node:assert/strict'
import { checkPrimeSync, generatePrimeSync, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { plainEngine } from '../../firmware/crypto/engine/integer/integer.ts'
import { hasSmallFactor } from '../../firmware/crypto/engine/sieve.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import { generatePrime, isProbablePrime } from '../../firmware/crypto/rsa/primes.ts'
import { toBigInt, toBytes } from './rsa-keys.ts'

const bytesOf = (value: bigint) => toBytes(value, Math.ceil(value.toString(16).length / 2))
const probablyPrime = (value: bigint) => isProbablePrime(bytesOf(value), systemRandom, plainEngine)

test('the sieve finds exactly the numbers with a prime factor below 2^14', () => {
  const primes = [3n]
  for (let n = 5n; n < 2n ** 14n; n += 2n) if (primes.every((prime) => n % prime !== 0n)) primes.push(n)
  let found = 0
  for (const bytes of [32, 63, 64, 65, 128, 512]) {
    for (let i = 0; i < 300; i++) {
      const number = randomBytes(bytes)
      number[bytes - 1]! |= 1
      const value = toBigInt(number)
      const expected = primes.some((prime) => value % prime === 0n)
      assert.equal(hasSmallFactor(number), expected, String(value))
      if (expected) found++
    }
  }
  assert.ok(found > 1000)
  // Each prime by itself: prime times a product of two large primes.
  const large = generatePrimeSync(300, { bigint: true }) * generatePrimeSync(300, { bigint: true })
  for (const prime of primes) assert.ok(hasSmallFactor(bytesOf(prime * large)), String(prime))
  assert.ok(!hasSmallFactor(bytesOf(large)))
  assert.ok(!hasSmallFactor(bytesOf(16411n * large)), 'the first prime above the bound')
})

test('generated primes have the length and the highest and lowest bits that were promised', () => {
  for (const bits of [512, 513, 515, 519, 520, 768]) {
    const prime = generatePrime(bits, systemRandom, plainEngine)
    const value = toBigInt(prime)
    assert.equal(prime.length, Math.ceil(bits / 8))
    assert.equal(value >> BigInt(bits - 2), 3n)
    assert.equal(value & 3n, 3n)
    assert.ok(checkPrimeSync(value))
  }
})

test('accepts primes, also when a high power of two divides the prime less one', () => {
  for (const bits of [256, 511, 512, 1024]) assert.ok(probablyPrime(generatePrimeSync(bits, { bigint: true })))
  for (const twos of [1n, 2n, 3n, 8n, 17n, 64n, 200n]) {
    const prime = generatePrimeSync(320, { bigint: true, add: 2n ** twos, rem: 1n })
    assert.ok(probablyPrime(prime), `2^${twos} divides the prime less one`)
  }
  assert.ok(probablyPrime(2n ** 521n - 1n))
  assert.ok(probablyPrime(2n ** 255n - 19n))
})

test('refuses products of two primes, squares and numbers made to deceive', () => {
  for (let i = 0; i < 50; i++) {
    const [p, q] = [generatePrimeSync(130, { bigint: true }), generatePrimeSync(130, { bigint: true })]
    assert.ok(!probablyPrime(p * q))
    assert.ok(!probablyPrime(p * p))
  }
  // Carmichael numbers (6k+1)(12k+1)(18k+1): Fermat's test never finds them, and a quarter of the bases deceive.
  let found = 0
  for (let k = 2n ** 84n; found < 3; k++) {
    const factors = [6n * k + 1n, 12n * k + 1n, 18n * k + 1n] as const
    if (!factors.every((factor) => checkPrimeSync(factor))) continue
    assert.ok(!probablyPrime(factors[0] * factors[1] * factors[2]))
    found++
  }
  // p (2p - 1): strong liars for many of the bases.
  while (found < 6) {
    const p = generatePrimeSync(130, { bigint: true, add: 4n, rem: 3n })
    if (!checkPrimeSync(2n * p - 1n)) continue
    assert.ok(!probablyPrime(p * (2n * p - 1n)))
    found++
  }
})
