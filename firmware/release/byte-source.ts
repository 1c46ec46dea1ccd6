/** A stream of chunks, read by the number of bytes wanted. Holds one chunk at a time. */

export interface ByteSource {
  /** Exactly `bytes`, or fewer at the end of the stream. For small numbers only: they are collected. */
  take(bytes: number): Promise<Uint8Array>
  /** The next one or more bytes, at most `bytesMax`; null at the end of the stream. */
  next(bytesMax: number): Promise<Uint8Array | null>
  /** Lets go of the stream. */
  close(): Promise<void>
}

export function byteSource(chunks: AsyncIterable<Uint8Array>): ByteSource {
  const iterator = chunks[Symbol.asyncIterator]()
  let chunk: Uint8Array = new Uint8Array()

  async function next(bytesMax: number): Promise<Uint8Array | null> {
    while (chunk.length === 0) {
      const result = await iterator.next()
      if (result.done) return null
      chunk = result.value
    }
    const piece = chunk.subarray(0, bytesMax)
    chunk = chunk.subarray(piece.length)
    return piece
  }

  async function take(bytes: number): Promise<Uint8Array> {
    const taken = new Uint8Array(bytes)
    let length = 0
    while (length < bytes) {
      const piece = await next(bytes - length)
      if (piece === null) return taken.subarray(0, length)
      taken.set(piece, length)
      length += piece.length
    }
    return taken
  }

  return { take, next, close: async () => void (await iterator.return?.()) }
}
