/** Signatures of certificates and requests: algorithm and identifier for each key type. Contract section 6.5. */

import { sha256, sha384, sha512 } from '@noble/hashes/sha2.js'
import { ecdsaWithSHA256, ecdsaWithSHA384, ecdsaWithSHA512 } from '@peculiar/asn1-ecc'
import { id_sha256WithRSAEncryption } from '@peculiar/asn1-rsa'
import { AlgorithmIdentifier } from '@peculiar/asn1-x509'
import { CofferError } from '../../base/error.ts'
import { CURVES, ED25519_OID, isEcKeyType, isMlDsaKeyType, ML_DSA_OIDS } from '../algorithms.ts'
import type { KeyType, SignMode } from '../types.ts'

/** Usually bound to `pool.sign`, so that the key stays in the pool. */
export type Sign = (mode: SignMode, message: Uint8Array) => Promise<Uint8Array>

const ECDSA = {
  SHA256: { digest: sha256, algorithm: ecdsaWithSHA256 },
  SHA384: { digest: sha384, algorithm: ecdsaWithSHA384 },
  SHA512: { digest: sha512, algorithm: ecdsaWithSHA512 },
}

/** Throws CofferError `invalid` for Generic keys. */
export function signatureAlgorithm(type: KeyType): AlgorithmIdentifier {
  if (type === 'Generic') throw new CofferError('invalid', 'Generic keys cannot sign')
  if (type === 'RSA') return new AlgorithmIdentifier({ algorithm: id_sha256WithRSAEncryption, parameters: null })
  if (isEcKeyType(type)) return ECDSA[CURVES[type].hash].algorithm
  if (isMlDsaKeyType(type)) return new AlgorithmIdentifier({ algorithm: ML_DSA_OIDS[type] })
  return new AlgorithmIdentifier({ algorithm: ED25519_OID })
}

export function signData(type: KeyType, data: Uint8Array, sign: Sign): Promise<Uint8Array> {
  if (type === 'RSA') return sign('PKCS1_SHA256', sha256(data))
  if (isEcKeyType(type)) return sign('ECDSA', ECDSA[CURVES[type].hash].digest(data))
  return sign(isMlDsaKeyType(type) ? 'ML_DSA' : 'EdDSA', data)
}
