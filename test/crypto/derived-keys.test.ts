/** Keys of messages that are derived from a context: HKDF (RFC 5869). Contract section 6.2. */

import assert from 'node:assert/strict'
import { constants, generateKeyPairSync, hkdfSync, privateDecrypt, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openGenericKey } from '../../firmware/crypto/generic-key.ts'
import { encryptRsa } from '../../firmware/crypto/rsa/encryption.ts'
import { openXaes } from '../../firmware/crypto/xaes.ts'

test('the key of a message is the first 32 bytes of HKDF-SHA-256 without salt', () => {
  for (let n = 0; n < 50; n++) {
    const [secret, context, nonce, message] = [32, n * 7, 24, n].map((length) => randomBytes(length))
    const key = openGenericKey(secret!)
    const encrypted = key.encrypt('XAES_GCM', message!, nonce!, undefined, context!)
    const derived = openXaes(new Uint8Array(hkdfSync('sha256', secret!, new Uint8Array(), context!, 32)))
    assert.deepEqual(Buffer.from(derived.decrypt(nonce!, encrypted)), message)
    assert.deepEqual(Buffer.from(key.decrypt('XAES_GCM', encrypted, nonce!, undefined, context!)), message)
    assert.throws(() => key.decrypt('XAES_GCM', encrypted, nonce!, undefined, randomBytes(9)), /authentication failed/)
    assert.throws(() => key.decrypt('XAES_GCM', encrypted, nonce!, undefined), /authentication failed/)
  }
})

test('OAEP for a public key opens with the private one, up to the longest message', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 })
  const { n, e } = publicKey.export({ format: 'jwk' })
  const [modulus, publicExponent] = [n!, e!].map((text) => new Uint8Array(Buffer.from(text, 'base64url')))
  const key = { modulus: modulus!, publicExponent: publicExponent! }
  for (const length of [0, 1, 189, 190]) {
    const message = randomBytes(length)
    const options = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
    assert.deepEqual(privateDecrypt(options, encryptRsa(key, message)), message)
  }
  assert.throws(() => encryptRsa(key, randomBytes(191)), /190 bytes/)
  assert.throws(() => encryptRsa({ data: new Uint8Array(32) }, randomBytes(1)), /RSA/)
  assert.throws(() => encryptRsa(null, randomBytes(1)), /RSA/)
})
