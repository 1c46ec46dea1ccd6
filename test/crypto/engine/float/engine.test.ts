// @test long 30 slow
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { engineChoice } from '../../../../firmware/crypto/engine/choice.ts'
import type { RsaArithmetic } from '../../../../firmware/crypto/engine/engine.ts'
import { limbsFor } from '../../../../firmware/crypto/engine/float/field.ts'
import { fastEngine } from '../../../../firmware/crypto/engine/float/float.ts'
import { UNSIGNED } from '../../../../firmware/crypto/engine/float/format.ts'
import { FUSED_CASES, whyNotFused } from '../../../../firmware/crypto/engine/float/probe.ts'
import { engine } from '../../../../firmware/crypto/engine/select.ts'
import { checkMultiplication, checkPowers, checkPrivatePower, rsaLike } from '../differential.ts'

const skip = whyNotFused() ?? false
const rounds = (count: number): number => (process.env.COFFER_SLOW === undefined ? count : 50 * count)

for (const bits of [1024, 1025, 2048, 2050, 3072, 4096, 8192]) {
  test(`${bits} bits: products and public powers agree with BigInt`, { skip }, () =>
    checkMultiplication(fastEngine, bits, rounds(2000)),
  )
}

test('private powers agree with BigInt', { skip }, () => {
  checkPrivatePower(fastEngine, 512, 512, rounds(400))
  checkPrivatePower(fastEngine, 513, 512, rounds(100))
  checkPrivatePower(fastEngine, 512, 519, rounds(100))
  checkPrivatePower(fastEngine, 1024, 1024, rounds(20))
  checkPrivatePower(fastEngine, 2048, 2048, rounds(3))
})

test('private powers agree with BigInt when one prime is much longer', { skip }, () => {
  checkPrivatePower(fastEngine, 256, 800, rounds(50))
  checkPrivatePower(fastEngine, 800, 256, rounds(50))
})

test('private and public powers agree with BigInt when n has exactly twice the limbs of its primes', { skip }, () => {
  assert.equal(limbsFor(1024, UNSIGNED), 2 * limbsFor(512, UNSIGNED))
  checkPrivatePower(fastEngine, 512, 512, rounds(50))
  checkMultiplication(fastEngine, 1024, rounds(200))
})

test('powers agree with BigInt', { skip }, () => {
  checkPowers(fastEngine, [512, 512], 4, rounds(1000))
  checkPowers(fastEngine, [512, 513], 64, rounds(100))
  checkPowers(fastEngine, [256, 1024], 32, rounds(100))
  checkPowers(fastEngine, [1536, 2048], 4, rounds(50))
  checkPowers(fastEngine, [4096, 4096], 4, rounds(10))
  checkPowers(fastEngine, [64, 65], 8, rounds(200))
})

test('a key works while it is in use, which is one key at a time, and not after its end', { skip }, () => {
  const [first, second] = [key(512), key(512)]
  const number = first.use(() => first.enter(Uint8Array.of(5)))
  const operations: (() => unknown)[] = [
    () => first.enter(Uint8Array.of(5)),
    () => first.leave(number),
    () => first.multiply(number, number),
    () => first.publicPower(number, Uint8Array.of(3)),
    () => first.privatePower(number),
    () => first.isSame(number, number),
  ]
  for (const work of operations) {
    assert.throws(work, /not in use/)
    assert.throws(() => second.use(work), /not in use/)
  }
  for (const work of [() => second.use(() => {}), () => key(512), () => checkPowers(fastEngine, [512, 512], 4, 1)])
    assert.throws(() => first.use(work), /Another key is in use/)
  assert.equal(
    first.use(() => first.leave(number).at(-1)),
    5,
  )
  first.wipe()
  assert.throws(() => first.use(() => first.leave(number)), /no longer open/)
})

function key(bits: number): RsaArithmetic {
  const [p, q] = [(1n << BigInt(bits)) - 1n, (1n << BigInt(bits)) - 3n]
  return fastEngine.openRsa(rsaLike(p, q, 1n, 1n)!)
}

test('the cases of the probe come out differently when rounded twice', () => {
  const result = new Float64Array(1)
  for (const [a, b, c, fused] of FUSED_CASES) {
    result[0] = a * b + c
    assert.notEqual(new BigUint64Array(result.buffer)[0], fused)
  }
})

test('the fast engine is used where multiply-add is fused, the plain one elsewhere, and the choice has a reason', () => {
  assert.equal(engine.name, whyNotFused() === undefined ? 'fast' : 'plain')
  assert.match(engineChoice, new RegExp(`^${engine.name}\\b.{10,}`))
})
