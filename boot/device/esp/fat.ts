/**
 * Reads a FAT file system without the kernel, and removes names and clusters from it: damage of a power cut cannot be repaired
 * through a mount. FAT: General Overview of On-Disk Format (version 1.03).
 */

import { closeSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs'

export interface FatEntry {
  /** Path from the root, with slashes, in its original case. */
  path: string
  isDirectory: boolean
  size: number
  /** 0 if the file has no clusters. */
  firstCluster: number
  /** Positions of its records: those of the long name, then its own. */
  records: readonly number[]
}

export interface Fat {
  /** All names below the root, except inside directories that `skip` selects. */
  list(skip?: (path: string) => boolean): FatEntry[]
  /** Allocated clusters that neither these entries nor the root directory reach. */
  lost(entries: readonly FatEntry[]): number[]
  /** Removes the name, but not the content. */
  removeName(entry: FatEntry): void
  /** Frees clusters in all copies of the table, which are equal afterwards. */
  free(clusters: readonly number[]): void
  /** True if the copies of the table differ. The first one counts. */
  copiesDiffer(): boolean
  sync(): void
  close(): void
}

export class FatError extends Error {}

const RECORD_BYTES = 32
const REMOVED = 0xe5
const END = 0x00
const DIRECTORY = 0x10
const VOLUME_LABEL = 0x08
const LONG_NAME = 0x0f
const ENTRIES_MAX = 10_000 // an ESP has some dozens; this also ends a directory that contains itself
const CLUSTERS_FAT12 = 4085
const CLUSTERS_FAT16 = 65_525
const UNKNOWN = 0xffff_ffff
const FREE_RUN = 1024 // clusters checked at once: most are free, and an emulated processor would take a second to check all

/** Throws a FatError unless `path` is a FAT16 or FAT32 file system, or throws an error of the file system. */
export function openFat(path: string): Fat {
  const file = openSync(path, 'r+')
  try {
    return openFile(file)
  } catch (error) {
    closeSync(file)
    throw error
  }
}

function openFile(file: number): Fat {
  const shape = readShape(readAt(file, 0, 512))
  const { clusterBytes, clusters, entryBytes } = shape
  const table = readAt(file, shape.tableStart, shape.tableBytes)
  // Little-endian, as all supported processors. A version has some ten thousand clusters, and this code is interpreted.
  const links = entryBytes === 2 ? new Uint16Array(table.buffer) : new Uint32Array(table.buffer)
  const next = (cluster: number) => (links[cluster] ?? 0) & 0x0fff_ffff
  const zeros = new Uint8Array(FREE_RUN * entryBytes)
  const isCluster = (cluster: number) => cluster >= 2 && cluster < clusters + 2

  /** Ends at an invalid cluster or a loop. */
  function chain(first: number): number[] {
    const found: number[] = []
    const seen = new Set<number>()
    for (let cluster = first; isCluster(cluster) && !seen.has(cluster); cluster = next(cluster)) {
      seen.add(cluster)
      found.push(cluster)
    }
    return found
  }

  const clusterStart = (cluster: number) => shape.dataStart + (cluster - 2) * clusterBytes
  const rootExtents = () =>
    shape.rootCluster === null
      ? [{ start: shape.rootStart, bytes: shape.rootBytes }]
      : chain(shape.rootCluster).map((cluster) => ({ start: clusterStart(cluster), bytes: clusterBytes }))

  function listDirectory(extents: { start: number; bytes: number }[], directory: string): FatEntry[] {
    const entries: FatEntry[] = []
    let pieces: { text: string; at: number }[] = []
    for (const { start, bytes } of extents) {
      const records = readAt(file, start, bytes)
      for (let offset = 0; offset < bytes; offset += RECORD_BYTES) {
        const record = records.subarray(offset, offset + RECORD_BYTES)
        const [first, attributes] = [record.readUInt8(0), record.readUInt8(11)]
        if (first === END) return entries
        if (first !== REMOVED && (attributes & 0x3f) === LONG_NAME) {
          pieces.push({ text: longPiece(record), at: start + offset })
          continue
        }
        const long = pieces
        pieces = []
        if (first === REMOVED || attributes & VOLUME_LABEL || first === 0x2e) continue
        const name =
          long.length > 0
            ? [...long]
                .reverse()
                .map(({ text }) => text)
                .join('')
            : shortName(record)
        const high = entryBytes === 2 ? 0 : record.readUInt16LE(20)
        entries.push({
          path: `${directory}${name}`,
          isDirectory: (attributes & DIRECTORY) !== 0,
          size: record.readUInt32LE(28),
          firstCluster: high * 0x10000 + record.readUInt16LE(26),
          records: [...long.map(({ at }) => at), start + offset],
        })
        if (entries.length > ENTRIES_MAX) throw new FatError('a directory does not end')
      }
    }
    return entries
  }

  return {
    list: (skip = () => false) => {
      const found: FatEntry[] = []
      const waiting = listDirectory(rootExtents(), '')
      for (let entry = waiting.shift(); entry !== undefined; entry = waiting.shift()) {
        found.push(entry)
        if (found.length > ENTRIES_MAX) throw new FatError('the directories do not end')
        if (!entry.isDirectory || skip(entry.path)) continue
        const extents = chain(entry.firstCluster).map((cluster) => ({
          start: clusterStart(cluster),
          bytes: clusterBytes,
        }))
        waiting.push(...listDirectory(extents, `${entry.path}/`))
      }
      return found
    },
    lost: (entries) => {
      const reached = new Uint8Array(clusters + 2)
      for (const first of [shape.rootCluster ?? 0, ...entries.map(({ firstCluster }) => firstCluster)]) {
        for (let cluster = first; isCluster(cluster) && reached[cluster] === 0; cluster = next(cluster))
          reached[cluster] = 1
      }
      const found: number[] = []
      const bad = entryBytes === 2 ? 0xfff7 : 0x0fff_fff7
      for (let start = 0; start < clusters + 2; start += FREE_RUN) {
        const end = Math.min(start + FREE_RUN, clusters + 2)
        const run = table.subarray(start * entryBytes, end * entryBytes)
        if (run.equals(zeros.subarray(0, run.length))) continue
        for (let cluster = Math.max(start, 2); cluster < end; cluster++) {
          if (reached[cluster] === 1) continue
          const value = next(cluster)
          if (value !== 0 && value !== bad) found.push(cluster)
        }
      }
      return found
    },
    removeName: ({ records }) => {
      for (const at of records) writeAt(file, at, Uint8Array.of(REMOVED))
    },
    free: (freed) => {
      for (const cluster of freed) table.fill(0, cluster * entryBytes, (cluster + 1) * entryBytes)
      for (let copy = 0; copy < shape.tables; copy++) writeAt(file, shape.tableStart + copy * shape.tableBytes, table)
      // The hint of free clusters is wrong now.
      if (shape.hintAt !== null) writeAt(file, shape.hintAt, Uint8Array.of(...littleEndian(UNKNOWN)))
    },
    copiesDiffer: () =>
      Array.from({ length: shape.tables - 1 }, (_, copy) =>
        readAt(file, shape.tableStart + (copy + 1) * shape.tableBytes, shape.tableBytes),
      ).some((copy) => !copy.equals(table)),
    sync: () => fsyncSync(file),
    close: () => closeSync(file),
  }
}

interface Shape {
  clusterBytes: number
  clusters: number
  /** Bytes of a table entry: 2 or 4. */
  entryBytes: number
  tables: number
  tableStart: number
  tableBytes: number
  /** FAT32 stores its root directory as a chain of clusters. */
  rootCluster: number | null
  rootStart: number
  rootBytes: number
  dataStart: number
  /** Position of the number of free clusters. */
  hintAt: number | null
}

function readShape(boot: Buffer): Shape {
  const sectorBytes = boot.readUInt16LE(11)
  const clusterSectors = boot.readUInt8(13)
  const reserved = boot.readUInt16LE(14)
  const tables = boot.readUInt8(16)
  if (boot.readUInt16LE(510) !== 0xaa55 || ![512, 1024, 2048, 4096].includes(sectorBytes))
    throw new FatError('it holds no FAT file system')
  if (clusterSectors === 0 || reserved === 0 || tables === 0) throw new FatError('its FAT file system is damaged')
  const sectors = boot.readUInt16LE(19) || boot.readUInt32LE(32)
  const tableSectors = boot.readUInt16LE(22) || boot.readUInt32LE(36)
  const rootBytes = boot.readUInt16LE(17) * RECORD_BYTES
  const rootSectors = Math.ceil(rootBytes / sectorBytes)
  const dataSector = reserved + tables * tableSectors + rootSectors
  const clusters = Math.floor((sectors - dataSector) / clusterSectors)
  if (clusters < CLUSTERS_FAT12) throw new FatError('its FAT file system is of the smallest kind')
  const isFat32 = clusters >= CLUSTERS_FAT16
  const entryBytes = isFat32 ? 4 : 2
  const tableBytes = tableSectors * sectorBytes
  if (tableBytes < (clusters + 2) * entryBytes) throw new FatError('its FAT file system is damaged')
  return {
    clusterBytes: clusterSectors * sectorBytes,
    clusters,
    entryBytes,
    tables,
    tableStart: reserved * sectorBytes,
    tableBytes,
    rootCluster: isFat32 ? boot.readUInt32LE(44) : null,
    rootStart: (reserved + tables * tableSectors) * sectorBytes,
    rootBytes,
    dataStart: dataSector * sectorBytes,
    hintAt: isFat32 ? boot.readUInt16LE(48) * sectorBytes + 488 : null,
  }
}

/** At most thirteen characters. The last piece ends with NUL and padding. */
function longPiece(record: Buffer): string {
  const bytes = Buffer.concat([record.subarray(1, 11), record.subarray(14, 26), record.subarray(28, 32)])
  const text = bytes.toString('utf16le')
  const end = text.indexOf('\0')
  return end < 0 ? text : text.slice(0, end)
}

/** Windows uses the reserved byte to mark parts in lowercase. */
function shortName(record: Buffer): string {
  const part = (start: number, end: number, lowercase: number) => {
    const text = record.toString('latin1', start, end).trimEnd()
    return record.readUInt8(12) & lowercase ? text.toLowerCase() : text
  }
  const extension = part(8, 11, 0x10)
  return `${part(0, 8, 0x08)}${extension && '.'}${extension}`
}

const littleEndian = (value: number): number[] => [0, 8, 16, 24].map((bits) => (value >>> bits) & 0xff)

function readAt(file: number, position: number, bytes: number): Buffer {
  const buffer = Buffer.alloc(bytes)
  for (let offset = 0; offset < bytes; ) {
    const read = readSync(file, buffer, offset, bytes - offset, position + offset)
    if (read === 0) throw new FatError('its FAT file system is larger than its partition')
    offset += read
  }
  return buffer
}

function writeAt(file: number, position: number, bytes: Uint8Array): void {
  for (let offset = 0; offset < bytes.length; )
    offset += writeSync(file, bytes, offset, bytes.length - offset, position + offset)
}
