/** TLS keys with a certificate they sign themselves, valid as long as X.509 can say. Contract sections 2 and 3.4. */

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
import { CofferError } from '../error.ts'
import { nameOf } from './csr.ts'
import { generateCurveKey, importCurveKey, openCurveKey } from './curves.ts'
import { parsePrivateKeyPem } from './import-pem.ts'
import { encodePem, encodeSecretPem } from './pem.ts'
import { encodePkcs8 } from './pkcs8.ts'
import { bufferOf, publicKeyInfo } from './public-key.ts'
import type { Random } from './random.ts'
import { computeRsaKey, encodeRsaPrivateKey, wipeRsaKey } from './rsa-key.ts'
import { type Sign, signatureAlgorithm, signData } from './signature.ts'
import type { KeyPair } from './types.ts'

/** Both as PEM, ready for a TLS listener, whose OpenSSL keeps its own copy of the key. */
export interface TlsIdentity {
  /** PKCS#8. */
  key: Uint8Array
  /** Leaf first. */
  cert: string
}

const COMMON_NAME = 'coffer'

/** The identity of a fresh appliance: P-256. */
export async function makeTlsIdentity(random: Random, commonName = COMMON_NAME): Promise<TlsIdentity> {
  const pair = generateCurveKey('EC_P256', random)
  const signer = openCurveKey('EC_P256', pair.private, random)
  try {
    return await identityOf(pair, async (mode, message) => signer.sign(mode, message), random, commonName)
  } finally {
    signer.wipe()
    pair.private.fill(0)
  }
}

/** The key, which `sign` signs with, and a certificate whose subject is one common name and nothing else. */
export async function identityOf(
  pair: KeyPair,
  sign: Sign,
  random: Random,
  commonName = COMMON_NAME,
): Promise<TlsIdentity> {
  const tbsCertificate = toBeSigned(pair, commonName, random)
  const signature = await signData(pair.type, new Uint8Array(AsnConvert.serialize(tbsCertificate)), sign)
  const certificate = new Certificate({
    tbsCertificate,
    signatureAlgorithm: signatureAlgorithm(pair.type),
    signatureValue: bufferOf(signature),
  })
  const der = encodePkcs8(pair)
  try {
    return {
      key: encodeSecretPem('PRIVATE KEY', der),
      cert: encodePem('CERTIFICATE', new Uint8Array(AsnConvert.serialize(certificate))),
    }
  } finally {
    der.fill(0)
  }
}

/** The key as the pool takes it; the caller wipes its private part. */
export function keyPairOf({ key }: TlsIdentity): KeyPair {
  const file = parsePrivateKeyPem(key)
  if (file.type !== 'RSA') {
    try {
      return importCurveKey(file.type, file.data)
    } finally {
      file.data.fill(0)
    }
  }
  const { primeP, primeQ, publicExponent } = file
  const rsa = computeRsaKey(primeP, primeQ, publicExponent)
  try {
    if (rsa === null) throw new CofferError('storage', 'The stored TLS key is damaged')
    const { n, e } = rsa
    return {
      type: 'RSA',
      private: encodeRsaPrivateKey(rsa),
      public: { modulus: n.slice(), publicExponent: e.slice() },
    }
  } finally {
    if (rsa !== null) wipeRsaKey(rsa)
    primeP.fill(0)
    primeQ.fill(0)
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
