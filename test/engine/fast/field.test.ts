import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Field, limbsFor } from '../../../firmware/crypto/engine/fast/field.ts'
import { bytesToLimbs, limbsToBytes } from '../../../firmware/crypto/engine/fast/limbs.ts'
import { range } from '../../../firmware/crypto/engine/fast/montgomery.ts'
import { whyNotFused } from '../../../firmware/crypto/engine/fast/probe.ts'
import { toBigInt, toBytes } from '../../crypto/rsa-keys.ts'
import { oddModuli, operand, randomBelow } from '../differential.ts'

const RADIX = 51n
const OPERATIONS = process.env.COFFER_SLOW === undefined ? 2000 : 100_000 // for each size

const value = (limbs: Float64Array): bigint => limbs.reduceRight((sum, limb) => (sum << RADIX) + BigInt(limb), 0n)

/** Limbs at either end of what they may be, with a value below the modulus. */
function extremeLimbs(limbs: number, modulus: bigint): Float64Array {
  const result = Float64Array.from(range(limbs), (_, k) => {
    if (k === limbs - 1) return 0
    const choice = Math.random()
    return choice < 0.4 ? -(2 ** 50) : choice < 0.8 ? 2 ** 50 - 1 : choice < 0.9 ? 0 : -1
  })
  for (let k = limbs - 2; k >= 0; k--) {
    const size = value(result)
    if (size < modulus && size > -modulus) break
    result[k] = 0
  }
  return result
}

function isBetween(number: bigint, modulus: bigint): boolean {
  return number > -modulus && number < modulus
}

const KINDS = [64, 256, 300, 384, 521, 1024, 1536, 2048].flatMap((bits) => [
  { bits, products: 'fused', skip: whyNotFused() ?? false } as const,
  { bits, products: 'exact', skip: false } as const,
])

for (const { bits, products, skip } of KINDS) {
  test(`${bits} bits, ${products}: two moduli at once agree with BigInt, at the edges too`, { skip }, () => {
    const limbs = limbsFor(bits)
    const field = new Field(limbs, undefined, products)
    const R = 1n << (RADIX * BigInt(limbs))
    const bytes = Math.ceil(bits / 8)
    const moduli = oddModuli(bits, 10)
    for (let done = 0; done < OPERATIONS; ) {
      const pair = [0, 1].map(() => moduli[Number(randomBelow(BigInt(moduli.length)))]!) as [bigint, bigint]
      field.setModuli([toBytes(pair[0], bytes), toBytes(pair[1], bytes)])
      for (let i = 0; i < 50; i++, done++) {
        const numbers = (n: bigint) =>
          i % 3 === 0 ? extremeLimbs(limbs, n) : bytesToLimbs(toBytes(operand(n), bytes), limbs)
        const a = pair.map(numbers) as [Float64Array, Float64Array]
        const b = pair.map(numbers) as [Float64Array, Float64Array]
        field.put('a', a)
        field.put('b', b)
        const check = (slot: 'a' | 'b' | 'c' | 'd', expected: (a: bigint, b: bigint) => bigint, scale = 1n) => {
          for (const lane of [0, 1] as const) {
            const [n, result] = [pair[lane], value(field.get(slot, lane))]
            const difference = result * scale - expected(value(a[lane]), value(b[lane]))
            assert.ok(difference % n === 0n && isBetween(result, 4n * n), `${n}: ${value(a[lane])}, ${value(b[lane])}`)
          }
        }
        field.multiply('c', 'a', 'b')
        check('c', (a, b) => a * b, R)
        for (const lane of [0, 1] as const) assert.ok(isBetween(value(field.get('c', lane)), pair[lane]))
        field.square('d', 'c')
        check('d', (a, b) => (a * b) ** 2n, R ** 3n)
        field.subtract('c', 'd', 'c')
        check('c', (a, b) => (a * b) ** 2n - a * b * R ** 2n, R ** 3n)
        field.add('c', 'c', 'd')
        field.multiply('c', 'c', 'c')
        check('c', (a, b) => (2n * (a * b) ** 2n - a * b * R ** 2n) ** 2n, R ** 7n)
        field.canonical('d', 'c')
        for (const lane of [0, 1] as const) {
          const [n, canonical] = [pair[lane], value(field.get('d', lane))]
          assert.ok(canonical >= 0n && canonical < n)
          assert.equal((canonical - value(field.get('c', lane))) % n, 0n)
          assert.equal(toBigInt(field.getBytes('d', lane, bytes)), canonical)
        }
      }
    }
  })
}

test('bytes become limbs and bytes again, at every length', () => {
  for (let length = 1; length <= 300; length++) {
    for (const bytes of [
      new Uint8Array(randomBytes(length)),
      new Uint8Array(length).fill(255),
      new Uint8Array(length),
    ]) {
      const limbs = bytesToLimbs(bytes, Math.ceil((8 * length + 1) / 51))
      assert.equal(value(limbs), toBigInt(bytes))
      assert.deepEqual(limbsToBytes(limbs, length), bytes)
    }
  }
})

test('nothing of a key stays in memory after a wipe', () => {
  const field = new Field(limbsFor(256))
  const odd = new Uint8Array(randomBytes(32)).fill(1, 31)
  field.setModuli([odd, odd])
  field.power('a', 'square', [odd, odd])
  assert.ok(field.secrets.some((byte) => byte !== 0))
  field.wipe()
  assert.ok(field.secrets.every((byte) => byte === 0))
})
