/** The first two members of an update image: what it holds, and the signature of who released it. Contract section 9. */

import { ed25519 } from '@noble/curves/ed25519.js'
import * as z from 'zod'
import { CofferError } from '../base/error.ts'
import { matchSchema, parseUnambiguous } from '../base/json.ts'
import { isPlainName } from './cpio.ts'
import { isNewer, parseVersion } from './version.ts'

export const MANIFEST = 'manifest.json'
export const SIGNATURE = 'manifest.sig'
export const MANIFEST_BYTES_MAX = 64 * 1024 // release notes of a few pages, and the members
export const SIGNATURE_BYTES = 64 // RFC 8032 section 5.1.6

const MEMBERS_MAX = 16 // a bundle with an addon for each architecture, or kernel and initramfs, and room to grow
const PAYLOAD_BYTES_MAX = 512 * 1024 * 1024 // ten times what an image of the device needs
/** A whole image, with the headers of its members. */
export const IMAGE_BYTES_MAX = PAYLOAD_BYTES_MAX + 1024 * 1024
const PRODUCT_LENGTH_MAX = 64
const RELEASE_NOTES_LENGTH_MAX = 32 * 1024

const version = z
  .string()
  .refine((text) => parseVersion(text) !== null, 'not a version MAJOR.MINOR or MAJOR.MINOR.PATCH')

const member = z.strictObject({
  name: z
    .string()
    .refine(isPlainName, 'not a plain name')
    .refine((name) => name !== MANIFEST && name !== SIGNATURE, 'no payload may have this name'),
  size: z.int('not a whole number').min(0, 'negative').max(PAYLOAD_BYTES_MAX, `larger than ${PAYLOAD_BYTES_MAX} bytes`),
  sha512: z.string().regex(/^[0-9a-f]{128}$/, 'not a SHA-512 in lowercase hexadecimal'),
})

const members = z.strictObject({
  product: z.string().min(1, 'empty').max(PRODUCT_LENGTH_MAX, 'too long'),
  version,
  /** The oldest version this one may be installed over. */
  minimumVersion: version,
  /** Once this version is good, older ones than this are never taken again. */
  rollbackFloor: version.optional(),
  releaseNotes: z.string().max(RELEASE_NOTES_LENGTH_MAX, 'too long'),
  /** Every further member of the image, in its order. */
  members: z
    .array(member)
    .min(1, 'none')
    .max(MEMBERS_MAX, `more than ${MEMBERS_MAX}`)
    .refine((members) => new Set(members.map(({ name }) => name)).size === members.length, 'a name appears twice')
    .refine((members) => payloadBytes(members) <= PAYLOAD_BYTES_MAX, `together larger than ${PAYLOAD_BYTES_MAX} bytes`),
})

const manifest = members.refine(
  ({ version, rollbackFloor }) => rollbackFloor === undefined || !isNewer(rollbackFloor, version),
  { path: ['rollbackFloor'], message: 'newer than the version itself' },
)

export type Manifest = z.infer<typeof manifest>
export type ManifestMember = Manifest['members'][number]

const payloadBytes = (members: readonly { size: number }[]): number =>
  members.reduce((bytes, { size }) => bytes + size, 0)

/** Verifies the signature over the exact bytes before it looks into them. Throws `invalid`. */
export function openManifest(bytes: Uint8Array, signature: Uint8Array, releaseKey: Uint8Array): Manifest {
  if (!isSigned(bytes, signature, releaseKey))
    throw new CofferError('invalid', 'The manifest is not signed by the release key of this appliance')
  return parseManifest(bytes)
}

function isSigned(bytes: Uint8Array, signature: Uint8Array, releaseKey: Uint8Array): boolean {
  try {
    return ed25519.verify(signature, bytes, releaseKey, { zip215: false }) // strict: RFC 8032 and FIPS 186-5
  } catch {
    return false
  }
}

function parseManifest(bytes: Uint8Array): Manifest {
  let value: unknown
  try {
    value = parseUnambiguous(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch {
    throw new CofferError('invalid', 'The manifest is not JSON in UTF-8, or names a member twice')
  }
  // Within an object, so that every message names the manifest.
  return matchSchema(z.strictObject({ manifest }), { manifest: value }, 'manifest').manifest
}
