/**
 * Distinguishes a power failure from damage at the end of a log. SQLite accepts a log up to the first invalid frame. That frame may be
 * where the power failed; if it is damage, all later changes are lost without notice. Each change is durable before the next one begins, so
 * two complete changes after the invalid frame prove damage. SQLite, "WAL-mode File Format".
 */

import { closeSync, openSync, readSync } from 'node:fs'

/** All databases here use this page size. */
const PAGE_BYTES = 4096
const HEADER_BYTES = 32
const HEADER_SALTS = 16
const FRAME_HEADER_BYTES = 24
const FRAME_COMMIT = 4
const FRAME_SALTS = 8

interface Frame {
  /** False for frames that remain from an earlier cycle of the log. */
  isCurrent: boolean
  isEnd: boolean
}

/** All frames in the log, valid or not. */
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
      // One matching salt is enough: the other one may be damaged, here or in the header.
      const isCurrent = [0, 4].some((salt) => frame.readUInt32BE(FRAME_SALTS + salt) === salts.readUInt32BE(salt))
      frames.push({ isCurrent, isEnd: frame.readUInt32BE(FRAME_COMMIT) !== 0 })
    }
  } finally {
    closeSync(descriptor)
  }
}

export type LogEnd = 'whole' | 'cut off' | 'damaged'

/** `taken`: number of frames that SQLite accepted. */
export function endOfLog(frames: readonly Frame[], taken: number): LogEnd {
  const passedOver = frames.slice(taken).filter(({ isCurrent }) => isCurrent)
  if (passedOver.length === 0) return 'whole'
  return passedOver.filter(({ isEnd }) => isEnd).length < 2 ? 'cut off' : 'damaged'
}
