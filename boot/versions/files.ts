/** A version on disk: its manifest, the manifest's signature, and exactly the files of the manifest. */

import { createHash } from 'node:crypto'
import {
  closeSync,
  fdatasyncSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { CofferError } from '../../firmware/base/error.ts'
import {
  MANIFEST,
  type Manifest,
  type ManifestMember,
  openManifest,
  SIGNATURE,
} from '../../firmware/release/manifest.ts'
import { syncDirectory, writeDurably } from '../base/files.ts'
import { SlotError } from './slot-error.ts'

export interface IncomingFiles {
  readonly manifest: Manifest
  /** Appends bytes to a file. Throws a SlotError if the manifest does not contain them. */
  write(name: string, bytes: Uint8Array): void
  /** Flushes all files, reads them back and verifies them. Throws a SlotError. */
  finish(): void
  close(): void
}

const FLUSH_BYTES = 8 * 1024 * 1024 // so that no flush takes long on a slow medium
const READ_BYTES = 1024 * 1024

export interface IncomingSteps {
  /** Called before any write. Throws a SlotError if this machine cannot accept the version. */
  admit(manifest: Manifest): void
  /** Called after all files are on disk and before they are read back. */
  settle?: (() => void) | undefined
  /** Block device for a member instead of a file, written from its beginning; null for a file. */
  deviceFor?: ((name: string) => string | null) | undefined
}

const inFiles = () => null

/**
 * Starts writing a version to `directory`, which is created anew. Throws a SlotError if the manifest is not signed with the
 * release key.
 */
export function openIncoming(
  directory: string,
  head: { manifest: Uint8Array; signature: Uint8Array },
  releaseKey: Uint8Array,
  { admit, settle, deviceFor = inFiles }: IncomingSteps,
): IncomingFiles {
  const manifest = verifiedManifest(head.manifest, head.signature, releaseKey)
  admit(manifest)
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const files = new Map<string, { descriptor: number; left: number; unflushed: number }>()
  const close = () => {
    for (const { descriptor } of files.values()) closeSync(descriptor)
    files.clear()
  }
  try {
    for (const { name, size } of manifest.members) {
      const device = deviceFor(name)
      const descriptor = device === null ? openSync(`${directory}/${name}`, 'wx', 0o600) : openSync(device, 'r+')
      files.set(name, { descriptor, left: size, unflushed: 0 })
    }
  } catch (error) {
    close()
    throw error
  }
  return {
    manifest,
    close,
    write: (name, bytes) => {
      const file = files.get(name)
      if (file === undefined || bytes.length > file.left) throw new SlotError('More was sent than the manifest names')
      for (let offset = 0; offset < bytes.length; ) offset += writeSync(file.descriptor, bytes, offset)
      file.left -= bytes.length
      file.unflushed += bytes.length
      if (file.unflushed >= FLUSH_BYTES) {
        fdatasyncSync(file.descriptor)
        file.unflushed = 0
      }
    },
    finish: () => {
      for (const { descriptor } of files.values()) fsyncSync(descriptor)
      close()
      writeDurably(`${directory}/${MANIFEST}`, head.manifest)
      writeDurably(`${directory}/${SIGNATURE}`, head.signature)
      syncDirectory(directory)
      settle?.()
      verifyVersion(directory, releaseKey, deviceFor)
    },
  }
}

/** Reads all files. Throws a SlotError unless they are exactly the released ones. */
export function verifyVersion(
  directory: string,
  releaseKey: Uint8Array,
  deviceFor: (name: string) => string | null = inFiles,
): Manifest {
  const manifest = verifiedManifest(
    readFileSync(`${directory}/${MANIFEST}`),
    readFileSync(`${directory}/${SIGNATURE}`),
    releaseKey,
  )
  const names = manifest.members.map(({ name }) => name)
  const expected = [MANIFEST, SIGNATURE, ...names.filter((name) => deviceFor(name) === null)].sort()
  const found = readdirSync(directory).sort()
  if (expected.join('\0') !== found.join('\0'))
    throw new SlotError('It does not contain the files that its manifest names')
  for (const member of manifest.members) {
    const device = deviceFor(member.name)
    const file = openSync(device ?? `${directory}/${member.name}`, 'r')
    try {
      if (device === null) verifySize(file, member)
      verifyContent(file, member)
    } finally {
      closeSync(file)
    }
  }
  return manifest
}

function verifiedManifest(bytes: Uint8Array, signature: Uint8Array, releaseKey: Uint8Array): Manifest {
  try {
    return openManifest(bytes, signature, releaseKey)
  } catch (error) {
    if (error instanceof CofferError) throw new SlotError(error.message)
    throw error
  }
}

function verifySize(file: number, { name, size }: ManifestMember): void {
  const found = fstatSync(file).size
  if (found !== size) throw new SlotError(`${name} has ${found} bytes on disk instead of ${size}`)
}

function verifyContent(file: number, { name, size, sha512 }: ManifestMember): void {
  const hash = createHash('sha512')
  const buffer = Buffer.allocUnsafe(Math.min(READ_BYTES, size))
  for (let left = size; left > 0; ) {
    const read = readSync(file, buffer, 0, Math.min(buffer.length, left), null)
    if (read === 0) throw new SlotError(`${name} could not be read to its end`)
    hash.update(buffer.subarray(0, read))
    left -= read
  }
  if (hash.digest('hex') !== sha512) throw new SlotError(`${name} was not stored as it was sent`)
}
