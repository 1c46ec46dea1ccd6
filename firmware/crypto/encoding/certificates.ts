/**
 * Parses, checks and re-encodes uploaded certificates. RFC 5280 section 6.1 without its checks of time: the appliance's clock may
 * be wrong, and certificates may be installed before they are valid. Contract section 6.6.
 */

import { X509Certificate } from 'node:crypto'
import { AsnConvert } from '@peculiar/asn1-schema'
import { BasicConstraints, Certificate, id_ce_basicConstraints } from '@peculiar/asn1-x509'
import { CofferError } from '../../base/error.ts'
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

/** Compares names, key identifiers and purposes, and verifies the signature. */
export const isIssuedBy = (issued: X509Certificate, issuer: X509Certificate): boolean =>
  issuer.ca && issued.checkIssued(issuer) && verifies(issued, issuer)

export const isRoot = (certificate: X509Certificate): boolean => isIssuedBy(certificate, certificate)

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
    const { extensions = [] } = AsnConvert.parse(issuer.raw, Certificate).tbsCertificate
    const extension = extensions.find(({ extnID }) => extnID === id_ce_basicConstraints)
    if (extension === undefined) return 0
    return AsnConvert.parse(extension.extnValue.buffer, BasicConstraints).pathLenConstraint ?? Number.POSITIVE_INFINITY
  } catch {
    throw new CofferError('invalid', 'A certificate of the chain does not conform to RFC 5280')
  }
}
