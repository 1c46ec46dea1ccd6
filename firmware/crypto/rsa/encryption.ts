/** RSAES-OAEP encryption with SHA-256 (RFC 8017 section 7.1). The key is public, so OpenSSL does it. Contract section 6.2. */

import { constants, createPublicKey, publicEncrypt } from 'node:crypto'
import { CofferError } from '../../base/error.ts'
import type { PublicKey } from '../types.ts'

const HASH_BYTES = 32

/** Throws `invalid` for other keys and for messages that are too long. */
export function encryptRsa(publicKey: PublicKey, message: Uint8Array): Uint8Array {
  if (publicKey === null || !('modulus' in publicKey))
    throw new CofferError('invalid', 'Only RSA keys encrypt without the private key')
  const bytesMax = publicKey.modulus.length - 2 * HASH_BYTES - 2
  if (message.length > bytesMax)
    throw new CofferError('invalid', `plaintext: this RSA key encrypts ${bytesMax} bytes at most`)
  const [n, e] = [publicKey.modulus, publicKey.publicExponent].map((bytes) =>
    Buffer.from(bytes).toString('base64url'),
  ) as [string, string]
  const key = createPublicKey({ key: { kty: 'RSA', n, e }, format: 'jwk' })
  return publicEncrypt({ key, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }, message)
}
