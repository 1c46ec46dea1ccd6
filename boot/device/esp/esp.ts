/** The EFI system partition: the versions that the boot loader chooses from. Read-only but while something is written. */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { readDiskUsage } from '../../../firmware/base/disk-space.ts'
import { syncDirectory } from '../../base/files.ts'
import type { EspAccess } from '../system/mounts.ts'
import { type BootEntry, entryName, parseEntry, type TriesCounter } from './boot-count.ts'
import { INCOMING, VERSIONS } from './repair.ts'

export interface Esp {
  /** Directory for a version on its way. */
  readonly incoming: string
  hasIncoming(): boolean
  /** Those with content. */
  entries(): BootEntry[]
  /** How much there would be room for without these. */
  bytesWithout(entries: readonly BootEntry[]): number
  /** To write into the incoming directory or to remove it, until `rest`. */
  open(): void
  /** Read-only again. */
  rest(): void
  /** Runs with names in their order on the medium; read-only again afterwards. */
  change(names: (changes: EspChanges) => void): void
  /** What is read next comes from the medium. */
  forget(): void
}

interface EspChanges {
  remove(entry: BootEntry): void
  /** Gives it another counter. */
  recount(entry: BootEntry, counter: TriesCounter | null): void
  /** The file of this name in the incoming directory becomes bootable; the directory goes. */
  install(name: string, version: string, counter: TriesCounter): void
}

interface EspOptions {
  /** Where it is mounted. */
  directory: string
  remount: (access: EspAccess) => void
  /** Absent in tests. */
  dropCaches?: (() => void) | undefined
}

export function createEsp({ directory, remount, dropCaches = () => {} }: EspOptions): Esp {
  const versions = `${directory}/${VERSIONS}`
  const incoming = `${directory}/${INCOMING}`
  const pathOf = ({ file }: BootEntry) => `${versions}/${file}`

  const changes: EspChanges = {
    remove: (entry) => {
      rmSync(pathOf(entry))
      syncDirectory(versions)
    },
    recount: (entry, counter) => {
      renameSync(pathOf(entry), `${versions}/${entryName(entry.version, counter)}`)
      syncDirectory(versions)
    },
    install: (name, version, counter) => {
      renameSync(`${incoming}/${name}`, `${versions}/${entryName(version, counter)}`)
      syncDirectory(versions)
      rmSync(incoming, { recursive: true })
      syncDirectory(dirname(incoming))
    },
  }
  return {
    incoming,
    hasIncoming: () => existsSync(incoming),
    entries: () =>
      readdirSync(versions)
        .map(parseEntry)
        .filter((entry) => entry !== null && statSync(pathOf(entry)).size > 0) as BootEntry[],
    bytesWithout: (entries) => {
      const { freeBytes } = readDiskUsage(directory)
      return entries.reduce((bytes, entry) => bytes + statSync(pathOf(entry)).size, freeBytes)
    },
    open: () => {
      remount('rw,async')
      mkdirSync(dirname(incoming), { recursive: true })
    },
    rest: () => remount('ro'),
    change: (names) => {
      remount('rw,sync')
      try {
        names(changes)
      } finally {
        remount('ro')
      }
    },
    forget: dropCaches,
  }
}

/** proc_sys_vm(5): what is on the medium already leaves memory. */
export const dropCaches = (): void => writeFileSync('/proc/sys/vm/drop_caches', '1')
