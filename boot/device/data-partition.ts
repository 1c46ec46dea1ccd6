/**
 * The data partition: made when it is new, checked at each start, and never made anew unless a factory reset asks for
 * it. Whatever cannot be mended is said, and left as it is.
 *
 * A mark on the ESP (data-marks.ts) stands from the decision to make it until it is whole, so that a power cut in between
 * cannot leave half of it. A freshly flashed partition begins with zeros. So may one that something has written over: a
 * second mark stands from the first time on that it was made.
 */

import { chmodSync, chownSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, readSync } from 'node:fs'
import { syncDirectory } from '../base/files.ts'
import { createStoreCopy } from '../versions/store-copy.ts'
import { createDataMarks } from './data-marks.ts'
import { recordGoodVersion } from './device-start.ts'
import { FIRMWARE_ID } from './launcher.ts'
import type { OurDisk } from './system/disk.ts'
import { checkFileSystem } from './system/file-system-check.ts'
import { DATA, ESP, mountData, STORE, unmountData, withWritableEsp } from './system/mounts.ts'
import { BUSYBOX, mustRun, ProgramError, runProgram } from './system/programs.ts'

const FLASHED_ZERO_BYTES = 1024 * 1024 // a file system has its superblock and its first tables there
// mke2fs(8). Few files, most of them large. What is kept back is for us: the firmware cannot fill the disk to the last block.
export const MAKE_FILE_SYSTEM = [
  '-q',
  '-F',
  '-t',
  'ext4',
  '-L',
  'coffer-data',
  '-e',
  'remount-ro',
  '-i',
  '65536',
  '-m',
  '1',
]

interface DataPartition {
  /** Mounts it, after making or checking it. Resolves with what makes it unusable, or null. */
  open(): Promise<string | null>
  /** From now on everything on it goes, by `erase` or by the next `open`, but that `goodVersion` is good. */
  condemn(goodVersion: string | null): void
  /** Everything on it goes, once it is condemned. What a power cut interrupts is finished by the next `open`. */
  erase(): Promise<void>
}

interface DataPartitionOptions {
  disk: OurDisk
  /** Destroys the keys on it and those that belong to it, before everything else goes. */
  forgetKeys: () => void
  say: (text: string) => void
}

export function createDataPartition({ disk, forgetKeys, say }: DataPartitionOptions): DataPartition {
  const marks = createDataMarks({ directory: `${ESP}/EFI/coffer`, change: withWritableEsp })

  /** With the mark standing. */
  async function make(): Promise<void> {
    await mustRun('/usr/sbin/mke2fs', [...MAKE_FILE_SYSTEM, disk.data])
    mountData(disk.data)
    chmodSync(DATA, 0o711) // the firmware passes through to its store and sees nothing else
    mkdirSync(STORE, { mode: 0o700 })
    chownSync(STORE, FIRMWARE_ID, FIRMWARE_ID)
    const goodVersion = marks.goodVersion()
    if (goodVersion !== null) recordGoodVersion(DATA, goodVersion)
    syncDirectory(DATA)
    marks.setMade()
  }

  /** The disk is in use, so that the kernel does not read its table anew; it is told of this one partition. */
  async function grow(): Promise<void> {
    const number = String(disk.dataNumber)
    const quietly = ['--quiet', '--no-reread', '--no-tell-kernel']
    await mustRun('/usr/sbin/sfdisk', [...quietly, '-N', number, disk.disk], ',+\n')
    await mustRun('/usr/bin/partx', ['--update', '--nr', number, disk.disk])
  }

  /**
   * Zeros over everything, which disks with a command for it write at once; then it is discarded, where the disk can,
   * so that flash memory is erased as well.
   */
  async function wipe(): Promise<void> {
    await mustRun('/usr/sbin/blkdiscard', ['--force', '--zeroout', disk.data])
    await runProgram(BUSYBOX, ['blkdiscard', disk.data])
  }

  /** Those of an installation whose factory reset was interrupted before it came to them. */
  function forgetLeftKeys(): void {
    try {
      mountData(disk.data)
    } catch (error) {
      if (error instanceof ProgramError) return // nothing is left, or nothing was there yet
      throw error
    }
    forgetKeys()
    unmountData()
  }

  return {
    open: async () => {
      if (marks.isToBeMade()) {
        say('The data partition is being made again: that was interrupted.')
        forgetLeftKeys()
        await grow()
        await wipe()
        await make()
        return null
      }
      if (beginsWithZeros(disk.data)) {
        if (marks.isMade()) return 'the beginning of the data partition is gone: it holds zeros'
        say('The data partition is being made.')
        marks.setToBeMade(null)
        await grow()
        await make()
        return null
      }
      const problem = await checkFileSystem(disk.data, say)
      if (problem !== null) return problem
      try {
        mountData(disk.data)
      } catch (error) {
        if (error instanceof ProgramError) return `the data partition cannot be mounted: ${error.message}`
        throw error
      }
      if (!existsSync(STORE)) createStoreCopy(STORE).restore() // which a power cut has interrupted
      const losses = findLosses()
      if (losses !== null) unmountData()
      else if (!marks.isMade()) marks.setMade() // by a version that had no such mark
      return losses
    },
    condemn: marks.setToBeMade,
    erase: async () => {
      forgetKeys()
      if (existsSync(STORE)) unmountData()
      await wipe()
      await make()
    },
  }
}

/** What a repair may leave behind: a file system in order, without what was on it. */
function findLosses(): string | null {
  if (!existsSync(STORE)) return 'the data partition has lost the store'
  const lost = `${DATA}/lost+found`
  if (existsSync(lost) && readdirSync(lost).length > 0) return 'the data partition has lost the names of some files'
  return null
}

function beginsWithZeros(device: string): boolean {
  const bytes = Buffer.alloc(FLASHED_ZERO_BYTES, 0xff)
  const zeros = Buffer.alloc(FLASHED_ZERO_BYTES) // compared as a whole: we are interpreted
  const file = openSync(device, 'r')
  try {
    return readSync(file, bytes, 0, bytes.length, 0) === bytes.length && bytes.equals(zeros)
  } finally {
    closeSync(file)
  }
}
