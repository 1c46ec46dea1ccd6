/** Types of the wire, and which keys have them. CONTRACT.md, "Keys". */

import type { KeyTypeName, MechanismName } from '../../crypto/algorithms.ts'
import type { KeyEntry } from '../domain/key-index.ts'

export interface WireType {
  readonly name: string
  readonly encrypts: boolean
  readonly derives: boolean
  readonly signs: boolean
  /** Type of a new key. `bits` is for RSA and Generic. */
  readonly type: KeyTypeName
  readonly bits?: number
  readonly mechanisms: readonly MechanismName[]
  /** Name of a version's public key. */
  readonly publicName?: string
}

const RSA_MECHANISMS: readonly MechanismName[] = [
  'RSA_Decryption_OAEP_SHA256',
  'RSA_Signature_PKCS1',
  'RSA_Signature_PSS_SHA224',
  'RSA_Signature_PSS_SHA256',
  'RSA_Signature_PSS_SHA384',
  'RSA_Signature_PSS_SHA512',
]

const signing = { encrypts: false, derives: false, signs: true } as const

const ecdsa = (size: 256 | 384 | 521): WireType => ({
  ...signing,
  name: `ecdsa-p${size}`,
  type: `EC_P${size}`,
  mechanisms: ['ECDSA_Signature'],
  publicName: `P-${size}`,
})

const rsa = (bits: number): WireType => ({
  ...signing,
  encrypts: true,
  name: `rsa-${bits}`,
  type: 'RSA',
  bits,
  mechanisms: RSA_MECHANISMS,
  publicName: `rsa-${bits}`,
})

const mlDsa = (set: 44 | 65 | 87): WireType => ({
  ...signing,
  name: `mldsa-${set}`,
  type: `ML_DSA_${set}`,
  mechanisms: ['ML_DSA_Signature'],
  publicName: `mldsa-${set}`,
})

export const AES: WireType = {
  name: 'aes256-gcm96',
  encrypts: true,
  derives: true,
  signs: false,
  type: 'Generic',
  bits: 256,
  mechanisms: ['XAES_Encryption_GCM', 'XAES_Decryption_GCM', 'HMAC'],
}

export const HMAC: WireType = {
  name: 'hmac',
  encrypts: false,
  derives: false,
  signs: false,
  type: 'Generic',
  mechanisms: ['HMAC'],
}

export const WIRE_TYPES: readonly WireType[] = [
  AES,
  HMAC,
  {
    ...signing,
    derives: true,
    name: 'ed25519',
    type: 'Curve25519',
    mechanisms: ['EdDSA_Signature'],
    publicName: 'ed25519',
  },
  ecdsa(256),
  ecdsa(384),
  ecdsa(521),
  rsa(2048),
  rsa(3072),
  rsa(4096),
  mlDsa(44),
  mlDsa(65),
  mlDsa(87),
]

export const wireTypeNamed = (name: string): WireType | undefined => WIRE_TYPES.find((type) => type.name === name)

/** Undefined for keys that do not exist on this wire. */
export function wireTypeOf({ type, mechanisms, publicBytes }: Readonly<KeyEntry>): WireType | undefined {
  if (type !== 'Generic')
    return WIRE_TYPES.find((each) => each.type === type && (type !== 'RSA' || each.bits === publicBytes * 8))
  if (mechanisms.some((name) => name.startsWith('XAES_'))) return AES
  return mechanisms.includes('HMAC') ? HMAC : undefined
}
