/**
 * The flashable disk: GPT, a FAT file system that UEFI starts from, two places for root file systems, of which the second
 * one waits for an update, and an empty data partition. UEFI 2.10, chapter 5.
 */

import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, utimesSync, writeFileSync, writeSync } from 'node:fs'
import { run } from './run.ts'

const MEBIBYTE = 1024 * 1024
const SECTOR_BYTES = 512
const SECTORS_PER_MEBIBYTE = MEBIBYTE / SECTOR_BYTES
const ESP_MEBIBYTES = 128 // three kernel images of up to 40 MB, of which an update needs two
const ROOT_MEBIBYTES = 96 // nearly twice what one needs today: partitions do not grow later
// Grows at the first start. Large enough that flashing overwrites what marks an older file system there.
const DATA_MEBIBYTES = 8
const GPT_MEBIBYTES = 1 // at the beginning, and a second one at the end
const ESP_START_MEBIBYTES = GPT_MEBIBYTES

// The same on every device: partitions are found by their labels, on the disk the device was started from.
const DISK_ID = '6E3F7C1A-52B0-4D4E-9C53-0C0FFE200000'
/** In the order of their places. */
const PARTITIONS = [
  { name: 'coffer-esp', mebibytes: ESP_MEBIBYTES, type: 'ef00' },
  { name: 'coffer-root-a', mebibytes: ROOT_MEBIBYTES, type: '8300' },
  { name: 'coffer-root-b', mebibytes: ROOT_MEBIBYTES, type: '8300' },
  { name: 'coffer-data', mebibytes: DATA_MEBIBYTES, type: '8300' },
] as const
const partitionId = (number: number): string => DISK_ID.slice(0, -1) + number
const CLUSTER_SECTORS = '2' // of one KiB: with fewer than 65525 of them it would be no FAT32
const FAT_ID = 'C0FFE200'

export interface DiskFile {
  /** On the ESP, without a leading slash. */
  path: string
  bytes: Uint8Array
}

interface DiskContents {
  /** On the ESP. */
  files: readonly DiskFile[]
  /** Content at the beginning of the first root partition. */
  root: Uint8Array
}

/** Writes the disk to `output`. `scratch` is a directory for files on their way there. `time` is in seconds. */
export function makeDisk(output: string, scratch: string, { files, root }: DiskContents, time: number): void {
  if (root.length > ROOT_MEBIBYTES * MEBIBYTE)
    throw new Error(`the root file system has ${root.length} bytes, its partition ${ROOT_MEBIBYTES * MEBIBYTE}`)
  rmSync(output, { force: true })
  const disk = openSync(output, 'w')
  let end = GPT_MEBIBYTES
  const parameters = PARTITIONS.flatMap(({ name, mebibytes, type }, index) => {
    const [number, start] = [index + 1, end]
    end += mebibytes
    return [
      ...['--new', `${number}:${sector(start)}:${sector(end) - 1}`, '--typecode', `${number}:${type}`],
      ...['--change-name', `${number}:${name}`, '--partition-guid', `${number}:${partitionId(number)}`],
    ]
  })
  ftruncateSync(disk, (end + GPT_MEBIBYTES) * MEBIBYTE)
  const rootStart = (ESP_START_MEBIBYTES + ESP_MEBIBYTES) * MEBIBYTE
  for (let at = 0; at < root.length; ) at += writeSync(disk, root, at, root.length - at, rootStart + at)
  closeSync(disk)
  run('sgdisk', ['--disk-guid', DISK_ID, ...parameters, output])

  const offset = ['--offset', `${sector(ESP_START_MEBIBYTES)}`]
  const kibibytes = `${ESP_MEBIBYTES * 1024}`
  run('mkfs.vfat', [
    '--invariant',
    '-F',
    '32',
    '-s',
    CLUSTER_SECTORS,
    '-i',
    FAT_ID,
    '-n',
    'COFFER-ESP',
    ...offset,
    output,
    kibibytes,
  ])
  const image = `${output}@@${ESP_START_MEBIBYTES}M`
  const directories = new Set(files.flatMap(({ path }) => parentsOf(path)))
  const tools = { env: { SOURCE_DATE_EPOCH: `${time}`, TZ: 'UTC', MTOOLS_SKIP_CHECK: '1' } }
  run('mmd', ['-i', image, ...[...directories].sort().map((path) => `::${path}`)], tools)
  mkdirSync(scratch, { recursive: true })
  const file = `${scratch}/file`
  for (const { path, bytes } of files) {
    writeFileSync(file, bytes)
    utimesSync(file, time, time)
    run('mcopy', ['-m', '-i', image, file, `::${path}`], tools)
  }
  rmSync(file)
}

const sector = (mebibytes: number): number => mebibytes * SECTORS_PER_MEBIBYTE

const parentsOf = (path: string): string[] => {
  const parts = path.split('/')
  return parts.slice(1).map((_, index) => parts.slice(0, index + 1).join('/'))
}
