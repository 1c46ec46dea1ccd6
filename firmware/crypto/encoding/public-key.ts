/** Encodes public keys as SubjectPublicKeyInfo: RFC 5280 section 4.1, RFC 5480, RFC 8017 A.1, RFC 8410, RFC 9881. Contract section 6.3. */

import { ECParameters, id_ecPublicKey } from '@peculiar/asn1-ecc'
import { id_rsaEncryption, RSAPublicKey } from '@peculiar/asn1-rsa'
import { AsnConvert } from '@peculiar/asn1-schema'
import { AlgorithmIdentifier, SubjectPublicKeyInfo } from '@peculiar/asn1-x509'
import { CofferError } from '../../base/error.ts'
import { CURVES, ED25519_OID, isEcKeyType, isMlDsaKeyType, ML_DSA_OIDS } from '../algorithms.ts'
import type { KeyType, PublicKey } from '../types.ts'
import { encodePem } from './pem.ts'

/** Throws CofferError `invalid` for Generic keys, which have no public part. */
export function publicKeyPem(type: KeyType, publicKey: PublicKey): string {
  return encodePem('PUBLIC KEY', new Uint8Array(AsnConvert.serialize(publicKeyInfo(type, publicKey))))
}

export function publicKeyInfo(type: KeyType, publicKey: PublicKey): SubjectPublicKeyInfo {
  if (publicKey === null) throw new CofferError('invalid', `${type} keys have no public key`)
  return new SubjectPublicKeyInfo({ algorithm: algorithmOf(type), subjectPublicKey: subjectPublicKey(publicKey) })
}

function algorithmOf(type: KeyType): AlgorithmIdentifier {
  if (type === 'RSA') return new AlgorithmIdentifier({ algorithm: id_rsaEncryption, parameters: null })
  if (isMlDsaKeyType(type)) return new AlgorithmIdentifier({ algorithm: ML_DSA_OIDS[type] })
  if (!isEcKeyType(type)) return new AlgorithmIdentifier({ algorithm: ED25519_OID })
  const parameters = AsnConvert.serialize(new ECParameters({ namedCurve: CURVES[type].oid }))
  return new AlgorithmIdentifier({ algorithm: id_ecPublicKey, parameters })
}

function subjectPublicKey(publicKey: NonNullable<PublicKey>): ArrayBuffer {
  if ('data' in publicKey) return bufferOf(publicKey.data)
  return AsnConvert.serialize(
    new RSAPublicKey({
      modulus: derInteger(publicKey.modulus),
      publicExponent: derInteger(publicKey.publicExponent),
    }),
  )
}

/** Content of an INTEGER: a zero byte keeps a number with a leading 1 bit positive. */
function derInteger(number: Uint8Array): ArrayBuffer {
  return bufferOf(number[0]! >= 0x80 ? Uint8Array.of(0, ...number) : number)
}

/** Copies into a buffer of its own, as the schemas require. */
export const bufferOf = (bytes: Uint8Array): ArrayBuffer => new Uint8Array(bytes).buffer
