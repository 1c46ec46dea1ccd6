/**
 * What SQLite passes over at the end of a log. It takes a log up to the first frame that is not as it was written, which may
 * be where the power went; and where it is damage, all that was written after it is gone without a word. But a change is on
 * the disk before the next one is begun, so two of them behind such a place were never cut off by the power. SQLite,
 * "WAL-mode File Format".
 */

import { closeSync, openSync, readSync } from 'node:fs'

/** The same for every database here. */
const PAGE_BYTES = 4096
const HEADER_BYTES = 32
const HEADER_SALTS = 16
const FRAME_HEADER_BYTES = 24
const FRAME_COMMIT = 4
const FRAME_SALTS = 8

interface Frame {
  /** Whether it belongs to what the log says now; others are left of what it said before. */
  isCurrent: boolean
  /** The last one of a change. */
  isEnd: boolean
}

/** All frames that lie in the log, whether they are as they were written or not. */
export function readFrames(path: string): Frame[] {
  const descriptor = openSync(path, 'r')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    if (readSync(descriptor, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return []
    const salts = header.subarray(HEADER_SALTS, HEADER_SALTS + 8)
    const frames: Frame[] = []
    const frame = Buffer.alloc(FRAME_HEADER_BYTES)
    for (let at = HEADER_BYTES; ; at += FRAME_HEADER_BYTES + PAGE_BYTES) {
      if (readSync(descriptor, frame, 0, FRAME_HEADER_BYTES, at) < FRAME_HEADER_BYTES) return frames
      // Either of the two: the other may be what is damaged, here or in the header.
      const isCurrent = [0, 4].some((salt) => frame.readUInt32BE(FRAME_SALTS + salt) === salts.readUInt32BE(salt))
      frames.push({ isCurrent, isEnd: frame.readUInt32BE(FRAME_COMMIT) !== 0 })
    }
  } finally {
    closeSync(descriptor)
  }
}

export type LogEnd = 'whole' | 'cut off' | 'damaged'

/** `taken`: how many frames SQLite has taken from it. */
export function endOfLog(frames: readonly Frame[], taken: number): LogEnd {
  const passedOver = frames.slice(taken).filter(({ isCurrent }) => isCurrent)
  if (passedOver.length === 0) return 'whole'
  return passedOver.filter(({ isEnd }) => isEnd).length < 2 ? 'cut off' : 'damaged'
}
