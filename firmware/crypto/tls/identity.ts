/** TLS keys with self-signed certificates that never expire. Contract sections 2 and 3.4. */

import { createECDH, createHash, createPrivateKey, sign, X509Certificate } from 'node:crypto'
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
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { CURVES, isMlDsaKeyType } from '../algorithms.ts'
import { importCurveKey } from '../ec/private-key.ts'
import { alternativeNames, nameOf } from '../encoding/csr.ts'
import { parsePrivateKeyPem } from '../encoding/import-pem.ts'
import { encodePem, encodeSecretPem } from '../encoding/pem.ts'
import { encodePkcs8 } from '../encoding/pkcs8.ts'
import { bufferOf, publicKeyInfo } from '../encoding/public-key.ts'
import { signatureAlgorithm } from '../encoding/signature.ts'
import type { Random } from '../random.ts'
import { computeRsaKey, encodeRsaPrivateKey, wipeRsaKey } from '../rsa/encoding.ts'
import type { KeyPair } from '../types.ts'

/** Key and certificate in PEM for a TLS listener. Its OpenSSL has a copy of the key. */
export interface TlsIdentity {
  /** PKCS#8. */
  key: Uint8Array
  /** Certificate chain, leaf first. */
  cert: string
}

const COMMON_NAME = 'coffer'

/**
 * Identity of a new appliance: a P-256 key made by OpenSSL, which serves with it. Coffer's own curves would first compute tables
 * that this thread does not need otherwise.
 */
export async function makeTlsIdentity(
  random: Random,
  commonName = COMMON_NAME,
  names: readonly string[] = [],
  extensions: readonly Extension[] = [],
): Promise<TlsIdentity> {
  const pair = generatePair()
  const der = encodePkcs8(pair)
  try {
    const key = createPrivateKey({
      key: Buffer.from(der.buffer, der.byteOffset, der.length),
      format: 'der',
      type: 'pkcs8',
    })
    return await identityOf(pair, async (data) => sign('sha256', data, key), random, commonName, names, extensions)
  } finally {
    wipe(der, pair.private)
  }
}

function generatePair(): KeyPair {
  const curve = createECDH('prime256v1')
  const point = new Uint8Array(curve.generateKeys())
  const scalar = curve.getPrivateKey() // without leading zeros
  const padded = new Uint8Array(CURVES.EC_P256.fieldBytes)
  padded.set(scalar, padded.length - scalar.length)
  wipe(scalar)
  return { type: 'EC_P256', private: padded, public: { data: point } }
}

/**
 * Makes a certificate whose subject is only a common name. `signWith` signs with the key's `signatureAlgorithm`; `names` are in
 * the form of `alternativeNames`.
 */
export async function identityOf(
  pair: KeyPair,
  signWith: (data: Uint8Array) => Promise<Uint8Array>,
  random: Random,
  commonName = COMMON_NAME,
  names: readonly string[] = [],
  extensions: readonly Extension[] = [],
): Promise<TlsIdentity> {
  const tbsCertificate = toBeSigned(
    pair,
    commonName,
    [...(names.length === 0 ? [] : [alternativeNames(names)]), ...extensions],
    random,
  )
  const signature = await signWith(new Uint8Array(AsnConvert.serialize(tbsCertificate)))
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
    wipe(der)
  }
}

/** Key in the pool's form; the caller wipes its private part. */
export function keyPairOf({ key }: TlsIdentity): KeyPair {
  const file = parsePrivateKeyPem(key)
  if (file.type !== 'RSA') {
    try {
      if (isMlDsaKeyType(file.type)) throw new CofferError('storage', 'The stored TLS key is damaged')
      return importCurveKey(file.type, file.data)
    } finally {
      wipe(file.data)
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
    wipe(...Object.values(file).filter((value) => value instanceof Uint8Array))
  }
}

/** SHA-256 of the public key, as `curl --pinnedpubkey` takes it: RFC 7469 section 2.4. */
export function fingerprintOf({ cert }: TlsIdentity): string {
  const spki = new X509Certificate(cert).publicKey.export({ type: 'spki', format: 'der' })
  return `sha256//${createHash('sha256').update(spki).digest('base64')}`
}

/** True if Coffer made the certificate and no administrator installed it: checks the properties that all of these share. */
export function isSelfMade({ cert }: TlsIdentity): boolean {
  if (cert.split('BEGIN CERTIFICATE').length !== 2) return false
  const { subject, issuer, validFromDate, validToDate } = new X509Certificate(cert)
  const isEndless = validFromDate.getTime() === NOT_BEFORE.getTime() && validToDate.getTime() === NOT_AFTER.getTime()
  return subject === `CN=${COMMON_NAME}` && issuer === subject && isEndless
}

/** True if the certificate covers all names, in the form of `alternativeNames`. */
export function isFor({ cert }: TlsIdentity, names: readonly string[]): boolean {
  const certificate = new X509Certificate(cert)
  return names.every((name) =>
    name.startsWith('IP:')
      ? certificate.checkIP(name.slice(3)) !== undefined
      : certificate.checkHost(name, { subject: 'never' }) !== undefined,
  )
}

/** First DNS name of a certificate; null if it has none, or Coffer made it. */
export function certificateNameOf(identity: TlsIdentity): string | null {
  if (isSelfMade(identity)) return null
  const { subjectAltName = '' } = new X509Certificate(identity.cert)
  return /(?:^|, )DNS:([a-z0-9.-]{1,253})(?=,|$)/i.exec(subjectAltName)?.[1] ?? null
}

const ACME_IDENTIFIER = '1.3.6.1.5.5.7.1.31'

/** Marks the certificate of a challenge. `digest`: SHA-256 of the key authorization. RFC 8737 section 3. */
export const acmeIdentifier = (digest: Uint8Array): Extension =>
  new Extension({
    extnID: ACME_IDENTIFIER,
    critical: true,
    extnValue: new OctetString(AsnConvert.serialize(new OctetString(bufferOf(digest)))),
  })

const NOT_BEFORE = new Date(0) // the clock may not be set at the first start
const NOT_AFTER = new Date(Date.UTC(9999, 11, 31, 23, 59, 59)) // RFC 5280 section 4.1.2.5: no well-defined end
const SERIAL_BYTES = 16

/** Version 3, since some TLS libraries refuse other versions. */
function toBeSigned(
  pair: KeyPair,
  commonName: string,
  extensions: readonly Extension[],
  random: Random,
): TBSCertificate {
  const name = nameOf({ commonName })
  const serial = random(SERIAL_BYTES)
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40 // positive, no leading zero
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
      ...extensions,
    ]),
  })
}
