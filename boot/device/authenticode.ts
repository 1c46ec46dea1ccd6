/**
 * Who signed a UEFI program: Windows Authenticode Portable Executable Signature Format, as UEFI 2.10 section 32.2.4 uses
 * it. Only what the firmware of every machine verifies: SHA-256, and RSA with PKCS #1 v1.5.
 */

import { hash, verify, X509Certificate } from 'node:crypto'
import { contentOf, DerError, OCTET_STRING, oidOf, readAll, readFirst, SEQUENCE, SET, tagged, within } from './der.ts'
import type { PortableExecutable } from './portable-executable.ts'

const PKCS_SIGNED_DATA = 0x0002 // of a WIN_CERTIFICATE
const REVISION = 0x0200
const HEADER_BYTES = 8
const SIGNED_DATA = '1.2.840.113549.1.7.2'
const INDIRECT_DATA = '1.3.6.1.4.1.311.2.1.4'
const MESSAGE_DIGEST = '1.2.840.113549.1.9.4'
const SHA256 = '2.16.840.1.101.3.4.2.1'

/** The certificates that have signed this program as it is; a signature that is not in order counts as none. */
export function findSigners(program: PortableExecutable): X509Certificate[] {
  const certificates = program.certificates()
  if (certificates.length === 0) return []
  const digest = program.sha256()
  return listSignatures(certificates).flatMap((signature) => {
    try {
      const signer = verifySignature(signature, digest)
      return signer === null ? [] : [signer]
    } catch (error) {
      if (error instanceof DerError) return []
      throw error
    }
  })
}

/** The PKCS #7 messages of an attribute certificate table; each entry begins at a multiple of eight. */
function listSignatures(table: Buffer): Buffer[] {
  const found: Buffer[] = []
  for (let at = 0; at + HEADER_BYTES <= table.length; ) {
    const bytes = table.readUInt32LE(at)
    if (bytes < HEADER_BYTES || at + bytes > table.length) break
    if (table.readUInt16LE(at + 4) === REVISION && table.readUInt16LE(at + 6) === PKCS_SIGNED_DATA)
      found.push(table.subarray(at + HEADER_BYTES, at + bytes))
    at += (bytes + 7) & ~7
  }
  return found
}

/** RFC 2315 sections 9.1 and 9.2. Null when it is a signature of something else. */
function verifySignature(message: Buffer, digest: Buffer): X509Certificate | null {
  const [type, explicit] = within(readFirst(message), SEQUENCE)
  if (oidOf(type) !== SIGNED_DATA) return null
  const signedData = within(within(explicit, tagged(0))[0], SEQUENCE)
  const [contentType, content] = within(signedData[2], SEQUENCE)
  if (oidOf(contentType) !== INDIRECT_DATA) return null
  const indirect = contentOf(within(content, tagged(0))[0], SEQUENCE)
  if (!namesDigest(indirect, digest)) return null

  const bag = signedData.find(({ tag }) => tag === tagged(0))
  const certificates = bag === undefined ? [] : readAll(bag.content).flatMap(({ whole }) => readCertificate(whole))
  for (const signer of within(signedData.at(-1), SET)) {
    const [, , algorithm, attributes, , signature] = within(signer, SEQUENCE)
    if (oidOf(within(algorithm, SEQUENCE)[0]) !== SHA256) continue
    if (!namesContent(contentOf(attributes, tagged(0)), indirect)) continue
    // What is signed is the SET that the tag stands for.
    const signed = Buffer.from(attributes!.whole)
    signed[0] = SET
    const encrypted = contentOf(signature, OCTET_STRING)
    const found = certificates.find(({ publicKey }) => verify('sha256', signed, publicKey, encrypted))
    if (found !== undefined) return found
  }
  return null
}

/** SpcIndirectDataContent: what kind of program, then the DigestInfo. */
function namesDigest(indirect: Buffer, digest: Buffer): boolean {
  const [algorithm, value] = within(readAll(indirect)[1], SEQUENCE)
  return oidOf(within(algorithm, SEQUENCE)[0]) === SHA256 && contentOf(value, OCTET_STRING).equals(digest)
}

function namesContent(attributes: Buffer, indirect: Buffer): boolean {
  const digests = readAll(attributes).flatMap((attribute) => {
    const [type, values] = within(attribute, SEQUENCE)
    return oidOf(type) === MESSAGE_DIGEST ? within(values, SET) : []
  })
  return digests.length === 1 && contentOf(digests[0], OCTET_STRING).equals(hash('sha256', indirect, 'buffer'))
}

/** Empty for what is none, or has no key that we can use. */
export function readCertificate(der: Buffer): X509Certificate[] {
  try {
    const certificate = new X509Certificate(der)
    return certificate.publicKey.asymmetricKeyType === 'rsa' ? [certificate] : [] // its key is read at this moment
  } catch {
    return []
  }
}
