/**
 * Copy of the store from before a trial. The previous version may not be able to read data that a newer one has migrated, so a
 * fallback restores the copy.
 */

import {
  chownSync,
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  fchownSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { syncDirectory } from '../base/files.ts'
import { SlotError } from './slot-error.ts'

export interface StoreCopy {
  /** Call it while no firmware runs. Replaces an older copy. Throws if there is no room. */
  make(): void
  exists(): boolean
  /** Replaces the store by the copy, if there is one. A power cut may leave no store: then call it again before anything else. */
  restore(): void
  remove(): void
}

export function createStoreCopy(storeDirectory: string): StoreCopy {
  const copy = `${storeDirectory}.before-trial`
  const incoming = `${copy}.new`
  const left = `${storeDirectory}.left`
  const drop = (path: string) => rmSync(path, { recursive: true, force: true })
  const parent = dirname(storeDirectory)
  const remove = () => {
    for (const path of [incoming, left, copy]) drop(path)
    syncDirectory(parent)
  }
  const restore = () => {
    if (!existsSync(copy)) return
    drop(left)
    if (existsSync(storeDirectory)) renameSync(storeDirectory, left)
    renameSync(copy, storeDirectory)
    syncDirectory(parent)
    drop(left)
  }
  return {
    make: () => {
      if (existsSync(left)) restore() // a power cut has interrupted the two renames
      remove()
      try {
        mkdirSync(incoming, { mode: 0o700 })
        // Copies regular files only: a link made by the firmware must not redirect the boot manager.
        for (const entry of readdirSync(storeDirectory, { withFileTypes: true }))
          if (entry.isFile()) copyDurably(`${storeDirectory}/${entry.name}`, `${incoming}/${entry.name}`)
      } catch (error) {
        drop(incoming)
        throw error
      }
      keepOwner(storeDirectory, incoming)
      syncDirectory(incoming)
      renameSync(incoming, copy)
      syncDirectory(parent)
    },
    exists: () => existsSync(copy),
    restore,
    remove,
  }
}

/** The store may belong to the firmware's user. */
function keepOwner(from: string, to: string): void {
  const { uid, gid } = statSync(from)
  chownSync(to, uid, gid)
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

/**
 * Copies through a descriptor, and only regular files: a leftover process of the firmware may replace the file by a link or a
 * pipe meanwhile. Shares blocks if the file system can.
 */
function copyDurably(from: string, to: string): void {
  withOpen(from, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, (source) => {
    const found = fstatSync(source)
    if (!found.isFile()) throw new SlotError('the store is being changed')
    copyFileSync(`/proc/self/fd/${source}`, to, constants.COPYFILE_FICLONE)
    withOpen(to, O_RDONLY, (copy) => {
      fchownSync(copy, found.uid, found.gid)
      fsyncSync(copy)
    })
  })
}

function withOpen(path: string, flags: number, use: (file: number) => void): void {
  const file = openSync(path, flags)
  try {
    use(file)
  } finally {
    closeSync(file)
  }
}
