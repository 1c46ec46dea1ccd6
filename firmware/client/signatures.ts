/**
 * Modes of signing and decrypting: those that a key permits, the digest of each, and the same operation with OpenSSL. Contract
 * sections 4.4, 4.5 and 6.
 */

import type { Sha2Name } from './sha2.ts'

const HASHES: readonly Sha2Name[] = ['SHA224', 'SHA256', 'SHA384', 'SHA512']

export interface SignMode {
  /** Value of `mode` in `/sign`. */
  readonly mode: string
  /** Digest to send; null if the message itself is sent. */
  readonly hash: Sha2Name | null
}

const CURVE_HASH: Readonly<Record<string, Sha2Name>> = {
  EC_P256: 'SHA256',
  EC_P256K1: 'SHA256',
  BrainpoolP256: 'SHA256',
  EC_P384: 'SHA384',
  BrainpoolP384: 'SHA384',
  EC_P521: 'SHA512',
  BrainpoolP512: 'SHA512',
}

/**
 * Signing modes in the order of the key's mechanisms, without MD5 and SHA-1, which are broken. `dataBytes` is the length of an EC
 * key's point, for keys created as `ECDSA`.
 */
export function signModes(key: { type: string; mechanisms: readonly string[]; dataBytes?: number }): SignMode[] {
  return key.mechanisms.flatMap((mechanism): SignMode[] => {
    if (mechanism === 'EdDSA_Signature' || mechanism === 'ED25519_Signature') return [{ mode: 'EdDSA', hash: null }]
    if (mechanism === 'ML_DSA_Signature') return [{ mode: 'ML_DSA', hash: null }]
    if (mechanism === 'ECDSA_Signature') return [{ mode: 'ECDSA', hash: curveHash(key) }]
    if (mechanism === 'BIP340_Signature') return [{ mode: 'BIP340', hash: 'SHA256' }]
    if (mechanism === 'RSA_Signature_PKCS1') return [{ mode: 'PKCS1_SHA256', hash: 'SHA256' }]
    const match = /^RSA_Signature_((PKCS1|PSS)_(\w+))$/.exec(mechanism)
    const hash = HASHES.find((name) => name === match?.[3])
    return match?.[1] && hash ? [{ mode: match[1], hash }] : []
  })
}

function curveHash({ type, dataBytes }: { type: string; dataBytes?: number }): Sha2Name {
  const byLength = dataBytes === 97 ? 'SHA384' : dataBytes === 133 ? 'SHA512' : 'SHA256'
  return CURVE_HASH[type] ?? byLength
}

/** Returns `RAW`, `PKCS1`, `OAEP_…` and `AES_CBC`. */
export const decryptModes = (mechanisms: readonly string[]): string[] =>
  mechanisms.flatMap((mechanism) => {
    if (mechanism === 'AES_Decryption_CBC') return ['AES_CBC']
    const match = /^RSA_Decryption_(\w+)$/.exec(mechanism)
    return match?.[1] ? [match[1]] : []
  })

/** OpenSSL command that verifies a signature of this mode; null for modes without one. */
export function opensslVerify({ mode, hash }: SignMode): string | null {
  if (mode === 'EdDSA' || mode === 'ML_DSA')
    return 'openssl pkeyutl -verify -pubin -inkey public.pem -rawin -in document -sigfile document.sig'
  if (mode === 'BIP340' || hash === null) return null
  const padding = mode.startsWith('PSS') ? ' -sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest' : ''
  return `openssl dgst -${hash.toLowerCase()} -verify public.pem -signature document.sig${padding} document`
}
