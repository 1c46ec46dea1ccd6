/** Verification with public keys alone, held against what node:crypto signs. Contract section 6.1. */

import assert from 'node:assert/strict'
import { constants, createHash, generateKeyPairSync, sign } from 'node:crypto'
import { test } from 'node:test'
import { CofferError } from '../../firmware/base/error.ts'
import type { KeyType, PublicKey, SignMode } from '../../firmware/crypto/types.ts'
import { verifies } from '../../firmware/crypto/verification.ts'
import { utf8 } from './support.ts'

interface Signed {
  type: KeyType
  key: NonNullable<PublicKey>
  mode: SignMode
  message: Uint8Array
  signature: Uint8Array
}

const DATA = utf8('data to sign')
const sha = (name: string) => new Uint8Array(createHash(name).update(DATA).digest())
const base64url = (text: string) => new Uint8Array(Buffer.from(text, 'base64url'))

function ecdsa(type: KeyType, namedCurve: string, hash: string): Signed {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve })
  const { x, y } = publicKey.export({ format: 'jwk' })
  const data = new Uint8Array([4, ...base64url(x!), ...base64url(y!)])
  return { type, key: { data }, mode: 'ECDSA', message: sha(hash), signature: sign(hash, DATA, privateKey) }
}

function rsa(): Signed[] {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const { n, e } = publicKey.export({ format: 'jwk' })
  const key = { modulus: base64url(n!), publicExponent: base64url(e!) }
  const pss = {
    key: privateKey,
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  }
  return (['sha224', 'sha256', 'sha384', 'sha512'] as const).flatMap((hash): Signed[] => {
    const name = hash.toUpperCase() as 'SHA256'
    const common = { type: 'RSA', key, message: sha(hash) } as const
    return [
      { ...common, mode: `PKCS1_${name}`, signature: sign(hash, DATA, privateKey) },
      { ...common, mode: `PSS_${name}`, signature: sign(hash, DATA, pss) },
    ]
  })
}

function edwards(): Signed {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const data = base64url(publicKey.export({ format: 'jwk' }).x!)
  return { type: 'Curve25519', key: { data }, mode: 'EdDSA', message: DATA, signature: sign(null, DATA, privateKey) }
}

const SIGNED = [
  ecdsa('EC_P256', 'P-256', 'sha256'),
  ecdsa('EC_P384', 'P-384', 'sha384'),
  ecdsa('EC_P521', 'P-521', 'sha512'),
  edwards(),
  ...rsa(),
]

const judge = ({ type, key, mode, message, signature }: Signed) => verifies(type, key, mode, message, signature)

test('takes what node:crypto signs', () => {
  for (const signed of SIGNED) assert.ok(judge(signed), `${signed.type} ${signed.mode}`)
})

test('refuses another message, and a signature that was changed, cut or lengthened', () => {
  for (const signed of SIGNED) {
    const { message, signature } = signed
    const name = `${signed.type} ${signed.mode}`
    assert.ok(!judge({ ...signed, message: message.with(0, message[0]! ^ 1) }), name)
    for (const at of [0, 1, signature.length >> 1, signature.length - 1])
      assert.ok(
        !judge({ ...signed, signature: new Uint8Array(signature).with(at, signature[at]! ^ 1) }),
        `${name} ${at}`,
      )
    for (const length of [0, 1, signature.length - 1])
      assert.ok(!judge({ ...signed, signature: signature.subarray(0, length) }), `${name} ${length}`)
    assert.ok(!judge({ ...signed, signature: new Uint8Array([...signature, 0]) }), name)
  }
})

test('refuses a signature by another key of the same type', () => {
  const [one, other] = [ecdsa('EC_P256', 'P-256', 'sha256'), ecdsa('EC_P256', 'P-256', 'sha256')]
  assert.ok(!judge({ ...one, key: other.key }))
})

test('throws for a mode that the key has not', () => {
  for (const { type, key } of SIGNED.slice(0, 5))
    assert.throws(
      () => verifies(type, key, 'BIP340', DATA, DATA),
      (error) => error instanceof CofferError && error.code === 'invalid',
    )
})
