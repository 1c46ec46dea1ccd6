// @test long 30 slow
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { test } from 'node:test'
import type { ECDSA } from '@noble/curves/abstract/weierstrass.js'
import { ed25519 } from '@noble/curves/ed25519.js'
import { brainpoolP256r1, brainpoolP384r1, brainpoolP512r1 } from '@noble/curves/misc.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { schnorr, secp256k1 } from '@noble/curves/secp256k1.js'
import type { BasePoint } from '../../../../firmware/crypto/engine/float/base-point.ts'
import { openBip340 } from '../../../../firmware/crypto/engine/float/bip340.ts'
import { basePoint } from '../../../../firmware/crypto/engine/float/curves.ts'
import { signWithNonce } from '../../../../firmware/crypto/engine/float/ecdsa.ts'
import { openEd25519 } from '../../../../firmware/crypto/engine/float/eddsa.ts'
import { whyNotFused } from '../../../../firmware/crypto/engine/float/probe.ts'
import type { CurveKeyType, EcKeyType } from '../../../../firmware/crypto/types.ts'
import { toBigInt, toBytes } from '../../rsa-keys.ts'
import { inverseOf, operand } from '../differential.ts'

const NIST_LIKE: Readonly<Record<EcKeyType, ECDSA>> = {
  EC_P256: p256,
  EC_P384: p384,
  EC_P521: p521,
  EC_P256K1: secp256k1,
  BrainpoolP256: brainpoolP256r1,
  BrainpoolP384: brainpoolP384r1,
  BrainpoolP512: brainpoolP512r1,
}
const EC_TYPES = Object.keys(NIST_LIKE) as EcKeyType[]

/** 2,000 operations of each curve, 100,000 in the slow suite, on the engine in use; fewer on the one that is not. */
const isSlow = process.env.COFFER_SLOW !== undefined
const KINDS = [
  { products: 'fused', operations: isSlow ? 50_000 : 1000, skip: whyNotFused() ?? false },
  { products: 'exact', operations: isSlow ? 5_000 : 200, skip: false },
] as const

const length = (n: bigint): number => Math.ceil(n.toString(2).length / 8)

/** From 1 to n - 1, with runs of zeros and ones often. */
const scalarBelow = (n: bigint): bigint => ((operand(n - 1n) + n - 1n) % (n - 1n)) + 1n

function edgeScalars(n: bigint): bigint[] {
  const lane = 1n << (5n * BigInt(Math.ceil((n.toString(2).length + 1) / 10)))
  const near = (value: bigint): bigint[] => [value - 2n, value - 1n, value, value + 1n, value + 2n]
  const edges = [2n, 31n, 33n, lane >> 5n, lane, lane << 5n, n >> 1n, n - 2n, n - (n % lane), n - 2n * (n % lane)]
  return [...edges.flatMap(near), n - 2n * (n % lane) + 2n * lane].filter((k) => k > 0n && k < n)
}

for (const { products, operations, skip } of KINDS) {
  for (const type of [...EC_TYPES, 'Curve25519'] as CurveKeyType[]) {
    const { Point } = type === 'Curve25519' ? ed25519 : NIST_LIKE[type]
    const { n } = Point.CURVE()

    test(`${type}, ${products}: multiples of the point and inverses agree with noble and BigInt`, { skip }, () => {
      const base = basePoint(type, products)
      const edges = edgeScalars(n)
      for (let i = 0; i < operations; i++) {
        const k = edges[i] ?? scalarBelow(n)
        const { x, y, inverse } = base.use(() => base.multiply(toBytes(k, base.bytes)))
        const expected = Point.BASE.multiply(k).toAffine()
        assert.deepEqual([x, y, inverse].map(toBigInt), [expected.x, expected.y, inverseOf(k, n)], `scalar ${k}`)
      }
    })

    test(`${type}, ${products}: scalars of every kind are reduced, multiplied, added and negated`, { skip }, () => {
      const base = basePoint(type, products)
      const { bytes } = base
      const any = (): bigint => (randomInt(3) > 0 ? operand(n) : operand(1n << BigInt(8 * bytes)))
      for (let i = 0; i < operations; i++) {
        const [a, b, c] = [any(), any(), any()]
        const sum = base.use(() => base.multiplyAdd(toBytes(a, bytes), toBytes(b, bytes), toBytes(c, bytes)))
        assert.equal(toBigInt(sum), (a * b + c) % n, `${a} ${b} + ${c}`)
        const wide = operand(1n << BigInt(16 * bytes))
        assert.equal(toBigInt(base.use(() => base.reduce(toBytes(wide, 2 * bytes)))), wide % n, `${wide}`)
        const k = scalarBelow(n)
        assert.equal(toBigInt(base.use(() => base.negate(toBytes(k, bytes)))), n - k)
      }
    })
  }

  for (const type of EC_TYPES) {
    const { Point } = NIST_LIKE[type]
    const { n } = Point.CURVE()

    test(`${type}, ${products}: signatures are those of BigInt for the same nonce`, { skip }, () => {
      const base = basePoint(type, products)
      const { bytes } = base
      for (let i = 0; i < operations; i++) {
        const [secret, k] = [scalarBelow(n), scalarBelow(n)]
        const nonce =
          i % 2 === 0 ? toBytes(k + n * operand(1n << 64n), bytes + 16) : new Uint8Array(randomBytes(bytes + 16))
        const digest = operand(1n << BigInt(8 * length(n) - 8 * (type === 'EC_P521' ? 2 : 0)))
        const signature = signWithNonce(base, toBytes(digest, bytes), toBytes(secret, bytes), nonce)
        const reduced = toBigInt(nonce) % n
        const r = Point.BASE.multiply(reduced).toAffine().x % n
        const s = (inverseOf(reduced, n)! * (digest + r * secret)) % n
        assert.deepEqual(signature?.map(toBigInt), [r, s], `digest ${digest}, secret ${secret}, nonce ${reduced}`)
      }
    })
  }

  test(`Ed25519, ${products}: keys and signatures are noble's`, { skip }, () => {
    const base = basePoint('Curve25519', products)
    for (let i = 0; i < operations; i++) {
      const seed = i < 3 ? new Uint8Array(32).fill([0, 1, 255][i]!) : new Uint8Array(randomBytes(32))
      const message = new Uint8Array(randomBytes(randomInt(300)))
      const key = openEd25519(base, seed)
      assert.deepEqual(key.publicKey, ed25519.getPublicKey(seed))
      assert.deepEqual(key.sign(message), ed25519.sign(message, seed))
    }
  })

  test(`BIP-340, ${products}: signatures are noble's`, { skip }, () => {
    const base = basePoint('EC_P256K1', products)
    const { n } = secp256k1.Point.CURVE()
    for (let i = 0; i < operations; i++) {
      const secret = toBytes(edgeScalars(n)[i] ?? scalarBelow(n), 32)
      const [message, aux] = [new Uint8Array(randomBytes(randomInt(300))), new Uint8Array(randomBytes(32))]
      const signature = openBip340(base, secret).sign(message, aux)
      assert.deepEqual(signature, schnorr.sign(message, secret, aux))
    }
  })

  test(`a multiple of the order leaves nothing, ${products}`, { skip }, () => {
    // it has no inverse, and its point is at infinity
    const base: BasePoint = basePoint('EC_P256', products)
    assert.throws(() => base.use(() => base.multiply(base.order)), /not on its curve/)
  })
}
