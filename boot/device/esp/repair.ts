/**
 * Repairs damage that a power cut leaves on the ESP, before it is mounted. FAT has no journal. An interrupted rename leaves two
 * names for one content, and deleting either would free the content of the other. An interrupted write leaves clusters without a
 * name.
 */

import { type BootEntry, parseEntry } from './boot-count.ts'
import { type Fat, type FatEntry, FatError, openFat } from './fat.ts'

export const INCOMING = 'EFI/coffer/incoming'
export const VERSIONS = 'EFI/Linux'

/** Returns the repairs, as messages for the terminal. `path` is an unmounted partition. Can be repeated after a power cut. */
export function repairEsp(path: string): string[] {
  try {
    const fat = openFat(path)
    try {
      return repair(fat).map((what) => `After a power cut on the ESP: ${what}.`)
    } finally {
      fat.close()
    }
  } catch (error) {
    if (error instanceof FatError) return [`The ESP cannot be checked: ${error.message}.`]
    throw error
  }
}

function repair(fat: Fat): string[] {
  const done: string[] = []
  const entries = fat.list(isIncoming)
  const removed = new Set(findRemoved(entries))
  for (const entry of removed) {
    fat.removeName(entry)
    done.push(`${entry.path} is removed`)
  }
  if (removed.size > 0) fat.sync() // a name must never point to free clusters
  const lost = fat.lost(entries.filter((entry) => !removed.has(entry)))
  const differ = fat.copiesDiffer()
  if (lost.length > 0 || differ) {
    fat.free(lost)
    fat.sync()
  }
  if (lost.length > 0) done.push(`${lost.length} lost clusters are freed`)
  if (differ) done.push('the copies of its table are made equal')
  return done
}

const isIncoming = (path: string): boolean => path.toLowerCase() === INCOMING.toLowerCase()

function findRemoved(entries: readonly FatEntry[]): FatEntry[] {
  const removed = entries.filter(({ path }) => isIncoming(path))
  const versions = entries.flatMap((entry) => {
    const version = versionAt(entry.path)
    return version === null || entry.isDirectory ? [] : [{ entry, version }]
  })
  removed.push(...versions.filter(({ entry }) => entry.size === 0).map(({ entry }) => entry))
  const stored = versions.filter(({ entry }) => entry.size > 0)
  for (const same of Map.groupBy(stored, ({ entry }) => entry.firstCluster).values()) {
    const [, ...others] = same.sort((a, b) => rank(a.version) - rank(b.version))
    removed.push(...others.map(({ entry }) => entry))
  }
  return removed
}

function versionAt(path: string): BootEntry | null {
  const directory = `${VERSIONS}/`
  return path.toLowerCase().startsWith(directory.toLowerCase()) ? parseEntry(path.slice(directory.length)) : null
}

/** Rank of two names for one content; the lower one stays. A good version stays good, and of two counts the later one stays. */
const rank = ({ counter }: BootEntry): number => (counter === null ? -1 : counter.left)
