/** Manifest and signature of a published release, for a build that reproduces it. */

import { createReadStream } from 'node:fs'
import { readArchive } from '../firmware/release/cpio.ts'
import { MANIFEST_BYTES_MAX, type Manifest, openManifest, SIGNATURE_BYTES } from '../firmware/release/manifest.ts'

export interface Published {
  manifest: Manifest
  /** Over the manifest's bytes, as they were made. */
  signature: Uint8Array
}

/** `path` is an update image. Throws when the key has not signed it. */
export async function readPublished(path: string, releaseKey: Uint8Array): Promise<Published> {
  const head: Buffer[] = []
  for await (const { size, content } of readArchive(createReadStream(path))) {
    if (size > Math.max(MANIFEST_BYTES_MAX, SIGNATURE_BYTES)) throw new Error(`${path} does not begin as updates do`)
    head.push(Buffer.concat(await Array.fromAsync(content)))
    if (head.length === 2) break
  }
  const [manifest, signature] = head
  if (manifest === undefined || signature === undefined) throw new Error(`${path} does not begin as updates do`)
  return { manifest: openManifest(manifest, signature, releaseKey), signature }
}

/** Throws with what has other bytes than the release. */
export function expectSame(published: Manifest, manifest: Uint8Array): void {
  const { members } = JSON.parse(Buffer.from(manifest).toString()) as Manifest
  for (const [index, { name, sha512 }] of published.members.entries())
    if (members[index]?.sha512 !== sha512)
      throw new Error(`${name} is not what was released: the sources or tools differ`)
}
