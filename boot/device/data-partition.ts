/**
 * The data partition: made on a new device, checked at each start, and made again only for a factory reset. Damage that cannot be
 * repaired is reported, and the partition is left unchanged.
 * A mark on the ESP (data-marks.ts) is set from the decision to make the partition until it is complete, so that a power cut
 * cannot leave half of it. A newly flashed partition begins with zeros, but so may an overwritten one. Therefore a second mark is
 * set once the partition has been made.
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

const FLASHED_ZERO_BYTES = 1024 * 1024 // contains the superblock and the first tables of a file system
// mke2fs(8). Few files, most of them large. The reserved blocks are for the boot manager: the firmware cannot fill the disk
// completely.
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
  /** Makes or checks the partition, then mounts it. Resolves with the reason why it is unusable, or null. */
  open(): Promise<string | null>
  /** Marks the partition for erasure by `erase` or the next `open`. Only the fact that `goodVersion` is good survives. */
  condemn(goodVersion: string | null): void
  /** Erases the partition after `condemn`. The next `open` completes an erasure that a power cut has interrupted. */
  erase(): Promise<void>
}

interface DataPartitionOptions {
  disk: OurDisk
  /** Destroys the keys on the partition and those in the TPM, before anything else is erased. */
  forgetKeys: () => void
  say: (text: string) => void
}

export function createDataPartition({ disk, forgetKeys, say }: DataPartitionOptions): DataPartition {
  const marks = createDataMarks({ directory: `${ESP}/EFI/coffer`, change: withWritableEsp })

  /** Requires that the mark is set. */
  async function make(): Promise<void> {
    await mustRun('/usr/sbin/mke2fs', [...MAKE_FILE_SYSTEM, disk.data])
    mountData(disk.data)
    chmodSync(DATA, 0o711) // the firmware can reach its store, but list nothing else
    mkdirSync(STORE, { mode: 0o700 })
    chownSync(STORE, FIRMWARE_ID, FIRMWARE_ID)
    const goodVersion = marks.goodVersion()
    if (goodVersion !== null) recordGoodVersion(DATA, goodVersion)
    syncDirectory(DATA)
    marks.setMade()
  }

  /** Enlarges the partition. The kernel does not reread the table of a disk in use, so it is informed of this partition only. */
  async function grow(): Promise<void> {
    const number = String(disk.dataNumber)
    const quietly = ['--quiet', '--no-reread', '--no-tell-kernel']
    await mustRun('/usr/sbin/sfdisk', [...quietly, '-N', number, disk.disk], ',+\n')
    await mustRun('/usr/bin/partx', ['--update', '--nr', number, disk.disk])
  }

  /**
   * Overwrites the partition with zeros, quickly if the disk has a command for it. Then discards it if the disk can, so that
   * flash memory is erased as well.
   */
  async function wipe(): Promise<void> {
    await mustRun('/usr/sbin/blkdiscard', ['--force', '--zeroout', disk.data])
    await runProgram(BUSYBOX, ['blkdiscard', disk.data])
  }

  /** Destroys remaining keys of an installation whose factory reset was interrupted. */
  function forgetLeftKeys(): void {
    try {
      mountData(disk.data)
    } catch (error) {
      if (error instanceof ProgramError) return // the partition is erased already, or was never made
      throw error
    }
    forgetKeys()
    unmountData()
  }

  return {
    open: async () => {
      if (marks.isToBeMade()) {
        say('Creating the data partition again: the first attempt was interrupted.')
        forgetLeftKeys()
        await grow()
        await wipe()
        await make()
        return null
      }
      if (beginsWithZeros(disk.data)) {
        if (marks.isMade()) return 'the beginning of the data partition is gone: it holds zeros'
        say('Creating the data partition.')
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
      if (!existsSync(STORE)) createStoreCopy(STORE).restore() // completes a restore that a power cut has interrupted
      const losses = findLosses()
      if (losses !== null) unmountData()
      else if (!marks.isMade()) marks.setMade() // made by a version without such a mark
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

/** Detects a repaired file system that has lost its content. */
function findLosses(): string | null {
  if (!existsSync(STORE)) return 'the data partition has lost the store'
  const lost = `${DATA}/lost+found`
  if (existsSync(lost) && readdirSync(lost).length > 0) return 'the data partition has lost the names of some files'
  return null
}

function beginsWithZeros(device: string): boolean {
  const bytes = Buffer.alloc(FLASHED_ZERO_BYTES, 0xff)
  const zeros = Buffer.alloc(FLASHED_ZERO_BYTES) // one comparison, since the boot manager's JavaScript is interpreted
  const file = openSync(device, 'r')
  try {
    return readSync(file, bytes, 0, bytes.length, 0) === bytes.length && bytes.equals(zeros)
  } finally {
    closeSync(file)
  }
}
