/** Programs that the UEFI firmware starts while Secure Boot is on: UEFI 2.10, sections 32.4.1 and 32.5.3.3. */

import type { X509Certificate } from 'node:crypto'
import { SlotError } from '../../versions/slot-error.ts'
import { findSigners, readCertificate } from './authenticode.ts'
import type { ReadVariable } from './efi-variables.ts'
import type { PortableExecutable } from './portable-executable.ts'

export interface SecureBootState {
  allowed: SignatureList
  forbidden: SignatureList
}

interface SignatureList {
  certificates: X509Certificate[]
  /** SHA-256 of programs, lowercase hexadecimal. */
  hashes: Set<string>
}

const GLOBAL = '8be4df61-93ca-11d2-aa0d-00e098032b8c'
const SECURITY_DATABASE = 'd719b2cb-3d3a-4596-a3bc-dad00e67656f'
const X509_LIST = 'a159c0a5e494a74a87b5ab155c2bf072' // a5c059a1-94e4-4aa7-87b5-ab155c2bf072 in its stored form
const SHA256_LIST = '2616c4c14c509240aca941f936934328' // c1c41626-504c-4092-aca9-41f936934328
const LIST_HEADER_BYTES = 28
const OWNER_BYTES = 16

/** Null if Secure Boot is off. */
export function readSecureBoot(read: ReadVariable): SecureBootState | null {
  if (read('SecureBoot', GLOBAL)?.[0] !== 1) return null
  return {
    allowed: parseSignatureLists(read('db', SECURITY_DATABASE)),
    forbidden: parseSignatureLists(read('dbx', SECURITY_DATABASE)),
  }
}

/**
 * Throws a SlotError unless the UEFI firmware would start the program. Its signer must be in the database, or be certified by an
 * authority in it. Longer chains are refused, although firmware may accept them.
 */
export function refuseUnsigned(program: PortableExecutable, { allowed, forbidden }: SecureBootState): void {
  const hash = program.sha256().toString('hex')
  if (forbidden.hashes.has(hash)) throw new SlotError('The Secure Boot settings of this machine forbid the image')
  if (allowed.hashes.has(hash)) return
  const signers = findSigners(program).filter(
    (signer) => !forbidden.certificates.some((other) => stands(signer, other)),
  )
  if (signers.length === 0) throw new SlotError('The image is not signed for Secure Boot, or was changed afterwards')
  if (!signers.some((signer) => allowed.certificates.some((authority) => stands(signer, authority))))
    throw new SlotError('The image is signed for Secure Boot, but not by anyone this machine trusts')
}

/** Ignores the validity times of certificates, as UEFI firmware does. */
const stands = (signer: X509Certificate, authority: X509Certificate): boolean =>
  signer.raw.equals(authority.raw) || (signer.checkIssued(authority) && signer.verify(authority.publicKey))

/** Ignores lists of other kinds and truncated ones. */
export function parseSignatureLists(value: Uint8Array | null): SignatureList {
  const found: SignatureList = { certificates: [], hashes: new Set() }
  const bytes = Buffer.from(value ?? [])
  for (let at = 0; at + LIST_HEADER_BYTES <= bytes.length; ) {
    const listBytes = bytes.readUInt32LE(at + 16)
    const [headerBytes, entryBytes] = [bytes.readUInt32LE(at + 20), bytes.readUInt32LE(at + 24)]
    if (listBytes < LIST_HEADER_BYTES || at + listBytes > bytes.length || entryBytes <= OWNER_BYTES) break
    const kind = bytes.toString('hex', at, at + 16)
    const end = at + listBytes
    for (let entry = at + LIST_HEADER_BYTES + headerBytes; entry + entryBytes <= end; entry += entryBytes) {
      const data = bytes.subarray(entry + OWNER_BYTES, entry + entryBytes)
      if (kind === X509_LIST) found.certificates.push(...readCertificate(data))
      else if (kind === SHA256_LIST) found.hashes.add(data.toString('hex'))
    }
    at = end
  }
  return found
}
