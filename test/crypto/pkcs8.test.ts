import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { CofferError } from '../../firmware/base/error.ts'
import { generateCurveKey } from '../../firmware/crypto/ec/private-key.ts'
import { checkClaimed, parsePrivateKeyPem } from '../../firmware/crypto/encoding/import-pem.ts'
import { encodePem, encodeSecretPem } from '../../firmware/crypto/encoding/pem.ts'
import { encodePkcs8 } from '../../firmware/crypto/encoding/pkcs8.ts'
import { publicKeyPem } from '../../firmware/crypto/encoding/public-key.ts'
import { systemRandom } from '../../firmware/crypto/random.ts'
import type { RsaPrivateKey } from '../../firmware/crypto/rsa/encoding.ts'
import { encodeRsaPrivateKey, generateRsa, rsaFromPrimes } from '../../firmware/crypto/rsa/private-key.ts'
import type { CurveKeyType, KeyPair } from '../../firmware/crypto/types.ts'
import { fileNeeds } from '../support/tools.ts'
import { file, hex, openssl } from './support.ts'

await fileNeeds('openssl')

const CURVES: CurveKeyType[] = [
  ...(['EC_P256', 'EC_P384', 'EC_P521', 'EC_P256K1'] as const),
  ...(['BrainpoolP256', 'BrainpoolP384', 'BrainpoolP512', 'Curve25519'] as const),
]

const rsaPair = (key: RsaPrivateKey): KeyPair => ({
  type: 'RSA',
  private: encodeRsaPrivateKey(key),
  public: { modulus: key.n, publicExponent: key.e },
})

/** openssl checks every number of the key, both libraries agree on its public part, and it reads back as it was. */
function assertComplete(pair: KeyPair): void {
  const der = encodePkcs8(pair)
  const pem = encodeSecretPem('PRIVATE KEY', der)
  assert.match(openssl(['pkey', '-check', '-noout', '-in', file('key.pem', pem)]).toString(), /valid/)
  const key = createPrivateKey({ key: Buffer.from(der), format: 'der', type: 'pkcs8' })
  assert.equal(createPublicKey(key).export({ type: 'spki', format: 'pem' }), publicKeyPem(pair.type, pair.public))
  assert.deepEqual(key.export({ type: 'pkcs8', format: 'der' }), Buffer.from(der))
  const read = parsePrivateKeyPem(pem)
  assert.equal(read.type, pair.type)
  checkClaimed(read.claimed, pair.public)
  if (read.type !== 'RSA') assert.deepEqual(read.data, pair.private)
}

for (const type of CURVES) {
  test(`${type} keys are written as openssl writes them`, () => {
    for (let i = 0; i < 5; i++) assertComplete(generateCurveKey(type, systemRandom))
  })
}

for (const bits of [1024, 1537, 2048]) {
  test(`RSA keys of ${bits} bits are written as openssl writes them`, () => {
    assertComplete(rsaPair(generateRsa(bits, systemRandom)))
  })
}

test('RSA keys whose first prime is the smaller one, and whose e is 3, are written completely', () => {
  const text = openssl([
    'genpkey',
    '-algorithm',
    'RSA',
    '-pkeyopt',
    'rsa_keygen_bits:1024',
    '-pkeyopt',
    'rsa_keygen_pubexp:3',
  ])
  const read = parsePrivateKeyPem(text)
  assert.ok(read.type === 'RSA')
  for (const [p, q] of [
    [read.primeP, read.primeQ],
    [read.primeQ, read.primeP],
  ] as const) {
    assertComplete(rsaPair(rsaFromPrimes(p, q, read.publicExponent)))
  }
})

test('scalars with leading zeros keep their length', () => {
  const scalar = hex(`0000${'11'.repeat(30)}`)
  const random = () => new Uint8Array([...new Uint8Array(16), ...scalar])
  const pair = { ...generateCurveKey('EC_P256', random) }
  assert.deepEqual([...pair.private.subarray(0, 2)], [0, 0])
  assertComplete(pair)
})

test('Generic keys cannot be encoded this way', () => {
  assert.throws(
    () => encodePkcs8({ type: 'Generic', private: randomBytes(16), public: null }),
    (error) => error instanceof CofferError && error.code === 'invalid',
  )
})

test('PEM made of bytes is the same as PEM made of text', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 1, maxLength: 300, size: 'max' }), (der) => {
      assert.equal(Buffer.from(encodeSecretPem('PRIVATE KEY', der)).toString(), encodePem('PRIVATE KEY', der))
    }),
  )
  const all = Uint8Array.from({ length: 256 * 3 }, (_, i) => (i * 67) & 0xff)
  assert.equal(Buffer.from(encodeSecretPem('X', all)).toString(), encodePem('X', all))
})
