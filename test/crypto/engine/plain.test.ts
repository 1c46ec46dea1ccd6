// @test long 30 slow
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { plainEngine } from '../../../firmware/crypto/engine/integer/integer.ts'
import { LIMB_BITS, LIMBS_MAX } from '../../../firmware/crypto/engine/integer/layout.ts'
import { code, limbsFor, MODULUS, put, slots, take, work } from '../../../firmware/crypto/engine/integer/memory.ts'
import { toBigInt, toBytes } from '../rsa-keys.ts'
import {
  checkMultiplication,
  checkPowers,
  checkPrivatePower,
  inverseOf,
  oddModuli,
  randomBelow,
} from './differential.ts'

const SIZES = [1024, 1025, 2048, 2050, 3072, 4096, 8192]

for (const bits of SIZES) {
  test(`${bits} bits: products and public powers agree with BigInt`, () => checkMultiplication(plainEngine, bits, 2000))
}

test('private powers agree with BigInt', () => {
  checkPrivatePower(plainEngine, 512, 512, 400)
  checkPrivatePower(plainEngine, 513, 512, 100)
  checkPrivatePower(plainEngine, 512, 519, 100)
  checkPrivatePower(plainEngine, 1024, 1024, 20)
  checkPrivatePower(plainEngine, 2048, 2048, 3)
})

test('private powers agree with BigInt when one prime is much longer', () => {
  checkPrivatePower(plainEngine, 256, 800, 50)
  checkPrivatePower(plainEngine, 800, 256, 50)
})

test('powers agree with BigInt', () => {
  checkPowers(plainEngine, [512, 512], 4, 1000)
  checkPowers(plainEngine, [512, 513], 64, 100)
  checkPowers(plainEngine, [256, 1024], 32, 100)
  checkPowers(plainEngine, [1536, 2048], 4, 50)
  checkPowers(plainEngine, [4096, 4096], 4, 10)
  checkPowers(plainEngine, [64, 65], 8, 200)
})

// Each limb count in use between the smallest and the largest, at the very bounds of what is promised.
for (const limbs of [4, 6, 20, 38, 40, 76, 152, LIMBS_MAX]) {
  test(`${limbs} limbs: Montgomery multiplication keeps its bounds at the extremes`, () => {
    const { A, B, TO } = slots('A', 'B', 'TO')
    const R = 1n << BigInt(LIMB_BITS * limbs)
    const bytes = Math.ceil((LIMB_BITS * limbs) / 8)
    const multiply = (a: bigint, b: bigint, m: bigint) =>
      work(() => {
        put(MODULUS, toBytes(m, bytes), limbs)
        code().setHeader(MODULUS)
        put(A, toBytes(a, bytes), limbs)
        put(B, toBytes(b, bytes), limbs)
        code().multiply(TO, A, B, MODULUS, limbs)
        return toBigInt(take(TO, limbs, bytes))
      })
    for (const m of oddModuli(LIMB_BITS * limbs - 2, 10)) {
      const rInverse = inverseOf(R, m)!
      const check = (a: bigint, b: bigint) => {
        const result = multiply(a, b, m)
        assert.ok(result < 2n * m)
        assert.equal(result % m, (a * b * rInverse) % m)
      }
      const reduced = [0n, 1n, m - 1n, m >> 1n, randomBelow(m)]
      const unreduced = [...reduced, m, 2n * m - 1n, m + randomBelow(m)]
      for (const a of unreduced) for (const b of unreduced) check(a, b)
      for (const a of [R - 1n, R - 2n, R >> 1n, randomBelow(R)]) for (const b of reduced) check(a, b)
    }
  })
}

test('the workbench is clear after every operation, also after one that fails', () => {
  const clear = () => new Uint8Array(code().memory.buffer).every((byte) => byte === 0)
  const m = randomBytes(64).fill(0xff, 0, 1).fill(0xff, 63)
  plainEngine.powers([m, m], [m.subarray(1), m.subarray(1)], [m, m])
  assert.ok(clear())
  const { A } = slots('A')
  assert.throws(() =>
    work(() => {
      put(A, m, limbsFor(512))
      throw new Error('stop')
    }),
  )
  assert.ok(clear())
})

test('refuses numbers above its bounds', () => {
  const long = new Uint8Array(1100).fill(0xff)
  assert.throws(() => plainEngine.powers([long, long], [long, long], [long, long]), RangeError)
  assert.throws(() => work(() => put(MODULUS, new Uint8Array(3000), 4)), RangeError)
})
