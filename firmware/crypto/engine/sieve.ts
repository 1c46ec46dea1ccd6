/**
 * Trial division of secret prime candidates without division instructions, whose time reveals operands. The remainder by a prime
 * p is that of the sum of each digit times its place value modulo p. Such sums are exact in doubles, and two primes share a
 * vector.
 */

import { wipe } from '../../base/secret.ts'
import { type Code, f64x2, i32, instruction, type Local, repeatWhile, v128, WasmModule } from './wasm.ts'

/**
 * True if one of the first primes divides the number, which is odd, above all of these primes, and has at most 4096 bits. Stops
 * at the first divisor: the time reveals something about rejected numbers, but only the length of accepted ones.
 */
export function hasSmallFactor(number: Uint8Array): boolean {
  const { digits, hasFactor } = sieveFor(Math.ceil((8 * number.length) / (DIGIT_BITS * UNROLLED)))
  const last = number.length - 1
  try {
    for (let i = 0; 2 * i < digits.length; i++) {
      const byte = (k: number): number => number[last - 4 * i - k] ?? 0
      const digit = byte(0) + 2 ** 8 * byte(1) + 2 ** 16 * byte(2) + 2 ** 24 * byte(3)
      digits[2 * i] = digit
      digits[2 * i + 1] = digit
    }
    return hasFactor() !== 0
  } finally {
    wipe(digits)
  }
}

/** Odd primes below 2^14, the limit for exact sums. A ninth of all odd numbers are divisible by none of them. */
const PRIMES_END = 2 ** 14
const PRIMES = oddPrimes(PRIMES_END)
if (PRIMES.length % 2 === 1) PRIMES.push(3) // a full last vector

const DIGIT_BITS = 32
/** With this many digits, the sum of digits times remainders stays below 2^53. */
const DIGITS_MAX = 2 ** 53 / 2 ** DIGIT_BITS / PRIMES_END
const UNROLLED = 4

const VECTOR = 16 // bytes

interface Sieve {
  /** Each digit twice, least significant first. */
  digits: Float64Array
  hasFactor(): number
}

const sieves = new Map<number, Sieve>()

function sieveFor(turns: number): Sieve {
  if (turns * UNROLLED > DIGITS_MAX) throw new RangeError('the number is too large for the sieve')
  const sieve = sieves.get(turns) ?? instantiate(turns)
  sieves.set(turns, sieve)
  return sieve
}

/** Memory: the digits, then for each pair of primes the primes, their reciprocals, and the place values of each digit. */
function instantiate(turns: number): Sieve {
  const count = turns * UNROLLED
  const rowVectors = 2 + count
  const end = VECTOR * (count + (PRIMES.length / 2) * rowVectors)
  const module = new WasmModule(Math.ceil(end / 65_536))
  module.define('hasFactor', [], ['i32'], (_, local) => {
    const [row, digit, found] = [local('i32'), local('i32'), local('i32')]
    const sums = [local('v128'), local('v128')] as const
    const multiple = local('v128')
    const addProduct = (sum: Local, k: number): Code => {
      const product = f64x2.mul(v128.load(digit, k * VECTOR), v128.load(row, k * VECTOR))
      return sum.set(f64x2.add(sum, product))
    }
    return [
      row.set(i32.add(VECTOR * count, 0)),
      repeatWhile(
        [
          ...sums.map((sum) => sum.set(v128.constant(0n))),
          digit.set(i32.add(0, 0)),
          row.set(i32.add(row, 2 * VECTOR)),
          repeatWhile(
            [
              ...[0, 1, 2, 3].map((k) => addProduct(sums[k % 2]!, k)),
              digit.set(i32.add(digit, UNROLLED * VECTOR)),
              row.set(i32.add(row, UNROLLED * VECTOR)),
            ],
            i32.ne(digit, VECTOR * count),
          ),
          sums[0].set(f64x2.add(sums[0], sums[1])),
          // the quotient is off by less than 2^-12, so rounding gives the exact quotient if there is one
          multiple.set(nearest(f64x2.mul(sums[0], v128.load(i32.sub(row, (rowVectors - 1) * VECTOR))))),
          multiple.set(f64x2.mul(multiple, v128.load(i32.sub(row, rowVectors * VECTOR)))),
          found.set(v128.anyTrue(isEqual(multiple, sums[0]))),
        ],
        i32.and(i32.ltU(row, end), i32.eqz(found)),
      ),
      found.get,
    ]
  })
  const code = module.instantiate() as unknown as { memory: { buffer: ArrayBuffer }; hasFactor(): number }
  const numbers = new Float64Array(code.memory.buffer)
  for (const [i, prime] of PRIMES.entries()) {
    const at = 2 * (count + (i >> 1) * rowVectors) + (i & 1)
    numbers[at] = prime
    numbers[at + 2] = 1 / prime
    for (let k = 0, worth = 1; k < count; k++, worth = (worth * 2 ** DIGIT_BITS) % prime)
      numbers[at + 4 + 2 * k] = worth
  }
  return { digits: numbers.subarray(0, 2 * count), hasFactor: code.hasFactor }
}

const nearest = (a: Code): Code => instruction('v128', [a], 0xfd, 0x94, 0x01)
const isEqual = (a: Local, b: Local): Code => instruction('v128', [a, b], 0xfd, 0x47)

function oddPrimes(end: number): number[] {
  const isComposite = new Uint8Array(end)
  const primes: number[] = []
  for (let n = 3; n < end; n += 2) {
    if (isComposite[n] === 1) continue
    primes.push(n)
    for (let multiple = n * n; multiple < end; multiple += 2 * n) isComposite[multiple] = 1
  }
  return primes
}
