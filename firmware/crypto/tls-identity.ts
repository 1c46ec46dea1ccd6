/** The TLS key and certificate of a fresh appliance: P-256, self-signed, valid as long as X.509 can say. Contract section 2. */

import { ECPrivateKey } from '@peculiar/asn1-ecc'
import { PrivateKey, PrivateKeyInfo } from '@peculiar/asn1-pkcs8'
import { AsnConvert, OctetString } from '@peculiar/asn1-schema'
import {
  BasicConstraints,
  Certificate,
  Extension,
  Extensions,
  id_ce_basicConstraints,
  id_ce_keyUsage,
  KeyUsage,
  KeyUsageFlags,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509'
import { nameOf } from './csr.ts'
import { generateCurveKey, openCurveKey } from './curves.ts'
import { encodePem } from './pem.ts'
import { bufferOf, publicKeyInfo } from './public-key.ts'
import type { Random } from './random.ts'
import { signatureAlgorithm, signData } from './signature.ts'
import type { KeyPair } from './types.ts'

/** Both as PEM, ready for a TLS listener, whose OpenSSL keeps its own copy of the key. */
export interface TlsIdentity {
  key: string
  cert: string
}

/** The subject is one common name and nothing else. */
export async function makeTlsIdentity(random: Random, commonName = 'coffer'): Promise<TlsIdentity> {
  const pair = generateCurveKey('EC_P256', random)
  const signer = openCurveKey('EC_P256', pair.private, random)
  try {
    const tbsCertificate = toBeSigned(pair, commonName, random)
    const data = new Uint8Array(AsnConvert.serialize(tbsCertificate))
    const signature = await signData('EC_P256', data, async (mode, message) => signer.sign(mode, message))
    const certificate = new Certificate({
      tbsCertificate,
      signatureAlgorithm: signatureAlgorithm('EC_P256'),
      signatureValue: bufferOf(signature),
    })
    return {
      key: encodePem('PRIVATE KEY', pkcs8(pair)),
      cert: encodePem('CERTIFICATE', new Uint8Array(AsnConvert.serialize(certificate))),
    }
  } finally {
    signer.wipe()
    pair.private.fill(0)
  }
}

const NOT_BEFORE = new Date(0) // the first start may come before the clock is set
const NOT_AFTER = new Date(Date.UTC(9999, 11, 31, 23, 59, 59)) // RFC 5280 section 4.1.2.5: no well-defined end
const SERIAL_BYTES = 16

/** Version 3, because some TLS libraries refuse others. */
function toBeSigned(pair: KeyPair, commonName: string, random: Random): TBSCertificate {
  const name = nameOf({ commonName })
  const serial = random(SERIAL_BYTES)
  serial[0] = (serial[0]! & 0x7f) | 0x40 // positive, no leading zero
  return new TBSCertificate({
    version: Version.v3,
    serialNumber: bufferOf(serial),
    signature: signatureAlgorithm(pair.type),
    issuer: name,
    validity: new Validity({ notBefore: NOT_BEFORE, notAfter: NOT_AFTER }),
    subject: name,
    subjectPublicKeyInfo: publicKeyInfo(pair.type, pair.public),
    extensions: new Extensions([
      new Extension({
        extnID: id_ce_basicConstraints,
        critical: true,
        extnValue: new OctetString(AsnConvert.serialize(new BasicConstraints({ cA: false }))),
      }),
      new Extension({
        extnID: id_ce_keyUsage,
        critical: true,
        extnValue: new OctetString(AsnConvert.serialize(new KeyUsage(KeyUsageFlags.digitalSignature))),
      }),
    ]),
  })
}

/** RFC 5208 around RFC 5915. */
function pkcs8({ private: secret, public: publicKey }: KeyPair): Uint8Array {
  const { algorithm, subjectPublicKey } = publicKeyInfo('EC_P256', publicKey)
  const key = new ECPrivateKey({ privateKey: new OctetString(bufferOf(secret)), publicKey: subjectPublicKey })
  const info = new PrivateKeyInfo({
    version: 0,
    privateKeyAlgorithm: algorithm,
    privateKey: new PrivateKey(AsnConvert.serialize(key)),
  })
  return new Uint8Array(AsnConvert.serialize(info))
}
