/** Reads and shortens programs: 64-bit little-endian ELF files, elf(5). */

import { defined } from '../firmware/base/defined.ts'

const MAGIC = Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]) // ELF, 64 bits, little-endian
// Where the header says it.
const SEGMENT_TABLE = 0x20
const SECTION_TABLE = 0x28
const SEGMENT_COUNT = 0x38
const SECTION_COUNTS = 0x3a

const SEGMENT_BYTES = 56
const DYNAMIC_BYTES = 16
const PT_LOAD = 1
const PT_DYNAMIC = 2
const DT_NEEDED = 1
const DT_STRTAB = 5

/** The shared libraries a program asks for; none for a static program, and for what is no program. */
export function neededLibraries(file: Buffer): string[] {
  if (!file.subarray(0, MAGIC.length).equals(MAGIC)) return []
  const segments = segmentsOf(file)
  const dynamic = segments.find(({ type }) => type === PT_DYNAMIC)
  if (dynamic === undefined) return []
  const entries = Array.from({ length: dynamic.bytes / DYNAMIC_BYTES }, (_, index) => {
    const at = dynamic.offset + index * DYNAMIC_BYTES
    return { tag: number(file, at), value: number(file, at + 8) }
  })
  const names = defined(entries.find(({ tag }) => tag === DT_STRTAB)).value
  const segment = defined(segments.find((s) => s.type === PT_LOAD && names >= s.address && names < s.address + s.bytes))
  const start = names - segment.address + segment.offset
  return entries.filter(({ tag }) => tag === DT_NEEDED).map(({ value }) => text(file, start + value))
}

/**
 * The program without its symbols and debugging sections. A program runs from its segments alone; linkers write what
 * no segment holds behind them, and the section table, which then describes nothing any more, last.
 */
export function stripped(file: Buffer): Buffer {
  const end = Math.max(...segmentsOf(file).map(({ offset, bytes }) => offset + bytes))
  const copy = Buffer.from(file.subarray(0, end))
  copy.writeBigUInt64LE(0n, SECTION_TABLE)
  copy.fill(0, SECTION_COUNTS, SECTION_COUNTS + 6) // size of an entry, number of entries, which one holds the names
  return copy
}

interface Segment {
  type: number
  offset: number
  address: number
  /** In the file; zeros follow in memory. */
  bytes: number
}

function segmentsOf(file: Buffer): Segment[] {
  const table = number(file, SEGMENT_TABLE)
  return Array.from({ length: file.readUInt16LE(SEGMENT_COUNT) }, (_, index) => {
    const at = table + index * SEGMENT_BYTES
    const [offset, address, bytes] = [number(file, at + 8), number(file, at + 16), number(file, at + 32)]
    return { type: file.readUInt32LE(at), offset, address, bytes }
  })
}

// Tags beyond 2^53 (of the operating system's own range) lose their low bits here; none of ours is one of them.
const number = (file: Buffer, at: number): number => Number(file.readBigUInt64LE(at))

const text = (file: Buffer, at: number): string => file.toString('latin1', at, file.indexOf(0, at))
