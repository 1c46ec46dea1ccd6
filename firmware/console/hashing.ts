/** Hashes files of any size in pieces. WebCrypto would need the complete file in memory. */

import { createSha2, type Sha2Name } from '../client/sha2.ts'

const PIECE_BYTES = 4 << 20 // large enough to be fast, small enough to redraw in between

/** `progress` receives the number of bytes hashed. Throws the signal's reason when aborted. */
export async function digestOf(
  file: Blob,
  name: Sha2Name,
  progress: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const hash = createSha2(name)
  for (let at = 0; at < file.size; at += PIECE_BYTES) {
    signal.throwIfAborted()
    hash.update(new Uint8Array(await file.slice(at, at + PIECE_BYTES).arrayBuffer()))
    progress(Math.min(file.size, at + PIECE_BYTES))
  }
  return hash.digest()
}
