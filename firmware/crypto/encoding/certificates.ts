/**
 * Parses, checks and re-encodes uploaded certificates. RFC 5280 section 6.1 without its checks of time: the appliance's clock may
 * be wrong, and certificates may be installed before they are valid. Contract section 6.6.
 */

import { X509Certificate } from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import {
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_subjectAltName,
  SubjectAlternativeName,
} from '@peculiar/asn1-x509'
import { CofferError } from '../../base/error.ts'
import { canonicalIPv6 } from '../../base/ip-address.ts'
import { decodeBody, encodePem, splitPem } from './pem.ts'

const LABEL = 'CERTIFICATE'
const CERTIFICATES_MAX = 10 // authorities need three at most, and clients read all of them in each handshake

/** Returns the certificates of a PEM file in their order, at least one. Throws CofferError `invalid`. */
export function parseCertificates(pem: Uint8Array): X509Certificate[] {
  const blocks = splitPem(pem)
  if (blocks.length === 0) throw new CofferError('invalid', 'PEM: no certificate found')
  if (blocks.length > CERTIFICATES_MAX)
    throw new CofferError('invalid', `PEM: at most ${CERTIFICATES_MAX} certificates`)
  return blocks.map(({ label, body }) => {
    if (label !== LABEL) throw new CofferError('invalid', `PEM: only blocks of the type ${LABEL} are accepted`)
    return parse(decodeBody(body))
  })
}

/** Certificates in PEM between other text. Throws for a block that is no certificate. */
export const certificatesIn = (text: string): X509Certificate[] =>
  (text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []).map(
    (pem) => new X509Certificate(pem),
  )

export const encodeCertificates = (certificates: readonly X509Certificate[]): string =>
  certificates.map(({ raw }) => encodePem(LABEL, raw)).join('')

/** Throws CofferError `invalid` unless each certificate is issued by the next one. */
export function checkChain(certificates: readonly X509Certificate[]): void {
  for (const [i, issuer] of certificates.entries()) {
    const issued = certificates[i - 1]
    if (issued === undefined) continue
    if (!isIssuedBy(issued, issuer))
      throw new CofferError('invalid', `Certificate ${i} of the chain is not issued by the next one`)
    // There are i - 1 certificates between this authority and the leaf.
    if (pathLengthMax(issuer) < i - 1)
      throw new CofferError('invalid', `Certificate ${i + 1} of the chain does not allow a chain this long`)
  }
}

/** In milliseconds since 1970; NaN for dates that are none, such as month 99, which OpenSSL takes. */
export const lifeOf = ({ validFrom, validTo, validFromDate, validToDate }: X509Certificate) => ({
  startMs: isDate(validFrom) ? validFromDate.getTime() : Number.NaN,
  endMs: isDate(validTo) ? validToDate.getTime() : Number.NaN,
})

/** Node makes an arbitrary Date of what is none; the text says it. */
const isDate = (text: string): boolean => !Number.isNaN(Date.parse(text))

/** Throws CofferError `invalid` for dates that cannot be read. */
export function checkDates(certificates: readonly X509Certificate[]): void {
  for (const [i, certificate] of certificates.entries()) {
    const { startMs, endMs } = lifeOf(certificate)
    if (Number.isNaN(startMs + endMs))
      throw new CofferError('invalid', `The dates of certificate ${i + 1} cannot be read`)
  }
}

/** Compares names, key identifiers and purposes, and verifies the signature. */
export const isIssuedBy = (issued: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && issued.checkIssued(issuer) && verifies(issued, issuer)

export const isRoot = (certificate: X509Certificate): boolean => isIssuedBy(certificate, certificate)

/** DNS names in lower case and IP addresses in their canonical form; null if there are alternative names of another kind. */
export function namesOf(certificate: X509Certificate): string[] | null {
  const value = extensionOf(certificate, id_ce_subjectAltName)
  if (value === undefined) return []
  const names = AsnConvert.parse(value, SubjectAlternativeName).map(({ dNSName, iPAddress }) => {
    if (dNSName !== undefined) return dNSName.toLowerCase()
    return iPAddress === undefined ? null : canonicalAddress(iPAddress)
  })
  return names.every((name) => name !== null) ? names : null
}

const canonicalAddress = (address: string): string => (address.includes(':') ? canonicalIPv6(address) : address)

/** Identifier of RFC 9773 section 4.1; null for a certificate without the key identifier of its issuer. */
export function renewalIdOf(certificate: X509Certificate): string | null {
  const value = extensionOf(certificate, id_ce_authorityKeyIdentifier)
  const issuer = value && AsnConvert.parse(value, AuthorityKeyIdentifier).keyIdentifier?.buffer
  if (issuer === undefined) return null
  const { serialNumber } = AsnConvert.parse(certificate.raw, Certificate).tbsCertificate
  return [issuer, serialNumber].map((bytes) => Buffer.from(bytes).toString('base64url')).join('.')
}

function extensionOf(certificate: X509Certificate, id: string): ArrayBuffer | undefined {
  const { extensions = [] } = AsnConvert.parse(certificate.raw, Certificate).tbsCertificate
  return extensions.find(({ extnID }) => extnID === id)?.extnValue.buffer
}

function parse(der: Uint8Array): X509Certificate {
  let certificate: X509Certificate
  try {
    certificate = new X509Certificate(der)
  } catch {
    throw new CofferError('invalid', 'PEM: not a certificate')
  }
  // OpenSSL accepts non-minimal lengths and ignores trailing bytes.
  if (!certificate.raw.equals(der)) throw new CofferError('invalid', 'PEM: not exactly one certificate in DER')
  return certificate
}

/** False also for signature algorithms that OpenSSL does not support. */
function verifies(issued: X509Certificate, issuer: X509Certificate): boolean {
  try {
    return issued.verify(issuer.publicKey)
  } catch {
    return false
  }
}

function pathLengthMax(issuer: X509Certificate): number {
  try {
    const value = extensionOf(issuer, id_ce_basicConstraints)
    if (value === undefined) return 0
    return AsnConvert.parse(value, BasicConstraints).pathLenConstraint ?? Number.POSITIVE_INFINITY
  } catch {
    throw new CofferError('invalid', 'A certificate of the chain does not conform to RFC 5280')
  }
}
