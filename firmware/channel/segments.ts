/**
 * Bytes between the firmware and one process after another, such as the chat, on a pipe that outlives each of them. They travel in
 * segments: the number of the process's life and the number of bytes (32 bits each, big endian), then the bytes. So bytes that were
 * meant for a process that has ended, or came from it, never reach the next one, and nobody looks into the bytes for that.
 * From the boot manager, an empty segment begins a life, and another one ends it.
 */

import { FrameError } from './frames.ts'

const SEGMENT_HEAD_BYTES = 8
export const SEGMENT_BYTES_MAX = 64 * 1024 // what a pipe holds at once

export function segmentHead(life: number, bytes: number): Buffer {
  const head = Buffer.alloc(SEGMENT_HEAD_BYTES)
  head.writeUInt32BE(life, 0)
  head.writeUInt32BE(bytes, 4)
  return head
}

/** No more than one segment holds, in order; none for no bytes. */
export function* segmentsOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += SEGMENT_BYTES_MAX) yield bytes.subarray(at, at + SEGMENT_BYTES_MAX)
}

/**
 * Gives `take` what comes as it comes, pieces of segments included, and empty ones by themselves. Throws a FrameError when
 * one says that it is longer than any is.
 */
export function createSegmentReader(take: (life: number, bytes: Uint8Array) => void): (chunk: Uint8Array) => void {
  const head = Buffer.alloc(SEGMENT_HEAD_BYTES)
  let filled = 0
  let life = 0
  let left = 0
  return (chunk) => {
    for (let at = 0; at < chunk.length; ) {
      if (left > 0) {
        const piece = chunk.subarray(at, at + left)
        left -= piece.length
        at += piece.length
        take(life, piece)
        continue
      }
      const part = chunk.subarray(at, at + SEGMENT_HEAD_BYTES - filled)
      head.set(part, filled)
      filled += part.length
      at += part.length
      if (filled < SEGMENT_HEAD_BYTES) return
      filled = 0
      life = head.readUInt32BE(0)
      left = head.readUInt32BE(4)
      if (left > SEGMENT_BYTES_MAX) throw new FrameError(`a segment has more than ${SEGMENT_BYTES_MAX} bytes`)
      if (left === 0) take(life, new Uint8Array(0))
    }
  }
}
