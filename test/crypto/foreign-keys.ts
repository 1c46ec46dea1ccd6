/** Keys of every type from elsewhere: what is imported, and what it is stored as. */

import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto'
import { CURVES, isMlDsaKeyType } from '../../firmware/crypto/algorithms.ts'
import { parsePrivateKeyPem } from '../../firmware/crypto/encoding/import-pem.ts'
import { ML_DSA_SETS } from '../../firmware/crypto/engine/ml-dsa/parameters.ts'
import { computeRsaKey, encodeRsaPrivateKey } from '../../firmware/crypto/rsa/encoding.ts'
import type { EcKeyType, EncryptMode, KeyType, MlDsaKeyType, SignMode } from '../../firmware/crypto/types.ts'
import { numbersOf } from './rsa-keys.ts'

export interface Kind {
  type: KeyType
  mode: SignMode | EncryptMode
  bits?: number
}

export const KINDS: readonly Kind[] = [
  { type: 'RSA', mode: 'PSS_SHA256', bits: 1024 },
  { type: 'RSA', mode: 'PSS_SHA256', bits: 2048 },
  ...(Object.keys(CURVES) as EcKeyType[]).map((type) => ({ type, mode: 'ECDSA' }) as const),
  { type: 'EC_P256K1', mode: 'BIP340' },
  { type: 'Curve25519', mode: 'EdDSA' },
  ...ML_DSA_SETS.map((type) => ({ type, mode: 'ML_DSA' }) as const),
  { type: 'Generic', mode: 'AES_CBC', bits: 256 },
  { type: 'Generic', mode: 'XAES_GCM', bits: 256 },
  { type: 'Generic', mode: 'HMAC_SHA256', bits: 256 },
]

export const nameOf = ({ type, mode, bits }: Kind): string => `${type}${bits ?? ''} ${mode}`

const OPENSSL_NAMES: Readonly<Record<EcKeyType, string>> = {
  EC_P256: 'P-256',
  EC_P384: 'P-384',
  EC_P521: 'P-521',
  EC_P256K1: 'secp256k1',
  BrainpoolP256: 'brainpoolP256r1',
  BrainpoolP384: 'brainpoolP384r1',
  BrainpoolP512: 'brainpoolP512r1',
}

export interface ForeignKey {
  material: Uint8Array
  stored: Uint8Array
  pem: string
}

export function foreignKey({ type, bits }: Kind): ForeignKey {
  if (type === 'Generic') {
    const stored = new Uint8Array(randomBytes(bits! / 8))
    return { material: stored, stored, pem: '' }
  }
  const privateKey =
    type === 'RSA'
      ? rsaKey(bits!)
      : type === 'Curve25519'
        ? generateKeyPairSync('ed25519').privateKey
        : isMlDsaKeyType(type)
          ? mlDsaKey(type)
          : generateKeyPairSync('ec', { namedCurve: OPENSSL_NAMES[type] }).privateKey
  const pem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { material: Buffer.from(pem), stored: storedForm(type, privateKey), pem }
}

function mlDsaKey(type: MlDsaKeyType): KeyObject {
  const name = type.toLowerCase().replaceAll('_', '-')
  return (generateKeyPairSync(name as never) as unknown as { privateKey: KeyObject }).privateKey
}

/** One prime less one has the factor four: Miller-Rabin then goes through numbers that tell of it. */
function rsaKey(bits: number): KeyObject {
  for (;;) {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: bits })
    if (numbersOf(privateKey).p.at(-1)! % 4 === 1) return privateKey
  }
}

function storedForm(type: KeyType, privateKey: KeyObject): Uint8Array {
  if (type === 'RSA') {
    const { p, q, e } = numbersOf(privateKey)
    return encodeRsaPrivateKey(computeRsaKey(p, q, e)!)
  }
  const file = parsePrivateKeyPem(Buffer.from(privateKey.export({ type: 'pkcs8', format: 'pem' })))
  return file.type === 'RSA' ? assert.fail() : file.data
}
