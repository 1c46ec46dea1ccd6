/**
 * Logs of everything a disk was told, in their order. The format is that of Linux's dm-log-writes, which QEMU's
 * blklogwrites writes too (Documentation/admin-guide/device-mapper/log-writes.rst).
 */

import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

export interface Entry {
  /** The disk says so only when all that it was given before is safe. */
  flush: boolean
  /** Offset of the bytes; zero bytes for a flush alone. */
  position: number
  bytes: number
  /** In the log: where the data begins, and where the next entry does. */
  data: number
  end: number
}

export interface WriteLog {
  entries: Entry[]
  read(entry: Entry): Buffer
  close(): void
}

const MAGIC = 0x6a736677736872n
const VERSION = 1n
const HEADER_BYTES = 32 // sector, number of sectors, flags, bytes of a mark; then zeros up to the next sector
const FLAG_FLUSH = 1n
const FLAG_FUA = 2n
const FLAG_DISCARD = 4n
const FLAGS_KNOWN = FLAG_FLUSH | FLAG_FUA | FLAG_DISCARD

/** The writer may have been killed: an entry that is not whole ends the log. */
export function openWriteLog(path: string): WriteLog {
  const file = openSync(path, 'r')
  const size = fstatSync(file).size
  const readAt = (position: number, bytes: number): Buffer => {
    const buffer = Buffer.alloc(bytes)
    if (readSync(file, buffer, 0, bytes, position) !== bytes) throw new Error(`${path} ends before ${position + bytes}`)
    return buffer
  }
  const sectorBytes = readSuper(readAt(0, HEADER_BYTES), path)
  const entries: Entry[] = []
  for (let at = sectorBytes; at + sectorBytes <= size; ) {
    const entry = readEntry(readAt(at, HEADER_BYTES), at, sectorBytes)
    if (entry === null || entry.end > size) break
    entries.push(entry)
    at = entry.end
  }
  return {
    entries,
    read: ({ data, bytes }) => readAt(data, bytes),
    close: () => closeSync(file),
  }
}

/** The number of entries that it holds is brought up to date now and then only, and not used. */
function readSuper(header: Buffer, path: string): number {
  if (header.readBigUInt64LE(0) !== MAGIC || header.readBigUInt64LE(8) !== VERSION)
    throw new Error(`${path} is no log of writes`)
  return header.readUInt32LE(24)
}

/** Null for zeros: room of an entry that was still being written. */
function readEntry(header: Buffer, at: number, sectorBytes: number): Entry | null {
  const [sector, sectors, flags] = [0, 8, 16].map((offset) => header.readBigUInt64LE(offset)) as [
    bigint,
    bigint,
    bigint,
  ]
  if (sectors === 0n && flags === 0n) return null
  // A discarded block may hold anything or what it held; nothing here relies on it. A forced write would need a rule of its own.
  if ((flags & ~FLAGS_KNOWN) !== 0n || (flags & FLAG_FUA) !== 0n) throw new Error(`flags ${flags} at ${at} of the log`)
  const discard = (flags & FLAG_DISCARD) !== 0n
  const bytes = discard ? 0 : Number(sectors) * sectorBytes
  const start = at + sectorBytes
  return {
    flush: (flags & FLAG_FLUSH) !== 0n,
    position: Number(sector) * sectorBytes,
    bytes,
    data: start,
    end: start + bytes,
  }
}
