/** Trial division of secret candidates for primes: by multiplication, because a processor's division shows its operands. */

import { i32, i64, ifThen, repeatWhile, WasmModule } from './wasm.ts'

/**
 * Whether one of the first primes divides the number, an odd one above all of them. It stops at the first that does, so
 * the time tells something about the numbers that are thrown away, and of the others only their length.
 */
export function hasSmallFactor(number: Uint8Array): boolean {
  // Zero bytes above the number make a whole count of 16-bit digits.
  const digits = new Uint8Array(sieve.memory.buffer, DIGITS, 2 * Math.ceil(number.length / 2))
  try {
    digits.set(number)
    digits.subarray(0, number.length).reverse()
    return sieve.divides(DIGITS + digits.length) !== 0
  } finally {
    digits.fill(0)
  }
}

/** All primes from 3 on below 2^13: an eighth of the odd numbers of 1024 bits have none of them as a factor. */
const PRIMES_END = 2 ** 13
const PRIMES = oddPrimes(PRIMES_END)

/** Pairs of 32-bit words: the prime and its reciprocal floor(2^32 / prime). Then the number's 16-bit digits. */
const TABLE_END = 8 * PRIMES.length
const DIGITS = TABLE_END

const sieve = instantiate()

interface SieveCode {
  readonly memory: { readonly buffer: ArrayBuffer }
  divides(digitsEnd: number): number
}

function instantiate(): SieveCode {
  const module = new WasmModule(1)
  module.define('divides', ['i32'], ['i32'], ([digitsEnd], local) => {
    const [row, digit, prime, remainder, found] = [local('i32'), local('i32'), local('i32'), local('i32'), local('i32')]
    const [reciprocal, value] = [local('i64'), local('i64')]
    const quotient = i64.shrU(i64.mul(value, reciprocal), 32)
    return [
      repeatWhile(
        [
          prime.set(i32.load(row)),
          reciprocal.set(i64.load32U(row, 4)),
          remainder.set(0),
          digit.set(digitsEnd!),
          repeatWhile(
            [
              digit.set(i32.sub(digit, 2)),
              // remainder * 2^16 + digit < 2^29, so that the quotient is right or too small by one.
              value.set(i64.extendI32U(i32.or(i32.shl(remainder, 16), i32.load16U(digit)))),
              remainder.set(i32.sub(i32.wrapI64(i64.sub(value, i64.mul(quotient, i64.extendI32U(prime)))), prime)),
              remainder.set(i32.add(remainder, i32.and(prime, i32.shrS(remainder, 31)))),
            ],
            i32.ne(digit, DIGITS),
          ),
          row.set(i32.add(row, 8)),
          ifThen(i32.eqz(remainder), [found.set(1), row.set(TABLE_END)]),
        ],
        i32.ne(row, TABLE_END),
      ),
      found.get,
    ]
  })
  const code = module.instantiate() as unknown as SieveCode
  const table = new Uint32Array(code.memory.buffer, 0, 2 * PRIMES.length)
  table.set(PRIMES.flatMap((prime) => [prime, Math.floor(2 ** 32 / prime)]))
  return code
}

function oddPrimes(end: number): number[] {
  const primes: number[] = []
  for (let n = 3; n < end; n += 2) if (primes.every((prime) => n % prime !== 0)) primes.push(n)
  return primes
}
