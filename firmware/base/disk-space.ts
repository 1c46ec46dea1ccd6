/**
 * Free space on the disk, and which writers may still use it. Writers that only add something are refused early, so that a
 * reserve remains for what has to go on: signing, the audit log, deletion, settings, lock, restart and factory reset. KMS
 * contract section 1.6, chat contract section 1.4.
 */

import { statfsSync } from 'node:fs'
import { CofferError } from './error.ts'

const MIB = 1024 * 1024

/**
 * A writer is refused while less than this is free: a share of the disk, and at most so many bytes. The lowest floor is the
 * reserve. It holds an audit log of the default size (three kinds of 25 MB) and the logs of the databases; the growth of a
 * larger audit log is added to every floor. Files of the chat stop first, then its messages and what administrators of namespaces add, so that none of them keeps root from adding.
 */
const FLOORS = {
  /** Uploads and exports of the chat. */
  files: { share: 1 / 4, bytesMax: 512 * MIB },
  /** Everything else that users of the chat add. */
  messages: { share: 3 / 16, bytesMax: 384 * MIB },
  /** Keys and users of namespaces. */
  namespaces: { share: 3 / 16, bytesMax: 384 * MIB },
  /** Other keys and users, namespaces, and uploaded backups. */
  records: { share: 1 / 8, bytesMax: 256 * MIB },
} as const satisfies Record<string, { share: number; bytesMax: number }>

export type DiskWriter = keyof typeof FLOORS
const WRITERS = Object.keys(FLOORS) as readonly DiskWriter[]

const NAMES: Record<DiskWriter, string> = {
  files: 'files of the chat',
  messages: 'messages of the chat',
  namespaces: 'keys and users of namespaces',
  records: 'all new keys, users and namespaces',
}

/** An audit log from a larger disk must not stop every writer: its growth raises the floors by at most this share of the disk. */
const GROWTH_SHARE_MAX = 1 / 2

/** Some file systems have no size of their own, as those of a network, and say 0. */
const UNKNOWN: DiskUsage = { totalBytes: Number.MAX_SAFE_INTEGER, freeBytes: Number.MAX_SAFE_INTEGER }

/** Share of the reserve below which the disk counts as full: soon the audit log cannot be written. */
const FULL_SHARE = 1 / 4

/**
 * Free pages of a database count as free space, but for at most this share of the floor: new content goes through the log of
 * the database first, which takes space of the disk.
 */
const REUSABLE_SHARE = 1 / 2

export interface DiskUsage {
  readonly totalBytes: number
  /** For users without privileges. */
  readonly freeBytes: number
}

export interface DiskState extends DiskUsage {
  /** `low`: some writers are refused. `full`: most of the reserve is used, too. */
  readonly level: 'ok' | 'low' | 'full'
  readonly refused: readonly DiskWriter[]
}

export interface DiskSpace {
  /** Throws `storage`. */
  usage(): DiskUsage
  /** Bytes that the writer may add, at least 0. `reusableBytes`: free pages of the database that it writes to. Throws `storage`. */
  roomFor(writer: DiskWriter, reusableBytes?: number): number
  /** Throws `storage`. */
  state(): DiskState
  /** Throws `full` unless the writer may add so many bytes, and `storage`. */
  expectRoom(writer: DiskWriter, bytes?: number, reusableBytes?: number): void
  /** Free space below which records are refused. Throws `storage`. */
  reserveBytes(): number
  /** Throws `full` if the audit log is to grow by more than now and that does not fit beside the reserve, and `storage`. */
  expectRoomForGrowth(bytes: number): void
}

/** Reads the usage of the file system that holds the path. Throws an error of the file system. */
export function readDiskUsage(path: string): DiskUsage {
  const { blocks, bavail, bsize } = statfsSync(path)
  return { totalBytes: blocks * bsize, freeBytes: bavail * bsize }
}

export const floorBytes = (writer: DiskWriter, totalBytes: number): number =>
  Math.min(totalBytes * FLOORS[writer].share, FLOORS[writer].bytesMax)

/** `read` throws an error of the file system. `growthBytes`: of the audit log beyond the part of the reserve meant for it. */
export function createDiskSpace(read: () => DiskUsage, growthBytes: () => number = () => 0): DiskSpace {
  function usage(): DiskUsage {
    try {
      const found = read()
      return found.totalBytes === 0 ? UNKNOWN : found
    } catch (error) {
      throw new CofferError('storage', 'The disk failed', error)
    }
  }

  const raisedFloor = (writer: DiskWriter, totalBytes: number): number =>
    floorBytes(writer, totalBytes) + Math.min(growthBytes(), totalBytes * GROWTH_SHARE_MAX)

  /** Negative while the reserve is being used. */
  function room(writer: DiskWriter, reusableBytes: number): number {
    const { totalBytes, freeBytes } = usage()
    const reusable = Math.min(reusableBytes, floorBytes(writer, totalBytes) * REUSABLE_SHARE)
    return freeBytes + reusable - raisedFloor(writer, totalBytes)
  }

  return {
    usage,
    state() {
      const { totalBytes, freeBytes } = usage()
      const refused = WRITERS.filter((writer) => freeBytes < raisedFloor(writer, totalBytes))
      const isFull = freeBytes < floorBytes('records', totalBytes) * FULL_SHARE
      return { totalBytes, freeBytes, refused, level: isFull ? 'full' : refused.length > 0 ? 'low' : 'ok' }
    },
    roomFor: (writer, reusableBytes = 0) => Math.max(0, room(writer, reusableBytes)),
    expectRoom(writer, bytes = 0, reusableBytes = 0) {
      if (room(writer, reusableBytes) < bytes)
        throw new CofferError('full', 'The disk is full: nothing can be added until something is deleted')
    },
    reserveBytes: () => raisedFloor('records', usage().totalBytes),
    expectRoomForGrowth(bytes) {
      if (bytes <= growthBytes()) return
      const { totalBytes, freeBytes } = usage()
      const fitting = Math.min(freeBytes - floorBytes('records', totalBytes), totalBytes * GROWTH_SHARE_MAX)
      if (bytes > fitting)
        throw new CofferError(
          'full',
          `The audit log does not fit on the disk: it may grow by ${toMib(bytes)} MiB, and ${toMib(Math.max(0, fitting))} MiB are free for it`,
        )
    },
  }
}

const toMib = (bytes: number): number => Math.floor(bytes / MIB)

export function describeDisk({ totalBytes, freeBytes, level, refused }: DiskState): string {
  const free = `${toMib(freeBytes)} of ${toMib(totalBytes)} MiB are free`
  if (level === 'ok') return `the disk has room: ${free}`
  return `the disk is ${level}: ${free}; refused: ${refused.map((writer) => NAMES[writer]).join(', ')}`
}
