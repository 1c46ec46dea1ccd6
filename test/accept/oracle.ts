/** The independent side of the key tests: keys made and signatures checked by OpenSSL (through Node) and noble. */

import assert from 'node:assert/strict'
import {
  constants,
  createPublicKey,
  generateKeyPair,
  type KeyObject,
  publicDecrypt,
  publicEncrypt,
  verify,
} from 'node:crypto'
import { promisify } from 'node:util'
import { schnorr } from '@noble/curves/secp256k1.js'

const HASH_BYTES: Record<string, number> = { md5: 16, sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 }

/** Contract 4.4. `digest` is a hash of the length that ECDSA input has on the curve. */
export interface Curve {
  type: string
  openssl: string
  scalarBytes: number
  digest: string
  digestBytes: number
  order: bigint
}

export const CURVES: readonly Curve[] = [
  curve('EC_P256', 'prime256v1', 32, 'sha256', 'ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551'),
  curve(
    'EC_P384',
    'secp384r1',
    48,
    'sha384',
    'ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973',
  ),
  curve(
    'EC_P521',
    'secp521r1',
    66,
    'sha512',
    '01fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409',
  ),
  curve('EC_P256K1', 'secp256k1', 32, 'sha256', 'fffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141'),
  curve(
    'BrainpoolP256',
    'brainpoolP256r1',
    32,
    'sha256',
    'a9fb57dba1eea9bc3e660a909d838d718c397aa3b561a6f7901e0e82974856a7',
  ),
  curve(
    'BrainpoolP384',
    'brainpoolP384r1',
    48,
    'sha384',
    '8cb91e82a3386d280f5d6f7e50e641df152f7109ed5456b31f166e6cac0425a7cf3ab6af6b7fc3103b883202e9046565',
  ),
  curve(
    'BrainpoolP512',
    'brainpoolP512r1',
    64,
    'sha512',
    'aadd9db8dbe9c48b3fd4e6ae33c9fc07cb308db3b3c9d20ed6639cca70330870553e5c414ca92619418661197fac10471db1d381085ddaddb58796829ca90069',
  ),
]

function curve(type: string, openssl: string, scalarBytes: number, digest: string, order: string): Curve {
  return { type, openssl, scalarBytes, digest, digestBytes: HASH_BYTES[digest]!, order: BigInt(`0x${order}`) }
}

export const HASHES = ['MD5', 'SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512'] as const
export const hashBytes = (hash: string) => HASH_BYTES[hash.toLowerCase()]!

const generate = promisify(generateKeyPair)

export interface Pair {
  privateKey: KeyObject
  publicKey: KeyObject
}

export const makeRsa = (modulusLength: number, publicExponent = 65537): Promise<Pair> =>
  generate('rsa', { modulusLength, publicExponent })

export const makeEc = (curve: Curve): Promise<Pair> => generate('ec', { namedCurve: curve.openssl })

export const makeEd25519 = (): Promise<Pair> => generate('ed25519')

export function privateMembers(key: KeyObject): Record<string, string> {
  if (key.asymmetricKeyType === 'rsa') {
    const { p, q, e } = key.export({ format: 'jwk' })
    return { primeP: standard(p!), primeQ: standard(q!), publicExponent: standard(e!) }
  }
  if (key.asymmetricKeyType === 'ed25519') return { data: standard(key.export({ format: 'jwk' }).d!) }
  return { data: scalarOf(key).toString('base64') }
}

/** RFC 5915: SEQUENCE { INTEGER 1, OCTET STRING privateKey, ... }; not every curve can be a JWK. */
function scalarOf(key: KeyObject): Buffer {
  const der = key.export({ format: 'der', type: 'sec1' })
  const start = der[1]! < 0x80 ? 2 : 2 + (der[1]! & 0x7f)
  assert.deepEqual([...der.subarray(start, start + 4)], [2, 1, 1, 4])
  return der.subarray(start + 5, start + 5 + der[start + 4]!)
}

const standard = (base64url: string) => Buffer.from(base64url, 'base64url').toString('base64')

export function publicMembers(key: KeyObject): Record<string, string> {
  const spki = key.export({ format: 'der', type: 'spki' })
  if (key.asymmetricKeyType === 'rsa') {
    const { n, e } = key.export({ format: 'jwk' })
    return { modulus: standard(n!), publicExponent: standard(e!) }
  }
  if (key.asymmetricKeyType === 'ed25519') return { data: spki.subarray(-32).toString('base64') }
  // The uncompressed point is the end of the BIT STRING, which is the end of the whole.
  const { namedCurve } = key.asymmetricKeyDetails!
  const { scalarBytes } = CURVES.find(({ openssl }) => openssl === namedCurve)!
  const point = spki.subarray(-(2 * scalarBytes + 1))
  assert.equal(point[0], 4)
  return { data: point.toString('base64') }
}

export const publicKeyOf = (pem: string): KeyObject => createPublicKey(pem)

export const modulusBytes = (key: KeyObject) => Math.ceil(key.asymmetricKeyDetails!.modulusLength! / 8)

/** s^e mod n as k bytes. */
export const rsaPublic = (publicKey: KeyObject, bytes: Uint8Array): Buffer =>
  publicEncrypt({ key: publicKey, padding: constants.RSA_NO_PADDING }, bytes)

/** EMSA-PKCS1-v1_5 around any bytes: the whole block is compared. */
export function checkPkcs1(publicKey: KeyObject, input: Uint8Array, signature: Uint8Array) {
  const k = modulusBytes(publicKey)
  assert.equal(signature.length, k)
  const block = Buffer.concat([Buffer.from([0, 1]), Buffer.alloc(k - 3 - input.length, 0xff), Buffer.from([0]), input])
  assert(rsaPublic(publicKey, signature).equals(block))
  assert(publicDecrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, signature).equals(input))
}

export function checkPkcs1Hash(publicKey: KeyObject, hash: string, message: Uint8Array, signature: Uint8Array) {
  assert.equal(signature.length, modulusBytes(publicKey))
  assert(verify(hash.toLowerCase(), message, { key: publicKey, padding: constants.RSA_PKCS1_PADDING }, signature))
}

/** PSS with a salt of exactly the length of the hash. */
export function checkPss(publicKey: KeyObject, hash: string, message: Uint8Array, signature: Uint8Array) {
  assert.equal(signature.length, modulusBytes(publicKey))
  const options = { key: publicKey, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: hashBytes(hash) }
  assert(verify(hash.toLowerCase(), message, options, signature))
}

export function checkEcdsa(publicKey: KeyObject, hash: string, message: Uint8Array, signature: Uint8Array) {
  assert(verify(hash, message, { key: publicKey, dsaEncoding: 'der' }, signature))
}

export function checkEd25519(publicKey: KeyObject, message: Uint8Array, signature: Uint8Array) {
  assert.equal(signature.length, 64)
  assert(verify(null, message, publicKey, signature))
}

/** `point` is the uncompressed public point; BIP-340 uses its X. */
export function checkBip340(point: Uint8Array, message: Uint8Array, signature: Uint8Array) {
  assert.equal(signature.length, 64)
  assert(schnorr.verify(signature, message, point.subarray(1, 33)))
}

export function encryptPkcs1(publicKey: KeyObject, message: Uint8Array): Buffer {
  return publicEncrypt({ key: publicKey, padding: constants.RSA_PKCS1_PADDING }, message)
}

export function encryptOaep(publicKey: KeyObject, hash: string, message: Uint8Array, label?: Uint8Array): Buffer {
  const options = { key: publicKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: hash.toLowerCase() }
  return publicEncrypt(label === undefined ? options : { ...options, oaepLabel: Buffer.from(label) }, message)
}

export function bigEndian(value: bigint, bytes: number): Buffer {
  return Buffer.from(value.toString(16).padStart(2 * bytes, '0'), 'hex')
}
