/** Purposes of keys, with the type and the mechanisms for each: contract sections 4.4 and 4.5. */

export interface Purpose {
  readonly title: string
  readonly type: string
  /** Bits, for types of variable length. */
  readonly length?: number
  readonly mechanisms: readonly string[]
  /** Reason for the type and mechanisms, in a sentence for the user. */
  readonly why: string
}

export type PurposeName = 'sign' | 'tls' | 'code' | 'release' | 'decrypt' | 'ssh' | 'blockchain' | 'aes'

export const PURPOSES: Readonly<Record<PurposeName, Purpose>> = {
  sign: {
    title: 'Sign documents',
    type: 'EC_P256',
    mechanisms: ['ECDSA_Signature'],
    why: 'ECDSA on P-256: short signatures that every program can verify.',
  },
  tls: {
    title: 'TLS server',
    type: 'EC_P256',
    mechanisms: ['ECDSA_Signature'],
    why: 'ECDSA on P-256: what browsers and certificate authorities expect today.',
  },
  code: {
    title: 'Sign code',
    type: 'RSA',
    length: 3072,
    mechanisms: ['RSA_Signature_PKCS1_SHA256', 'RSA_Signature_PSS_SHA256'],
    why: 'RSA of 3072 bits, the least that authorities issue code-signing certificates for.',
  },
  release: {
    title: 'Sign, post-quantum',
    type: 'ML_DSA_65',
    mechanisms: ['ML_DSA_Signature'],
    why: 'ML-DSA-65 (FIPS 204), made to last: OpenSSL 3.5 verifies it.',
  },
  decrypt: {
    title: 'Decrypt',
    type: 'RSA',
    length: 3072,
    mechanisms: ['RSA_Decryption_OAEP_SHA256'],
    why: 'RSA-OAEP with SHA-256: anybody encrypts, only this key decrypts.',
  },
  ssh: {
    title: 'SSH and Git',
    type: 'Curve25519',
    mechanisms: ['EdDSA_Signature'],
    why: 'Ed25519: short keys that SSH prefers.',
  },
  blockchain: {
    title: 'Blockchain',
    type: 'EC_P256K1',
    mechanisms: ['ECDSA_Signature', 'BIP340_Signature'],
    why: 'secp256k1 with ECDSA and Schnorr signatures (BIP 340).',
  },
  aes: {
    title: 'AES, encrypt and decrypt',
    type: 'Generic',
    length: 256,
    mechanisms: ['AES_Encryption_CBC', 'AES_Decryption_CBC'],
    why: 'AES-256 in CBC mode. It hides data and does not show whether that was changed.',
  },
}
