/** Splits a stream of bytes into chunks and writes several of them at once. */

import { CHUNK_BYTES, CHUNKS_AT_ONCE, type Files } from '../../store/files.ts'
import { IMAGE_HEADER_BYTES } from './images.ts'

interface ChunkWriter {
  /** Throws what `check` throws. */
  add(piece: Uint8Array): void
  /** `bytes`: total size; `head`: the first bytes, enough for `imageHeader`. */
  end(): { bytes: number; head: Uint8Array }
}

/** `check` runs before each write. `bytes`: the size so far. */
export function createChunkWriter(files: Files, id: number, check: (bytes: number) => void): ChunkWriter {
  const full: Uint8Array[] = []
  const head: Uint8Array[] = []
  let chunk = Buffer.alloc(CHUNK_BYTES)
  let filled = 0
  let written = 0
  let bytes = 0

  function close(): void {
    const whole = chunk.subarray(0, filled)
    full.push(whole)
    if (head.length * CHUNK_BYTES < IMAGE_HEADER_BYTES) head.push(whole)
    chunk = Buffer.alloc(CHUNK_BYTES)
    filled = 0
  }

  function write(): void {
    check(bytes)
    files.write(id, written, full)
    written += full.length
    full.length = 0
  }

  return {
    add(piece) {
      for (let at = 0; at < piece.length; ) {
        const part = piece.subarray(at, at + CHUNK_BYTES - filled)
        chunk.set(part, filled)
        at += part.length
        filled += part.length
        bytes += part.length
        if (filled === CHUNK_BYTES) close()
        if (full.length === CHUNKS_AT_ONCE) write()
      }
    },
    end() {
      if (filled > 0) close()
      if (full.length > 0) write()
      return { bytes, head: Buffer.concat(head) }
    },
  }
}
