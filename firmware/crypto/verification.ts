/** Verifies signatures with a public key, in variable time: nothing here is secret. Contract section 6.1. */

import { ed25519 } from '@noble/curves/ed25519.js'
import { p256, p384, p521 } from '@noble/curves/nist.js'
import { CofferError } from '../base/error.ts'
import { verifyPkcs1, verifyPss } from '../client/verify-digest.ts'
import { isMlDsaKeyType } from './algorithms.ts'
import { verifyMlDsa } from './ml-dsa/verification.ts'
import type { KeyType, PublicKey, SignMode } from './types.ts'

const NIST: Partial<Record<KeyType, typeof p256>> = { EC_P256: p256, EC_P384: p384, EC_P521: p521 }

type Sha2 = 'SHA224' | 'SHA256' | 'SHA384' | 'SHA512'
const RSA_MODE = /^(PKCS1|PSS)_(SHA224|SHA256|SHA384|SHA512)$/

/** `message` and `signature` are those of `sign` in the same mode. Throws CofferError `invalid` for other keys and modes. */
export function verifies(
  type: KeyType,
  publicKey: NonNullable<PublicKey>,
  mode: SignMode,
  message: Uint8Array,
  signature: Uint8Array,
): boolean {
  if ('modulus' in publicKey) {
    if (mode === 'PKCS1') return verifyPkcs1(publicKey, null, message, signature)
    const [, scheme, hash] = RSA_MODE.exec(mode) ?? []
    if (hash === undefined) throw misfit(type, mode)
    return (scheme === 'PSS' ? verifyPss : verifyPkcs1)(publicKey, hash as Sha2, message, signature)
  }
  const { data } = publicKey
  if (isMlDsaKeyType(type) && mode === 'ML_DSA') return verifyMlDsa(type, data, mode, message, signature)
  const curve = NIST[type]
  try {
    if (curve !== undefined && mode === 'ECDSA')
      return curve.verify(signature, message, data, { prehash: false, lowS: false, format: 'der' })
    if (type === 'Curve25519' && mode === 'EdDSA') return ed25519.verify(signature, message, data, { zip215: false })
  } catch {
    return false // noble throws for a signature of another form
  }
  throw misfit(type, mode)
}

const misfit = (type: KeyType, mode: string): CofferError =>
  new CofferError('invalid', `mode: ${mode} does not fit ${type} keys`)
