/** A disk after a power cut: what was flushed is there, of what came later any part. Made from a log of writes. */

import { closeSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs'
import type { Entry, WriteLog } from './write-log.ts'

type Chance = (bound: number) => number

interface Replay {
  /** Brings the disk to the last flush at or before this entry. Goes forward only. */
  flushedAt(last: number): void
  /** Pieces of the entries between that flush and this entry that the disk may hold: in order, some whole, some torn, some not. */
  kept(last: number, chance: Chance): Piece[]
  close(): void
}

export interface Piece {
  position: number
  data: Buffer
}

export interface Partition {
  start: number
  bytes: number
}

const SECTOR_BYTES = 512 // written whole or not at all by any disk
const COPY_BYTES = 1 << 20

/** `path` is the partition as it was before the log's first entry; it is changed. Writes beside the partition do not count. */
export function createReplay(log: WriteLog, { start, bytes }: Partition, path: string): Replay {
  const file = openSync(path, 'r+')
  const within = ({ position, bytes: length }: Entry) =>
    length > 0 && position >= start && position + length <= start + bytes
  let next = 0 // the first entry that is not on the disk
  const lastFlush = (last: number): number => {
    for (let i = last; i >= next; i--) if (log.entries[i]!.flush) return i
    return next - 1
  }
  return {
    flushedAt(last) {
      for (const flush = lastFlush(last); next <= flush; next++) {
        const entry = log.entries[next]!
        // With data of its own, a flush comes before them: they are not yet safe.
        if (next === flush && entry.bytes > 0) break
        if (within(entry)) writeSync(file, log.read(entry), 0, entry.bytes, entry.position - start)
      }
    },
    kept(last, chance) {
      const keepOf10 = [0, 1, 5, 9, 10][chance(5)]! // disks differ in how eagerly they write
      const pieces: Piece[] = []
      for (const entry of log.entries.slice(next, last + 1)) {
        if (!within(entry) || chance(10) >= keepOf10) continue
        const data = log.read(entry)
        const torn = chance(10) === 0
        for (let at = 0; at < data.length; at += torn ? SECTOR_BYTES : data.length) {
          if (torn && chance(2) === 0) continue
          const part = data.subarray(at, torn ? at + SECTOR_BYTES : data.length)
          pieces.push({ position: entry.position - start + at, data: part })
        }
      }
      return pieces
    },
    close: () => closeSync(file),
  }
}

export function writePieces(path: string, pieces: Piece[]): void {
  const file = openSync(path, 'r+')
  try {
    for (const { position, data } of pieces) writeSync(file, data, 0, data.length, position)
  } finally {
    closeSync(file)
  }
}

export function readBytes(path: string, position: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  const file = openSync(path, 'r')
  try {
    if (readSync(file, bytes, 0, length, position) !== length)
      throw new Error(`${path} ends before ${position + length}`)
    return bytes
  } finally {
    closeSync(file)
  }
}

/** Finds a partition by its name. GUID partition table: UEFI 2.10 section 5.3. */
export function findPartition(disk: string, name: string): Partition {
  const file = openSync(disk, 'r')
  try {
    const table = Buffer.alloc(34 * SECTOR_BYTES) // protective MBR, header, 128 entries
    readSync(file, table, 0, table.length, 0)
    if (table.toString('latin1', SECTOR_BYTES, SECTOR_BYTES + 8) !== 'EFI PART') throw new Error(`${disk} has no GPT`)
    for (let at = 2 * SECTOR_BYTES; at < table.length; at += 128) {
      if (table.toString('utf16le', at + 56, at + 128).replace(/\0.*$/s, '') !== name) continue
      const [first, last] = [table.readBigUInt64LE(at + 32), table.readBigUInt64LE(at + 40)]
      return { start: Number(first) * SECTOR_BYTES, bytes: Number(last - first + 1n) * SECTOR_BYTES }
    }
    throw new Error(`${disk} has no partition ${name}`)
  } finally {
    closeSync(file)
  }
}

export function copyPartition(disk: string, { start, bytes }: Partition, path: string): void {
  const [from, to] = [openSync(disk, 'r'), openSync(path, 'w')]
  try {
    const buffer = Buffer.alloc(COPY_BYTES)
    for (let at = 0; at < bytes; at += COPY_BYTES) {
      const length = readSync(from, buffer, 0, Math.min(COPY_BYTES, bytes - at), start + at)
      if (length > 0 && buffer.subarray(0, length).some((byte) => byte !== 0)) writeSync(to, buffer, 0, length, at)
    }
    ftruncateSync(to, bytes)
  } finally {
    closeSync(from)
    closeSync(to)
  }
}
