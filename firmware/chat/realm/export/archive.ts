/**
 * The archive of an export: a tar of its files, a manifest with the SHA-256 of each file, and a signature of the manifest. The signing key
 * is derived from the key of the chat's domain. tools/chat-verify.ts verifies archives.
 */

import { createHash } from 'node:crypto'
import { bytesToHex } from '@noble/hashes/utils.js'
import nacl from 'tweetnacl'
import { wipe } from '../../../base/secret.ts'
import { deriveSealKey } from '../../../crypto/seal.ts'
import type { ExportedFile } from './content.ts'
import { TAR_END, tarHeader, tarPadding } from './tar.ts'

export const MANIFEST = 'manifest.json'
export const SIGNATURE = 'manifest.sig'

export interface ExportManifest {
  format: 1
  organization: string
  url: string
  type: string
  /** Unix time in seconds. */
  time: number
  files: { name: string; size: number; sha256: string }[]
  /** Ed25519 public key in hex. */
  key: string
}

export interface ExportKey {
  /** In hex. */
  readonly publicKey: string
  /** Returns the signature in hex. */
  sign(bytes: Uint8Array): string
  close(): void
}

/** Derives the key from the chat's domain key, so it lasts as long as that one. */
export function createExportKey(chatKey: Uint8Array): ExportKey {
  const seed = deriveSealKey(chatKey, 'export signature')
  const { publicKey, secretKey } = nacl.sign.keyPair.fromSeed(seed)
  wipe(seed)
  return {
    publicKey: bytesToHex(publicKey),
    sign: (bytes) => bytesToHex(nacl.sign.detached(bytes, secretKey)),
    close: () => wipe(secretKey),
  }
}

export async function* archiveOf(
  files: AsyncIterable<ExportedFile>,
  about: Omit<ExportManifest, 'files' | 'key' | 'format'>,
  key: ExportKey,
): AsyncGenerator<Uint8Array> {
  const manifest: ExportManifest = { format: 1, ...about, files: [], key: key.publicKey }
  for await (const { name, size, chunks } of files) {
    yield tarHeader(name, size)
    const hash = createHash('sha256')
    for (const chunk of chunks) {
      hash.update(chunk)
      yield chunk
    }
    yield tarPadding(size)
    manifest.files.push({ name, size, sha256: hash.digest('hex') })
  }
  const text = Buffer.from(JSON.stringify(manifest))
  for (const [name, bytes] of [[MANIFEST, text] as const, [SIGNATURE, Buffer.from(key.sign(text))] as const]) {
    yield tarHeader(name, bytes.length)
    yield bytes
    yield tarPadding(bytes.length)
  }
  yield TAR_END
}
