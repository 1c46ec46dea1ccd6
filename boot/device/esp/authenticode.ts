/**
 * Finds the signers of a UEFI program: Windows Authenticode Portable Executable Signature Format, as UEFI 2.10 section 32.2.4
 * uses it. Supports only algorithms that the UEFI firmware of every machine verifies: SHA-256, and RSA with PKCS #1 v1.5.
 */

import { hash, verify, X509Certificate } from 'node:crypto'
import { CofferError } from '../../../firmware/base/error.ts'
import { constructed, DerReader, TAG } from '../../../firmware/crypto/encoding/der.ts'
import type { PortableExecutable } from './portable-executable.ts'

const PKCS_SIGNED_DATA = 0x0002 // type of a WIN_CERTIFICATE
const REVISION = 0x0200
const HEADER_BYTES = 8
const SIGNED_DATA = '1.2.840.113549.1.7.2'
const INDIRECT_DATA = '1.3.6.1.4.1.311.2.1.4'
const MESSAGE_DIGEST = '1.2.840.113549.1.9.4'
const SHA256 = '2.16.840.1.101.3.4.2.1'

/** Returns the certificates of valid signatures of this program. Malformed signatures are ignored. */
export function findSigners(program: PortableExecutable): X509Certificate[] {
  const certificates = program.certificates()
  if (certificates.length === 0) return []
  const digest = program.sha256()
  return listSignatures(certificates).flatMap((signature) => {
    try {
      const signer = verifySignature(signature, digest)
      return signer === null ? [] : [signer]
    } catch (error) {
      if (error instanceof CofferError) return [] // not DER
      throw error
    }
  })
}

/** PKCS #7 messages of an attribute certificate table. Entries are aligned to eight bytes. */
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

/** RFC 2315 sections 9.1 and 9.2. Null if the signature is for other content. */
function verifySignature(message: Buffer, digest: Buffer): X509Certificate | null {
  const contentInfo = new DerReader(message).sequence()
  if (contentInfo.oid() !== SIGNED_DATA) return null
  const signedData = explicit(contentInfo).sequence()
  signedData.read(TAG.integer) // version
  signedData.read(TAG.set) // hash algorithms
  const content = signedData.sequence()
  if (content.oid() !== INDIRECT_DATA) return null
  const indirect = explicit(content).read(TAG.sequence)
  if (!namesDigest(indirect, digest)) return null

  const certificates = readCertificates(signedData.readOptional(constructed(0)))
  signedData.readOptional(constructed(1)) // revocation lists
  const signers = new DerReader(signedData.read(TAG.set))
  while (signers.hasMore()) {
    const signer = signers.sequence()
    signer.read(TAG.integer) // version
    signer.read(TAG.sequence) // issuer and serial number
    if (signer.sequence().oid() !== SHA256) continue
    // The signature covers a SET, for which the implicit tag stands.
    const signed = Buffer.from(signer.readWhole(constructed(0)))
    signed[0] = TAG.set
    if (!namesContent(new DerReader(signed).read(TAG.set), indirect)) continue
    signer.read(TAG.sequence) // RSA
    const encrypted = signer.read(TAG.octetString)
    const found = certificates.find(({ publicKey }) => verify('sha256', signed, publicKey, encrypted))
    if (found !== undefined) return found
  }
  return null
}

const explicit = (reader: DerReader): DerReader => new DerReader(reader.read(constructed(0)))

/** SpcIndirectDataContent: the kind of program, then the DigestInfo. */
function namesDigest(indirect: Uint8Array, digest: Buffer): boolean {
  const reader = new DerReader(indirect)
  reader.read(TAG.sequence)
  const digestInfo = reader.sequence()
  return digestInfo.sequence().oid() === SHA256 && digest.equals(digestInfo.read(TAG.octetString))
}

function namesContent(attributes: Uint8Array, indirect: Uint8Array): boolean {
  const digests: Uint8Array[] = []
  const reader = new DerReader(attributes)
  while (reader.hasMore()) {
    const attribute = reader.sequence()
    if (attribute.oid() !== MESSAGE_DIGEST) continue
    const values = new DerReader(attribute.read(TAG.set))
    while (values.hasMore()) digests.push(values.read(TAG.octetString))
  }
  const [digest, ...others] = digests
  return digest !== undefined && others.length === 0 && hash('sha256', indirect, 'buffer').equals(digest)
}

function readCertificates(bag: Uint8Array | undefined): X509Certificate[] {
  const certificates: X509Certificate[] = []
  const reader = new DerReader(bag ?? new Uint8Array(0))
  while (reader.hasMore()) certificates.push(...readCertificate(reader.readWhole(TAG.sequence)))
  return certificates
}

/** Empty if the bytes are no certificate, or one without an RSA key. */
export function readCertificate(der: Uint8Array): X509Certificate[] {
  try {
    const certificate = new X509Certificate(der)
    return certificate.publicKey.asymmetricKeyType === 'rsa' ? [certificate] : [] // the key is parsed here and may throw
  } catch {
    return []
  }
}
