/** Probable primes for RSA. FIPS 186-5, A.1.3 and B.3.1 (Miller-Rabin). */

import { copySecret, newSecret, wipe } from '../../base/secret.ts'
import { bitLength, type Engine, type Pair } from '../engine/engine.ts'
import { hasSmallFactor } from '../engine/sieve.ts'
import type { Random } from '../random.ts'

/**
 * Random prime of exactly `bits` bits. The two highest bits are set, so that the product of two such primes has full length. The
 * two lowest bits are set as well: this costs one bit of choice, and makes Miller-Rabin a single power that reveals nothing about
 * the prime. Each candidate is drawn independently, so that rejected ones reveal nothing about the prime.
 */
export function generatePrime(bits: number, random: Random, engine: Engine): Uint8Array {
  const draw = drawCandidates(bits, random)
  try {
    for (;;) {
      const candidates = [draw.next().value, draw.next().value] as const
      // base 2 is fast, and few composite numbers pass it: it saves most of them the counted rounds
      const passed = passRound(candidates, 2, engine)
      const prime = candidates[passed[0] ? 0 : 1]
      wipe(candidates[passed[0] ? 1 : 0])
      if ((passed[0] || passed[1]) && passRounds(prime, generationRounds(bits), random, engine)) return prime
      wipe(prime)
    }
  } finally {
    draw.return(undefined as never)
  }
}

/**
 * True if a number from outside is prime: odd, above 2^64, without leading zero bytes. A composite number passes with a
 * probability below 2^-80. The time reveals the factors 2 of the number minus one.
 */
export function isProbablePrime(number: Uint8Array, random: Random, engine: Engine): boolean {
  return passRounds(number, IMPORT_ROUNDS, random, engine)
}

/** A round misses a composite number for at most a quarter of the bases. */
const IMPORT_ROUNDS = 40

/**
 * Random candidates need far fewer rounds: FIPS 186-5 table B.1 requires 5 at 1024 bits and 4 from 1536 bits on. For the shorter
 * primes of 1024-bit keys FIPS 186-4 table C.3 requires 7. Rounds run in pairs.
 */
const generationRounds = (bits: number) => (bits < 1024 ? 8 : bits < 1536 ? 6 : 4)

/** Candidates per call for random bytes, since a call costs more than sieving a candidate. */
const DRAWN_TOGETHER = 32

function* drawCandidates(bits: number, random: Random): Generator<Uint8Array, never> {
  const bytes = Math.ceil(bits / 8)
  const topBits = ((bits - 1) % 8) + 1
  for (;;) {
    const drawn = random(DRAWN_TOGETHER * bytes)
    try {
      for (let at = 0; at < drawn.length; at += bytes) {
        const candidate = drawn.subarray(at, at + bytes)
        candidate[0]! &= 2 ** topBits - 1
        for (const bit of [bits - 1, bits - 2, 1, 0]) setBit(candidate, bit)
        if (!hasSmallFactor(candidate)) yield copySecret(candidate)
      }
    } finally {
      wipe(drawn)
    }
  }
}

function setBit(number: Uint8Array, bit: number): void {
  number[number.length - 1 - (bit >> 3)]! |= 1 << (bit & 7)
}

function passRounds(number: Uint8Array, rounds: number, random: Random, engine: Engine): boolean {
  for (let round = 0; round < rounds; round += 2) {
    const bases = [randomBase(number, random), randomBase(number, random)] as const
    const passed = passRound([number, number], bases, engine)
    wipe(...bases)
    if (!(passed[0] && passed[1])) return false
  }
  return true
}

function passRound(numbers: Pair<Uint8Array>, bases: Pair<Uint8Array> | 2, engine: Engine): Pair<boolean> {
  const less = [lessOne(numbers[0]), lessOne(numbers[1])] as const
  const twos = [trailingZeros(less[0]), trailingZeros(less[1])] as const
  const exponents = [shiftRight(less[0], twos[0]), shiftRight(less[1], twos[1])] as const
  let powers = engine.powers(numbers, bases, exponents)
  const passed: [boolean, boolean] = [
    isOne(powers[0]) || equal(powers[0], less[0]),
    isOne(powers[1]) || equal(powers[1], less[1]),
  ]
  for (let i = 1; i < Math.max(...twos); i++) {
    const roots = powers
    powers = engine.powers(numbers, roots, [TWO, TWO])
    wipe(...roots) // the number minus one differs from the prime in one bit
    for (const lane of [0, 1] as const) passed[lane] ||= i < twos[lane] && equal(powers[lane], less[lane])
  }
  wipe(...less, ...exponents, ...powers)
  return passed
}

const TWO = Uint8Array.of(2)

/** Random base below half of the number. The probability of 0 or 1 is negligible. */
function randomBase(number: Uint8Array, random: Random): Uint8Array {
  const base = random(number.length)
  const bits = bitLength(number) - 1
  base[0]! &= 2 ** (bits - 8 * (number.length - 1)) - 1
  return base
}

function lessOne(odd: Uint8Array): Uint8Array {
  const number = copySecret(odd)
  number[number.length - 1]! &= 0xfe
  return number
}

function trailingZeros(number: Uint8Array): number {
  const last = number.findLastIndex((byte) => byte !== 0)
  return 8 * (number.length - 1 - last) + 31 - Math.clz32(number[last]! & -number[last]!)
}

function shiftRight(number: Uint8Array, bits: number): Uint8Array {
  const bytes = bits >> 3
  const shifted = newSecret(number.length)
  for (let i = number.length - 1; i >= bytes; i--) {
    const above = i - bytes > 0 ? number[i - bytes - 1]! : 0
    shifted[i] = ((above << 8) | number[i - bytes]!) >> (bits & 7)
  }
  return shifted
}

function isOne(number: Uint8Array): boolean {
  let rest = number[number.length - 1]! ^ 1
  for (let i = 0; i < number.length - 1; i++) rest |= number[i]!
  return rest === 0
}

function equal(a: Uint8Array, b: Uint8Array): boolean {
  let rest = 0
  for (let i = 0; i < a.length; i++) rest |= a[i]! ^ b[i]!
  return rest === 0
}
