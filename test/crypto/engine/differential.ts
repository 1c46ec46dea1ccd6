/** Checks any engine against BigInt: random and extreme numbers of each size. */

import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import type { Engine, RsaNumbers } from '../../../firmware/crypto/engine/engine.ts'
import { powerOf, toBigInt, toBytes } from '../rsa-keys.ts'

export function randomBelow(bound: bigint): bigint {
  return toBigInt(randomBytes(bound.toString(16).length + 8)) % bound
}

export function inverseOf(x: bigint, m: bigint): bigint | null {
  let [a, b, u, v] = [m, ((x % m) + m) % m, 0n, 1n]
  while (b !== 0n) [a, b, u, v] = [b, a % b, v, u - (a / b) * v]
  return a === 1n ? ((u % m) + m) % m : null
}

/** Odd moduli of exactly that many bits: the extremes of every carry chain, and random ones. */
export function oddModuli(bits: number, random: number): bigint[] {
  const top = 1n << BigInt(bits - 1)
  const stripes = top | (toBigInt(new Uint8Array(bits >> 3).fill(0x55)) & (top - 1n)) | 1n
  const moduli = [2n * top - 1n, top + 1n, top + (1n << BigInt(bits >> 1)) - 1n, 2n * top - (top >> 1n) + 1n, stripes]
  for (let i = 0; i < random; i++) moduli.push(top | randomBelow(top) | 1n)
  return moduli
}

/** Numbers below the modulus: 0, 1, the highest, limbs of all ones in every radix in use, and random ones. */
export function operand(modulus: bigint): bigint {
  const bits = modulus.toString(2).length
  const edges = [0n, 1n, 2n, modulus - 1n, modulus - 2n, modulus >> 1n, (1n << BigInt(randomInt(bits))) - 1n]
  const run = ((1n << BigInt(randomInt(bits))) - 1n) << BigInt(randomInt(bits))
  const choice = randomInt(16)
  if (choice < edges.length) return edges[choice]!
  if (choice === 7) return run % modulus
  if (choice === 8) return (modulus - 1n) & ~run
  return randomBelow(modulus)
}

/** Two coprime odd numbers serve like primes: the engine must give what the remainder theorem says. */
export function rsaLike(p: bigint, q: bigint, dp: bigint, dq: bigint): RsaNumbers | null {
  const qinv = inverseOf(q, p)
  if (qinv === null) return null
  const length = (value: bigint) => Math.ceil(value.toString(2).length / 8)
  const [pBytes, qBytes] = [length(p), length(q)]
  return {
    n: toBytes(p * q, length(p * q)),
    p: toBytes(p, pBytes),
    q: toBytes(q, qBytes),
    dp: toBytes(dp, pBytes),
    dq: toBytes(dq, qBytes),
    qinv: toBytes(qinv, pBytes),
  }
}

/** Arithmetic modulo n = p q, with p and q from `oddModuli`. */
export function checkMultiplication(engine: Engine, bits: number, rounds: number): void {
  const exponent = Uint8Array.of(1, 0, 1)
  const half = bits >> 1
  const [ps, qs] = [oddModuli(bits - half, 5), oddModuli(half, 5)]
  for (let round = 0; round < rounds; ) {
    const [p, q] = [ps[randomInt(ps.length)]!, qs[randomInt(qs.length)]!]
    const numbers = rsaLike(p, q, 1n, 1n)
    if (numbers === null) continue
    const n = p * q
    const arithmetic = engine.openRsa(numbers)
    const bytes = numbers.n.length
    arithmetic.use(() => {
      for (let i = 0; i < 100; i++, round++) {
        const [a, b] = [operand(n), operand(n)]
        const [left, right] = [arithmetic.enter(toBytes(a, bytes)), arithmetic.enter(toBytes(b, bytes))]
        const ab = arithmetic.multiply(left, right)
        assert.equal(toBigInt(arithmetic.leave(left)), a)
        assert.equal(toBigInt(arithmetic.leave(ab)), (a * b) % n)
        // A chain of squares, without leaving the engine's form, and a public power on top.
        let square = ab
        let expected = (a * b) % n
        for (let k = 0; k < 3; k++) {
          square = arithmetic.multiply(square, square)
          expected = (expected * expected) % n
        }
        if (i % 10 === 0) {
          square = arithmetic.publicPower(square, exponent)
          expected = powerOf(expected, 65537n, n)
        }
        assert.deepEqual(arithmetic.leave(square), toBytes(expected, bytes))
      }
    })
    arithmetic.wipe()
  }
}

/** base^dp and base^dq put together, for exponents of every kind. */
export function checkPrivatePower(engine: Engine, pBits: number, qBits: number, rounds: number): void {
  const [ps, qs] = [oddModuli(pBits, 5), oddModuli(qBits, 5)]
  for (let round = 0; round < rounds; ) {
    const [p, q] = [ps[randomInt(ps.length)]!, qs[randomInt(qs.length)]!]
    const [dp, dq] = [operand(p), operand(q)]
    const numbers = rsaLike(p, q, dp, dq)
    if (numbers === null) continue
    const arithmetic = engine.openRsa(numbers)
    const base = operand(p * q)
    const result = toBigInt(
      arithmetic.use(() =>
        arithmetic.leave(arithmetic.privatePower(arithmetic.enter(toBytes(base, numbers.n.length)))),
      ),
    )
    assert.ok(result < p * q)
    assert.equal(result % p, powerOf(base, dp, p), `base ${base}, dp ${dp}, p ${p}`)
    assert.equal(result % q, powerOf(base, dq, q), `base ${base}, dq ${dq}, q ${q}`)
    arithmetic.wipe()
    round++
  }
}

export function checkPowers(
  engine: Engine,
  bits: readonly [number, number],
  exponentBytes: number,
  rounds: number,
): void {
  const moduli = [oddModuli(bits[0], 10), oddModuli(bits[1], 10)] as const
  for (let round = 0; round < rounds; round++) {
    const lane = (index: 0 | 1) => {
      const m = moduli[index][randomInt(moduli[index].length)]!
      const exponent = operand(1n << BigInt(8 * exponentBytes))
      return { m, base: round % 4 === 0 ? 2n : operand(m), exponent, bytes: Math.ceil(bits[index] / 8) }
    }
    const lanes = [lane(0), lane(1)] as const
    const pair = (of: (value: (typeof lanes)[0]) => Uint8Array) => [of(lanes[0]), of(lanes[1])] as const
    const results = engine.powers(
      pair(({ m, bytes }) => toBytes(m, bytes)),
      round % 8 === 0 ? 2 : pair(({ base, bytes }) => toBytes(base, bytes)),
      pair(({ exponent }) => toBytes(exponent, exponentBytes)),
    )
    for (const index of [0, 1] as const) {
      const { m, base, exponent, bytes } = lanes[index]
      assert.deepEqual(results[index], toBytes(powerOf(base, exponent, m), bytes), `${base}^${exponent} mod ${m}`)
    }
  }
}
