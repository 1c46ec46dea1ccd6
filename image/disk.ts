/** The flashable disk: GPT, a FAT file system that UEFI starts from, and an empty data partition. UEFI 2.10, chapter 5. */

import { closeSync, ftruncateSync, mkdirSync, openSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { run } from './run.ts'

const MEBIBYTE = 1024 * 1024
const SECTOR_BYTES = 512
const SECTORS_PER_MEBIBYTE = MEBIBYTE / SECTOR_BYTES
const ESP_START_MEBIBYTES = 1
const ESP_MEBIBYTES = 320 // two versions of up to 95 MB, and one on its way in
// Grows at the first start. Large enough that flashing overwrites what marks an older file system there.
const DATA_MEBIBYTES = 8
const GPT_MEBIBYTES = 1 // the second table, at the end

// The same on every device: partitions are found by their labels, on the disk the device was started from.
const DISK_ID = '6E3F7C1A-52B0-4D4E-9C53-0C0FFE200000'
const ESP_ID = '6E3F7C1A-52B0-4D4E-9C53-0C0FFE200001'
const DATA_ID = '6E3F7C1A-52B0-4D4E-9C53-0C0FFE200002'
const CLUSTER_SECTORS = '4' // of two KiB: with fewer than 65525 of them it would be no FAT32
const FAT_ID = 'C0FFE200'

export interface DiskFile {
  /** On the ESP, without a leading slash. */
  path: string
  bytes: Uint8Array
}

/** Writes the disk to `output`. `scratch` is a directory for files on their way there. `time` is in seconds. */
export function makeDisk(output: string, scratch: string, files: readonly DiskFile[], time: number): void {
  rmSync(output, { force: true })
  const disk = openSync(output, 'w')
  ftruncateSync(disk, (ESP_START_MEBIBYTES + ESP_MEBIBYTES + DATA_MEBIBYTES + GPT_MEBIBYTES) * MEBIBYTE)
  closeSync(disk)
  const dataStart = ESP_START_MEBIBYTES + ESP_MEBIBYTES
  run('sgdisk', [
    ...['--disk-guid', DISK_ID],
    ...['--new', `1:${sector(ESP_START_MEBIBYTES)}:${sector(dataStart) - 1}`],
    ...['--typecode', '1:ef00', '--change-name', '1:coffer-esp', '--partition-guid', `1:${ESP_ID}`],
    ...['--new', `2:${sector(dataStart)}:${sector(dataStart + DATA_MEBIBYTES) - 1}`],
    ...['--typecode', '2:8300', '--change-name', '2:coffer-data', '--partition-guid', `2:${DATA_ID}`],
    output,
  ])

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
