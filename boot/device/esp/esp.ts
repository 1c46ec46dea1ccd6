/** The EFI system partition with the versions for the boot loader. Read-only except during writes. */

import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { readDiskUsage } from '../../../firmware/base/disk-space.ts'
import { syncDirectory } from '../../base/files.ts'
import type { EspAccess } from '../system/mounts.ts'
import { type BootEntry, entryName, parseEntry, type TriesCounter } from './boot-count.ts'
import { INCOMING, VERSIONS } from './repair.ts'

export interface Esp {
  readonly incoming: string
  hasIncoming(): boolean
  /** Versions whose files are not empty. */
  entries(): BootEntry[]
  /** Free space if these entries did not exist. */
  bytesWithout(entries: readonly BootEntry[]): number
  /** Makes the incoming directory writable, until `rest`. */
  open(): void
  /** Makes the partition read-only again. */
  rest(): void
  /** Runs changes of names, which reach the medium in their order. Read-only again afterwards. */
  change(names: (changes: EspChanges) => void): void
  /** Drops caches, so that later reads come from the medium. */
  forget(): void
}

interface EspChanges {
  remove(entry: BootEntry): void
  recount(entry: BootEntry, counter: TriesCounter | null): void
  /** Makes a file of the incoming directory bootable, and removes the directory. */
  install(name: string, version: string, counter: TriesCounter): void
}

interface EspOptions {
  directory: string
  remount: (access: EspAccess) => void
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

/** proc_sys_vm(5): frees cached data that is on the medium already. */
export const dropCaches = (): void => writeFileSync('/proc/sys/vm/drop_caches', '1')
