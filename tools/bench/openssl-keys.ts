/** Replaces crypto/pool/operations.ts in the bundle that Coffer is compared with: keys that sign with node:crypto. */

import { constants, createPrivateKey, sign } from 'node:crypto'
import { encodePkcs8 } from '../../firmware/crypto/encoding/pkcs8.ts'
import { importKey } from '../../firmware/crypto/pool/operations.ts'
import { decodeRsaPrivateKey } from '../../firmware/crypto/rsa/encoding.ts'
import type { KeyPair, KeyType, OpenedKey } from '../../firmware/crypto/types.ts'

export * from '../../firmware/crypto/pool/operations.ts'

const SALT_BYTES = 32 // as long as the hash, as Coffer's

/** Signs the digest as if it were the message, since OpenSSL hashes by itself: one block of SHA-256 more. */
export function openKey(type: KeyType, stored: Uint8Array): OpenedKey {
  const der = Buffer.from(encodePkcs8(pairOf(type, stored)))
  const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
  const hash = type === 'Curve25519' ? null : 'sha256'
  const padding = type === 'RSA' ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: SALT_BYTES } : {}
  const unused = (): never => {
    throw new Error('The benchmark signs only')
  }
  return {
    sign: (_mode, digest) => new Uint8Array(sign(hash, digest, { key, ...padding })),
    decrypt: unused,
    encrypt: unused,
    wipe: () => {},
  }
}

function pairOf(type: KeyType, stored: Uint8Array): KeyPair {
  if (type !== 'RSA') return importKey(type, stored)
  const { n, e } = decodeRsaPrivateKey(stored)
  return { type, private: stored, public: { modulus: n, publicExponent: e } }
}
