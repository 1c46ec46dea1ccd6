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

/** Shares the blocks where the file system can. */
function copyDurably(from: string, to: string): void {
  copyFileSync(from, to, constants.COPYFILE_FICLONE)
  keepOwner(from, to)
  const file = openSync(to, 'r')
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
