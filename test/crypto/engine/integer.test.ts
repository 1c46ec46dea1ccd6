// @test long 30 slow
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { test } from 'node:test'
import { bitLength } from '../../../firmware/crypto/engine/engine.ts'
import { inverse, inverseOfOdd, product } from '../../../firmware/crypto/engine/integer/arithmetic.ts'
import { toBigInt, toBytes } from '../rsa-keys.ts'
import { inverseOf, oddModuli, operand } from './differential.ts'

const SIZES = [8, 16, 24, 27, 54, 64, 256, 512, 513, 1024, 2048, 4096, 8192]

test('products agree with BigInt, at equal and different lengths', () => {
  for (let i = 0; i < 2000; i++) {
    const [a, b] = [toBytes(operand(1n << 512n), 64), toBytes(operand(1n << 520n), 65)]
    assert.deepEqual(product(a, b), toBytes(toBigInt(a) * toBigInt(b), 129))
  }
  const ones = new Uint8Array(1024).fill(0xff)
  assert.deepEqual(product(ones, ones), toBytes(toBigInt(ones) ** 2n, 2048))
  assert.deepEqual(product(ones, Uint8Array.of(3)), toBytes(3n * toBigInt(ones), 1025))
})

for (const bits of SIZES) {
  const rounds = bits <= 1024 ? 2000 : 100
  const bytes = Math.ceil(bits / 8)
  const moduli = oddModuli(bits, 10)
  const pick = () => moduli[randomInt(moduli.length)]!

  test(`${bits} bits: inverses agree with BigInt`, () => {
    for (let i = 0; i < rounds; i++) {
      const m = pick()
      const x = i % 2 === 0 ? operand(m) : operand(1n << BigInt(8 * bytes)) // also above m
      const expected = inverseOf(x, m)
      const result = inverse(toBytes(x, bytes), toBytes(m, bytes))
      assert.deepEqual(result, expected === null ? null : toBytes(expected, bytes), `${x} mod ${m}`)
    }
  })

  test(`${bits} bits: inverses modulo even numbers agree with BigInt`, () => {
    for (let i = 0; i < rounds; i++) {
      const m = (operand(pick()) | 2n) & ~1n
      const x = i % 2 === 0 ? pick() : operand(2n ** 17n) | 3n
      const expected = inverseOf(x, m)
      const result = inverseOfOdd(toBytes(x, Math.max(bytes, 3)), toBytes(m, bytes))
      assert.deepEqual(result, expected === null ? null : toBytes(expected, bytes), `${x} mod ${m}`)
    }
  })
}

test('bit lengths', () => {
  assert.equal(bitLength(new Uint8Array(3)), 0)
  assert.equal(bitLength(Uint8Array.of(0, 1)), 1)
  assert.equal(bitLength(Uint8Array.of(0x80, 0)), 16)
  for (let i = 0; i < 100; i++) {
    const number = randomBytes(9)
    number[0] = i >> 3
    assert.equal(bitLength(number), toBigInt(number).toString(2).length)
  }
})
