/** Key types, modes, and the interface of the crypto pool. Contract sections 4.4 and 4.5. */

import { ML_DSA_SETS, type MlDsaSet } from './engine/ml-dsa/parameters.ts'
import type { MlDsaMode } from './ml-dsa/private-key.ts'
import type { RsaClaims } from './rsa/generate.ts'

/** Key types of NetHSM, which its clients support. */
export const REFERENCE_KEY_TYPES = [
  'RSA',
  'Curve25519',
  'EC_P256',
  'EC_P384',
  'EC_P521',
  'EC_P256K1',
  'BrainpoolP256',
  'BrainpoolP384',
  'BrainpoolP512',
  'Generic',
] as const
export const KEY_TYPES = [...REFERENCE_KEY_TYPES, ...ML_DSA_SETS] as const
export type KeyType = (typeof KEY_TYPES)[number]
export type MlDsaKeyType = MlDsaSet
export type EcKeyType = Exclude<KeyType, 'RSA' | 'Curve25519' | 'Generic' | MlDsaKeyType>
export type CurveKeyType = EcKeyType | 'Curve25519'

export const HASHES = ['MD5', 'SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512'] as const
export type HashName = (typeof HASHES)[number]

/** SHA-2 and SHA-3, as HMAC uses them. */
export const HMAC_HASHES = [
  'SHA224',
  'SHA256',
  'SHA384',
  'SHA512',
  'SHA3_224',
  'SHA3_256',
  'SHA3_384',
  'SHA3_512',
] as const
export type HmacMode = `HMAC_${(typeof HMAC_HASHES)[number]}`

export type SignMode =
  | 'PKCS1'
  | `PKCS1_${HashName}`
  | `PSS_${HashName}`
  | 'EdDSA'
  | 'ECDSA'
  | 'BIP340'
  | MlDsaMode
  | HmacMode
export type DecryptMode = 'RAW' | 'PKCS1' | `OAEP_${HashName}` | EncryptMode
export type EncryptMode = 'AES_CBC' | 'XAES_GCM'

/**
 * RSA: big-endian without leading zero bytes. Other types: an uncompressed point, or the bytes of RFC 8032 or FIPS 204. Null for
 * Generic.
 */
export type PublicKey = { modulus: Uint8Array; publicExponent: Uint8Array } | { data: Uint8Array } | null

/**
 * A stored private key. RSA: as `encodeRsaPrivateKey` writes it, including CRT parts. EC: a big-endian scalar of the field's
 * length. Ed25519: the 32-byte seed of RFC 8032. ML-DSA: the 32-byte seed of FIPS 204, or the expanded key if the seed is
 * unknown. Generic: the bytes themselves.
 */
export interface KeyPair {
  type: KeyType
  private: Uint8Array
  public: PublicKey
}

/** A stored key for the worker pool. Workers hold opened keys by `ref` and read the bytes only once. */
export interface KeyHandle {
  /** Unique for this key and this content, such as a counter from creation or unlock. Never reused. */
  ref: number
  type: KeyType
  /** Reads the private bytes from the store; the caller wipes them. */
  load: () => Uint8Array
}

export interface ScryptCost {
  N: number
  r: number
  p: number
}

/**
 * Slow and secret operations in worker threads. All failures are CofferErrors (`invalid`, `busy`). Methods copy byte arrays
 * before they return the promise, so the caller may wipe them at once.
 */
export interface CryptoPool {
  /** `context` is for the mode ML_DSA, and for HMAC with a key derived from it: see `macOf`. */
  sign(key: KeyHandle, mode: SignMode, message: Uint8Array, context?: Uint8Array): Promise<Uint8Array>
  /** `associatedData` and `context`, from which the message's key is derived, are for the mode XAES_GCM only. */
  decrypt(
    key: KeyHandle,
    mode: DecryptMode,
    encrypted: Uint8Array,
    iv?: Uint8Array,
    associatedData?: Uint8Array,
    context?: Uint8Array,
  ): Promise<Uint8Array>
  encrypt(
    key: KeyHandle,
    mode: EncryptMode,
    message: Uint8Array,
    iv: Uint8Array,
    associatedData?: Uint8Array,
    context?: Uint8Array,
  ): Promise<Uint8Array>
  /** OAEP with SHA-256. Throws `invalid` for keys other than RSA and for messages that are too long. */
  encryptRsa(publicKey: PublicKey, message: Uint8Array): Promise<Uint8Array>
  /** `message` and `signature` are those of `sign`. */
  verify(
    type: KeyType,
    publicKey: NonNullable<PublicKey>,
    mode: SignMode,
    message: Uint8Array,
    signature: Uint8Array,
  ): Promise<boolean>
  /** `bits` is for RSA and Generic only. */
  generate(type: KeyType, bits?: number): Promise<KeyPair>
  /**
   * Checks an RSA key and computes its CRT parts: p and q must be odd probable primes, e coprime, sizes in bounds (contract
   * section 6.4), and the claims of its file correct.
   */
  importRsa(primeP: Uint8Array, primeQ: Uint8Array, publicExponent: Uint8Array, claims?: RsaClaims): Promise<KeyPair>
  /** Checks length and range, and computes the public part. `expanded` is the expanded key of the same file as an ML-DSA seed. */
  importRaw(type: Exclude<KeyType, 'RSA'>, data: Uint8Array, expanded?: Uint8Array): Promise<KeyPair>
  scrypt(passphrase: Uint8Array, salt: Uint8Array, cost: ScryptCost): Promise<Uint8Array>
  /**
   * Calls `listener` after threads that sign have tested each algorithm against a known answer, once after each start, with the
   * names of failed algorithms (usually none).
   */
  onTested(listener: (wrong: readonly string[]) => void): void
  /** Wipes one opened key in all workers, after its deletion or a change of rights. */
  forget(ref: number): void
  forgetAll(): void
  close(): Promise<void>
}

/** An opened private key of any type. */
export interface OpenedKey {
  /** Throws CofferError `invalid` if the key does not support the operation. The caller owns the results. */
  sign(mode: SignMode, message: Uint8Array, context?: Uint8Array): Uint8Array
  decrypt(
    mode: DecryptMode,
    encrypted: Uint8Array,
    iv: Uint8Array | undefined,
    associatedData: Uint8Array | undefined,
    context?: Uint8Array,
  ): Uint8Array
  encrypt(
    mode: EncryptMode,
    message: Uint8Array,
    iv: Uint8Array,
    associatedData: Uint8Array | undefined,
    context?: Uint8Array,
  ): Uint8Array
  wipe(): void
}
