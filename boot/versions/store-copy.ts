/**
 * The store as it was before a version on trial touched it, so that the version before, which may not read what a newer
 * one migrated, finds it as it left it.
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
  /** Made while no firmware runs; replaces an older one. Throws when there is no room. */
  make(): void
  exists(): boolean
  /** Puts it back in the place of the store, if there is one. A power cut may leave no store: then repeat it first of all. */
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
      if (existsSync(left)) restore() // a power cut came between its two renames
      remove()
      try {
        mkdirSync(incoming, { mode: 0o700 })
        // Nothing but files is the store's; a link of the firmware's must not lead us anywhere.
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

/** The firmware's, where it is another user than we. */
function keepOwner(from: string, to: string): void {
  const { uid, gid } = statSync(from)
  chownSync(to, uid, gid)
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

/**
 * Through a descriptor, and only if that is of a file: a process that the firmware has left behind may put a link, or a pipe, in
 * its place meanwhile. Shares the blocks where the file system can.
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
