/** Signatures over digests as OpenSSL makes them, and the same with one bit changed. */

import assert from 'node:assert/strict'
import { constants, createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { test } from 'node:test'
import { jwkOf, sshLineOf } from '../../firmware/client/public-key.ts'
import type { Sha2Name } from '../../firmware/client/sha2.ts'
import { verifyEcdsa, verifyPkcs1, verifyPss } from '../../firmware/client/verify-digest.ts'

const CURVES: [type: string, name: string, hash: Sha2Name][] = [
  ['EC_P256', 'prime256v1', 'SHA256'],
  ['EC_P384', 'secp384r1', 'SHA384'],
  ['EC_P521', 'secp521r1', 'SHA512'],
  ['EC_P256K1', 'secp256k1', 'SHA256'],
]
const message = Buffer.from('an important document')
const digestOf = (hash: string) => createHash(hash.toLowerCase()).update(message).digest()

for (const [type, namedCurve, hash] of CURVES)
  test(`ECDSA on ${type}: right signatures pass, changed ones do not`, () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
    const point = pointOf(publicKey)
    const signature = sign(hash.toLowerCase(), message, privateKey)
    const digest = digestOf(hash)
    assert.equal(verifyEcdsa(type, point, digest, signature), true)
    assert.equal(verifyEcdsa(type, point, flip(digest, 3), signature), false)
    assert.equal(verifyEcdsa(type, point, digest, flip(signature, signature.length - 1)), false)
    assert.equal(verifyEcdsa(type, point, digest, signature.subarray(0, -1)), false)
    assert.equal(verifyEcdsa(type, point, digest, Buffer.concat([signature, Buffer.of(0)])), false)
    assert.equal(verifyEcdsa(type, flip(point, 5), digest, signature), false)
  })

test('ECDSA on other curves is not judged', () => {
  assert.equal(verifyEcdsa('BrainpoolP256', new Uint8Array(65), new Uint8Array(32), new Uint8Array(70)), null)
})

for (const bits of [1024, 2047, 3072])
  test(`RSA of ${bits} bits: PKCS #1 v1.5 and PSS with every hash`, () => {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: bits })
    const { n, e } = publicKey.export({ format: 'jwk' })
    const key = { modulus: Buffer.from(n!, 'base64url'), publicExponent: Buffer.from(e!, 'base64url') }
    for (const hash of ['SHA224', 'SHA256', 'SHA384'] as const) {
      const digest = digestOf(hash)
      const pkcs1 = sign(hash.toLowerCase(), message, privateKey)
      assert.equal(verifyPkcs1(key, hash, digest, pkcs1), true, `PKCS1 ${hash}`)
      assert.equal(verifyPkcs1(key, hash, flip(digest, 0), pkcs1), false)
      assert.equal(verifyPkcs1(key, hash, digest, flip(pkcs1, 40)), false)
      const padding = constants.RSA_PKCS1_PSS_PADDING
      const pss = sign(hash.toLowerCase(), message, {
        key: privateKey,
        padding,
        saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
      })
      assert.equal(verifyPss(key, hash, digest, pss), true, `PSS ${hash}`)
      assert.equal(verifyPss(key, hash, flip(digest, 0), pss), false)
      assert.equal(verifyPss(key, hash, digest, flip(pss, 40)), false)
      assert.equal(verifyPkcs1(key, hash, digest, pss), false)
      assert.equal(verifyPss(key, hash, digest, pkcs1), false)
    }
  })

test('public keys as JWK are those that Node makes, and SSH lines have its numbers', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey
  const { n, e, kty } = rsa.export({ format: 'jwk' }) as Record<string, string>
  const key = { type: 'RSA', modulus: Buffer.from(n!, 'base64url'), publicExponent: Buffer.from(e!, 'base64url') }
  assert.deepEqual(jwkOf(key), { kty, n, e })
  assert.match(sshLineOf(key, 'web-key')!, /^ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ[\w+/=]+ web-key$/)
  const ec = generateKeyPairSync('ec', { namedCurve: 'secp384r1' }).publicKey
  assert.deepEqual(jwkOf({ type: 'ECDSA', data: pointOf(ec) }), ec.export({ format: 'jwk' }))
  const ed = generateKeyPairSync('ed25519').publicKey
  const data = Buffer.from((ed.export({ format: 'jwk' }) as { x: string }).x, 'base64url')
  assert.deepEqual(jwkOf({ type: 'ED25519', data }), ed.export({ format: 'jwk' }))
  assert.match(sshLineOf({ type: 'Curve25519', data }, 'me')!, /^ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI[\w+/=]+ me$/)
  assert.equal(sshLineOf({ type: 'BrainpoolP256', data: new Uint8Array(65) }, 'x'), null)
})

/** End of the DER, as long as the curve's coordinates. */
function pointOf(key: KeyObject): Buffer {
  const bits = Number(/\d{3}/.exec(key.asymmetricKeyDetails!.namedCurve!.replace('prime', ''))![0])
  return key.export({ type: 'spki', format: 'der' }).subarray(-1 - 2 * Math.ceil(bits / 8))
}

function flip(bytes: Uint8Array, at: number): Uint8Array {
  const changed = Uint8Array.from(bytes)
  changed[at]! ^= 1
  return changed
}
