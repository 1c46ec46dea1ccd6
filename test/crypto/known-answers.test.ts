/** The answers are those of OpenSSL, of noble and of public vectors, and whatever is broken gives another. */

import assert from 'node:assert/strict'
import { checkPrimeSync, createHmac, createPublicKey, hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { ECDSA } from '@noble/curves/abstract/weierstrass.js'
import { brainpoolP256r1, brainpoolP384r1, brainpoolP512r1 } from '@noble/curves/misc.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { CURVES } from '../../firmware/crypto/algorithms.ts'
import { plainEngine } from '../../firmware/crypto/engine/integer/integer.ts'
import { engine } from '../../firmware/crypto/engine/select.ts'
import { knownAnswers, QUESTIONS, rsaKey } from '../../firmware/crypto/pool/known-answers.ts'
import { RsaOperation } from '../../firmware/crypto/rsa/operation.ts'
import { type CurveKeyType, type EcKeyType, REFERENCE_KEY_TYPES } from '../../firmware/crypto/types.ts'
import { breakCurve } from './break.ts'
import { toBigInt } from './rsa-keys.ts'
import { file, hex, openssl } from './support.ts'

const wrongOnes = () => knownAnswers(engine).filter(({ isRight }) => !isRight())
const namesOf = (answers: { algorithm: string }[]) => answers.map(({ algorithm }) => algorithm)

test('every answer is right on every engine', () => {
  assert.deepEqual(wrongOnes(), [])
  assert.deepEqual(namesOf(knownAnswers(plainEngine, 'exact').filter(({ isRight }) => !isRight())), [])
})

test('every way to sign, and the cipher made of parts, has its question', () => {
  const names = namesOf([...QUESTIONS])
  assert.equal(new Set(names).size, names.length)
  for (const type of Object.keys(CURVES)) assert.ok(names.includes(`ECDSA with ${type}`), type)
  for (const name of [
    'EdDSA with Curve25519',
    'BIP340 with EC_P256K1',
    'RSA, PKCS1_SHA256',
    'RSA, PSS_SHA256',
    'XAES-256-GCM',
  ]) {
    assert.ok(names.includes(name), name)
  }
})

test('a broken curve gives a wrong answer, and no other one does', () => {
  for (const type of REFERENCE_KEY_TYPES.filter((type): type is CurveKeyType => type !== 'RSA' && type !== 'Generic')) {
    const mend = breakCurve(type)
    const expected = namesOf([...QUESTIONS]).filter((name) => name.endsWith(`with ${type}`))
    assert.deepEqual(namesOf(wrongOnes()), expected)
    mend()
  }
})

test('so do RSA operations that are broken', () => {
  const { power } = RsaOperation.prototype
  RsaOperation.prototype.power = function (this: RsaOperation, number) {
    const result = power.call(this, number)
    result[result.length - 1]! ^= 1
    return result
  }
  try {
    assert.deepEqual(namesOf(wrongOnes()), ['RSA, PKCS1_SHA256', 'RSA, PSS_SHA256'])
  } finally {
    RsaOperation.prototype.power = power
  }
})

const answerOf = (algorithm: string) => QUESTIONS.find((question) => question.algorithm === algorithm)!
const counting = (bytes: number): Uint8Array => Uint8Array.from({ length: bytes }, (_, i) => i)

const NOBLE: Record<EcKeyType, ECDSA> = {
  EC_P256: p256,
  EC_P384: p384,
  EC_P521: p521,
  EC_P256K1: secp256k1,
  BrainpoolP256: brainpoolP256r1,
  BrainpoolP384: brainpoolP384r1,
  BrainpoolP512: brainpoolP512r1,
}

for (const [type, { Point, Signature }] of Object.entries(NOBLE) as [EcKeyType, ECDSA][]) {
  test(`ECDSA with ${type}: noble computes the same from the nonce that the key, ones and the digest give`, () => {
    const { fieldBytes, digestBytes } = CURVES[type]
    const [secret, digest] = [counting(fieldBytes), counting(digestBytes).reverse()]
    const block = (index: number) =>
      createHmac('sha512', secret).update(Uint8Array.of(index)).update(Buffer.alloc(fieldBytes, 0xff)).update(digest)
    const nonce = Buffer.concat([block(0).digest(), block(1).digest()]).subarray(0, fieldBytes + 16)
    const { Fn } = Point
    const k = toBigInt(nonce) % Fn.ORDER
    const r = Point.BASE.multiply(k).toAffine().x % Fn.ORDER
    const s = Fn.div(Fn.add(Fn.mul(r, toBigInt(secret)), toBigInt(digest) % Fn.ORDER), k)
    assert.equal(hash('sha256', new Signature(r, s).toBytes('der')), answerOf(`ECDSA with ${type}`).sha256)
  })
}

test('EdDSA: as in RFC 8032', () => {
  const signature =
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a'
  assert.equal(hash('sha256', hex(signature)), answerOf('EdDSA with Curve25519').sha256)
})

test('BIP-340: as in its third vector', () => {
  const vectors = readFileSync(new URL('bip340-vectors.csv', import.meta.url), 'utf8').split('\n')
  const [index, , , , , signature] = vectors[4]!.split(',')
  assert.equal(index, '3')
  assert.equal(hash('sha256', hex(signature!)), answerOf('BIP340 with EC_P256K1').sha256)
})

test('RSA: OpenSSL takes both signatures, with a salt of ones', () => {
  const { n, e, p, q } = rsaKey()
  for (const prime of [p, q]) assert.ok(checkPrimeSync(prime.slice().buffer))
  assert.equal(toBigInt(n), toBigInt(p) * toBigInt(q))
  const [modulus, exponent] = [n, e].map((number) => Buffer.from(number).toString('base64url'))
  const publicKey = createPublicKey({ key: { kty: 'RSA', n: modulus!, e: exponent! }, format: 'jwk' })
  const pem = file('known.pem', publicKey.export({ type: 'spki', format: 'pem' }) as string)
  const digest = file('known.digest', counting(32))
  for (const [mode, ...options] of [
    ['PKCS1_SHA256', 'rsa_padding_mode:pkcs1'],
    ['PSS_SHA256', 'rsa_padding_mode:pss', 'rsa_pss_saltlen:32'],
  ]) {
    const { compute, sha256 } = answerOf(`RSA, ${mode}`)
    const signature = compute(plainEngine, 'exact')
    assert.equal(hash('sha256', signature), sha256)
    const pkeyopts = ['digest:sha256', ...options].flatMap((option) => ['-pkeyopt', option])
    const files = ['-inkey', pem, '-in', digest, '-sigfile', file(`known.${mode}`, signature)]
    assert.match(String(openssl(['pkeyutl', '-verify', '-pubin', ...files, ...pkeyopts])), /Success/)
  }
})
