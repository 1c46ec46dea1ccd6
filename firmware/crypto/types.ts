/** Key types, modes and the shapes in which keys travel between rooms. Contract sections 4.4 and 4.5. */

import { ML_DSA_SETS, type MlDsaSet } from './engine/ml-dsa/parameters.ts'
import type { MlDsaMode } from './ml-dsa/private-key.ts'
import type { RsaClaims } from './rsa/generate.ts'

/** Those of NetHSM, which its clients know. */
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

export type SignMode = 'PKCS1' | `PKCS1_${HashName}` | `PSS_${HashName}` | 'EdDSA' | 'ECDSA' | 'BIP340' | MlDsaMode
export type DecryptMode = 'RAW' | 'PKCS1' | `OAEP_${HashName}` | 'AES_CBC'
export type EncryptMode = 'AES_CBC'

/** Big-endian, without leading zero byte (RSA); uncompressed point, RFC 8032 or FIPS 204 bytes (others); nothing for Generic. */
export type PublicKey = { modulus: Uint8Array; publicExponent: Uint8Array } | { data: Uint8Array } | null

/**
 * A private key as it is stored: RSA as `encodeRsaPrivateKey` of rsa-key.ts writes it (CRT parts computed once),
 * EC a big-endian scalar of the field's length, Ed25519 the 32-byte seed of RFC 8032, ML-DSA the 32-byte seed of FIPS 204 or the
 * expanded key where nobody knows that, Generic the bytes themselves.
 */
export interface KeyPair {
  type: KeyType
  private: Uint8Array
  public: PublicKey
}

/** A stored key as the worker pool sees it: workers keep opened keys by `ref` and ask for the bytes only once. */
export interface KeyHandle {
  /** Unique for this key and this content, e.g. a counter given at creation or unlock; never reused. */
  ref: number
  type: KeyType
  /** Reads the private bytes from the store; the caller wipes them. */
  load: () => Uint8Array
}

/** Costs of scrypt, RFC 7914. */
export interface ScryptCost {
  N: number
  r: number
  p: number
}

/**
 * Slow and secret operations, run in worker threads. Every failure is a CofferError (`invalid`, `busy`). Byte arrays have
 * been copied when a method returns its promise: the caller may wipe them at once.
 */
export interface CryptoPool {
  /** `context` for the mode ML_DSA only. */
  sign(key: KeyHandle, mode: SignMode, message: Uint8Array, context?: Uint8Array): Promise<Uint8Array>
  decrypt(key: KeyHandle, mode: DecryptMode, encrypted: Uint8Array, iv?: Uint8Array): Promise<Uint8Array>
  encrypt(key: KeyHandle, mode: EncryptMode, message: Uint8Array, iv: Uint8Array): Promise<Uint8Array>
  /** `bits` for RSA and Generic only. */
  generate(type: KeyType, bits?: number): Promise<KeyPair>
  /**
   * Checks an RSA key and computes its CRT parts: p and q odd probable primes, e coprime, sizes in bounds (contract 6.4), and
   * what its file says of the other numbers.
   */
  importRsa(primeP: Uint8Array, primeQ: Uint8Array, publicExponent: Uint8Array, claims?: RsaClaims): Promise<KeyPair>
  /** Checks length and range and computes the public part. `expanded` is what a file says that the seed of an ML-DSA key gives. */
  importRaw(type: Exclude<KeyType, 'RSA'>, data: Uint8Array, expanded?: Uint8Array): Promise<KeyPair>
  scrypt(passphrase: Uint8Array, salt: Uint8Array, cost: ScryptCost): Promise<Uint8Array>
  /**
   * `listener` is called when threads that sign have tried each algorithm against a known answer, each once after its start:
   * with the names of those that are wrong, hence most often with none.
   */
  onTested(listener: (wrong: readonly string[]) => void): void
  /** Wipes one opened key from every worker (deleted, or locked out). */
  forget(ref: number): void
  /** Wipes every opened key (lock). */
  forgetAll(): void
  close(): Promise<void>
}
