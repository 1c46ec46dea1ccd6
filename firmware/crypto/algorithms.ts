/** Key types, mechanisms and modes, and their valid combinations. Contract sections 4.4, 4.5 and 5 (rows 2, 3, 5). */

import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import {
  type DecryptMode,
  type EcKeyType,
  type EncryptMode,
  HASHES,
  type HashName,
  HMAC_HASHES,
  type HmacMode,
  KEY_TYPES,
  type KeyType,
  type MlDsaKeyType,
  type SignMode,
} from './types.ts'
import { XAES_KEY_BYTES } from './xaes.ts'

// ---- key types

export interface Curve {
  /** Length of the private scalar, and of each coordinate of a point. */
  fieldBytes: number
  digestBytes: number
  hash: 'SHA256' | 'SHA384' | 'SHA512'
  /** Named curve of SEC 2 or RFC 5639. */
  oid: string
}

export const CURVES: Readonly<Record<EcKeyType, Curve>> = {
  EC_P256: { fieldBytes: 32, digestBytes: 32, hash: 'SHA256', oid: '1.2.840.10045.3.1.7' },
  EC_P384: { fieldBytes: 48, digestBytes: 48, hash: 'SHA384', oid: '1.3.132.0.34' },
  EC_P521: { fieldBytes: 66, digestBytes: 64, hash: 'SHA512', oid: '1.3.132.0.35' },
  EC_P256K1: { fieldBytes: 32, digestBytes: 32, hash: 'SHA256', oid: '1.3.132.0.10' },
  BrainpoolP256: { fieldBytes: 32, digestBytes: 32, hash: 'SHA256', oid: '1.3.36.3.3.2.8.1.1.7' },
  BrainpoolP384: { fieldBytes: 48, digestBytes: 48, hash: 'SHA384', oid: '1.3.36.3.3.2.8.1.1.11' },
  BrainpoolP512: { fieldBytes: 64, digestBytes: 64, hash: 'SHA512', oid: '1.3.36.3.3.2.8.1.1.13' },
}

export const isEcKeyType = (type: KeyType): type is EcKeyType => Object.hasOwn(CURVES, type)

/** RFC 9881 section 2. */
export const ML_DSA_OIDS: Readonly<Record<MlDsaKeyType, string>> = {
  ML_DSA_44: '2.16.840.1.101.3.4.3.17',
  ML_DSA_65: '2.16.840.1.101.3.4.3.18',
  ML_DSA_87: '2.16.840.1.101.3.4.3.19',
}

export const isMlDsaKeyType = (type: KeyType): type is MlDsaKeyType => Object.hasOwn(ML_DSA_OIDS, type)

/** Length of the seed and of the public key: RFC 8032. */
export const ED25519_BYTES = 32
export const ED25519_OID = '1.3.101.112' // RFC 8410
export const RSA_BITS = { min: 1024, max: 8192 }
const GENERIC_BITS = { min: 128, max: 8192 }

/** Includes the older names. A key retains the name it was created with. */
export const KEY_TYPE_NAMES = [...KEY_TYPES, 'ED25519', 'ECDSA'] as const
export type KeyTypeName = (typeof KEY_TYPE_NAMES)[number]

const ECDSA_BY_LENGTH: Readonly<Record<number, KeyType>> = {
  0: 'EC_P256',
  256: 'EC_P256',
  384: 'EC_P384',
  521: 'EC_P521',
}
const ECDSA_BY_DATA_BYTES: Readonly<Record<number, KeyType>> = { 32: 'EC_P256', 48: 'EC_P384', 66: 'EC_P521' }

/** Type of the key to generate and, for RSA and Generic, its checked length. Other types ignore `length`. */
export function resolveGenerate(name: KeyTypeName, length?: number): { type: KeyType; bits?: number } {
  if (name === 'ED25519') return { type: 'Curve25519' }
  if (name === 'ECDSA') {
    const type = ECDSA_BY_LENGTH[length ?? 0]
    if (type === undefined) throw new CofferError('invalid', 'length: ECDSA keys have 256, 384 or 521 bits')
    return { type }
  }
  if (name !== 'RSA' && name !== 'Generic') return { type: name }
  return { type: name, bits: checkBits(name, length) }
}

/** Throws CofferError `invalid` if the length is out of range. */
export function checkBits(type: 'RSA' | 'Generic', bits: number | undefined): number {
  const { min, max } = type === 'RSA' ? RSA_BITS : GENERIC_BITS
  if (bits === undefined) throw new CofferError('invalid', `length: required for ${type} keys`)
  if (!Number.isInteger(bits) || bits < min || bits > max) {
    throw new CofferError('invalid', `length: ${type} keys have ${min} to ${max} bits`)
  }
  return bits
}

/** Type of an imported key. The length of the data selects the curve of `ECDSA`. */
export function resolveImport(name: KeyTypeName, dataBytes: number): KeyType {
  if (name === 'ED25519') return 'Curve25519'
  if (name !== 'ECDSA') return name
  const type = ECDSA_BY_DATA_BYTES[dataBytes]
  if (type === undefined) throw new CofferError('invalid', 'data: ECDSA keys have 32, 48 or 66 bytes')
  return type
}

// ---- mechanisms

export const MECHANISMS = [
  'RSA_Decryption_RAW',
  'RSA_Decryption_PKCS1',
  ...HASHES.map((hash) => `RSA_Decryption_OAEP_${hash}` as const),
  'RSA_Signature_PKCS1',
  ...HASHES.map((hash) => `RSA_Signature_PKCS1_${hash}` as const),
  ...HASHES.map((hash) => `RSA_Signature_PSS_${hash}` as const),
  'EdDSA_Signature',
  'ECDSA_Signature',
  'BIP340_Signature',
  'AES_Encryption_CBC',
  'AES_Decryption_CBC',
  'ML_DSA_Signature',
  'ML_DSA_Signature_EXTERNAL_MU',
  'XAES_Encryption_GCM',
  'XAES_Decryption_GCM',
  'HMAC',
] as const
export type Mechanism = (typeof MECHANISMS)[number]

/** Includes the older name for EdDSA. A key retains the name it was created with. */
export const MECHANISM_NAMES = [...MECHANISMS, 'ED25519_Signature'] as const
export type MechanismName = (typeof MECHANISM_NAMES)[number]

const canonical = (name: MechanismName): Mechanism => (name === 'ED25519_Signature' ? 'EdDSA_Signature' : name)

/** Sorts into the order of `MECHANISMS` and removes duplicates. */
export function sortMechanisms(names: readonly MechanismName[]): MechanismName[] {
  const byMechanism = new Map<Mechanism, MechanismName>()
  for (const name of names) if (!byMechanism.has(canonical(name))) byMechanism.set(canonical(name), name)
  return MECHANISMS.flatMap((mechanism) => byMechanism.get(mechanism) ?? [])
}

/** True for a mechanism of a NetHSM's key type that its published clients do not know. Contract section 4.6. */
export const isUnknownMechanism = (name: MechanismName): boolean => name === 'HMAC' || isXaes(name)

const isXaes = (name: MechanismName): boolean => name === 'XAES_Encryption_GCM' || name === 'XAES_Decryption_GCM'

/** Length that a mechanism requires of the key; undefined if any will do. */
export const requiredBytes = (name: MechanismName): number | undefined => (isXaes(name) ? XAES_KEY_BYTES : undefined)

/** AES-CBC gives blocks under the bytes of the key, from which the keys of XAES are derived. */
export const mixesCiphers = (names: readonly MechanismName[]): boolean =>
  names.some(isXaes) && names.some((name) => canonical(name).startsWith('AES_'))

export function mechanismFits(name: MechanismName, type: KeyType): boolean {
  const mechanism = canonical(name)
  switch (mechanism) {
    case 'EdDSA_Signature':
      return type === 'Curve25519'
    case 'ECDSA_Signature':
      return isEcKeyType(type)
    case 'BIP340_Signature':
      return type === 'EC_P256K1'
    case 'AES_Encryption_CBC':
    case 'AES_Decryption_CBC':
    case 'XAES_Encryption_GCM':
    case 'XAES_Decryption_GCM':
    case 'HMAC':
      return type === 'Generic'
    case 'ML_DSA_Signature':
    case 'ML_DSA_Signature_EXTERNAL_MU':
      return isMlDsaKeyType(type)
    default:
      return type === 'RSA'
  }
}

// ---- modes

/** Names in requests; `signMode` maps them to the pool's modes. */
export const SIGN_MODE_NAMES = [
  'PKCS1',
  ...HASHES.map((hash) => `PKCS1_${hash}` as const),
  ...HASHES.map((hash) => `PSS_${hash}` as const),
  'EdDSA',
  'ED25519',
  'ECDSA',
  'BIP340',
  'ML_DSA',
  'ML_DSA_EXTERNAL_MU',
  ...HMAC_HASHES.map((hash) => `HMAC_${hash}` as const),
] as const
type SignModeName = (typeof SIGN_MODE_NAMES)[number]

export const DECRYPT_MODES: readonly DecryptMode[] = [
  'RAW',
  'PKCS1',
  ...HASHES.map((hash): DecryptMode => `OAEP_${hash}`),
  'AES_CBC',
  'XAES_GCM',
]
export const ENCRYPT_MODES: readonly EncryptMode[] = ['AES_CBC', 'XAES_GCM']

export const signMode = (name: SignModeName): SignMode => (name === 'ED25519' ? 'EdDSA' : name)

export interface Permissions {
  sign: readonly SignMode[]
  decrypt: readonly DecryptMode[]
  encrypt: readonly EncryptMode[]
}

const permissions = (some: Partial<Permissions>): Permissions => ({ sign: [], decrypt: [], encrypt: [], ...some })

function permissionsOf(mechanism: Mechanism): Permissions {
  switch (mechanism) {
    case 'RSA_Decryption_RAW':
      return permissions({ decrypt: ['RAW'] })
    case 'RSA_Decryption_PKCS1':
      return permissions({ decrypt: ['PKCS1'] })
    case 'RSA_Signature_PKCS1':
      return permissions({ sign: ['PKCS1', ...HASHES.map((hash) => `PKCS1_${hash}` as const)] })
    case 'EdDSA_Signature':
      return permissions({ sign: ['EdDSA'] })
    case 'ECDSA_Signature':
      return permissions({ sign: ['ECDSA'] })
    case 'BIP340_Signature':
      return permissions({ sign: ['BIP340'] })
    case 'ML_DSA_Signature':
      return permissions({ sign: ['ML_DSA'] })
    case 'ML_DSA_Signature_EXTERNAL_MU':
      return permissions({ sign: ['ML_DSA_EXTERNAL_MU'] })
    case 'AES_Encryption_CBC':
      return permissions({ encrypt: ['AES_CBC'] })
    case 'AES_Decryption_CBC':
      return permissions({ decrypt: ['AES_CBC'] })
    case 'XAES_Encryption_GCM':
      return permissions({ encrypt: ['XAES_GCM'] })
    case 'XAES_Decryption_GCM':
      return permissions({ decrypt: ['XAES_GCM'] })
    case 'HMAC':
      return permissions({ sign: HMAC_HASHES.map((hash): HmacMode => `HMAC_${hash}`) })
    default: {
      const hash = mechanism.slice(mechanism.lastIndexOf('_') + 1) as HashName
      if (mechanism.startsWith('RSA_Decryption_OAEP_')) return permissions({ decrypt: [`OAEP_${hash}`] })
      if (mechanism.startsWith('RSA_Signature_PSS_')) return permissions({ sign: [`PSS_${hash}`] })
      return permissions({ sign: [`PKCS1_${hash}`] })
    }
  }
}

const PERMISSIONS = new Map<Mechanism, Permissions>(MECHANISMS.map((name) => [name, permissionsOf(name)]))

export function permits<Use extends keyof Permissions>(
  mechanisms: readonly MechanismName[],
  use: Use,
  mode: Permissions[Use][number],
): boolean {
  return mechanisms.some((name) => (defined(PERMISSIONS.get(canonical(name)))[use] as readonly string[]).includes(mode))
}
