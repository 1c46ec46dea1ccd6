/**
 * Copies the database files during writes. A checkpoint first moves SQLite's log into the files. Until the copy ends, later writes stay in
 * the log, so the files remain a snapshot. The copied pages stay sealed. SQLite, "Write-Ahead Logging".
 */

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import { CofferError } from '../../base/error.ts'
import { onDisk } from '../../store/failure.ts'
import type { SealedDatabase } from './database.ts'

interface DatabaseCopyFile {
  name: string
  bytes: number
}

export interface Copying {
  /** Returns the files of the snapshot. Throws `busy` during another copy. */
  begin(): DatabaseCopyFile[]
  /** Reads from `offset`; returns fewer bytes at the end. */
  read(name: string, offset: number, bytes: number): Uint8Array
  /** Idempotent. */
  end(): void
  close(): void
}

export function createCopying(databases: readonly { path: string; sealed: SealedDatabase }[]): Copying {
  const paths = new Map(databases.map(({ path }) => [basename(path), path]))
  // Closed only after the databases: closing any descriptor of a file releases the locks that SQLite holds on it, fcntl(2).
  const descriptors = new Map<string, number>()
  let copying = false

  const end = () => {
    if (!copying) return
    copying = false
    for (const { sealed } of databases) sealed.release()
  }
  const descriptorOf = (name: string): number => {
    const path = paths.get(name)
    if (!copying || path === undefined) throw new CofferError('unavailable', 'Nothing is being copied')
    const known = descriptors.get(name)
    if (known !== undefined) return known
    const opened = openSync(path, 'r')
    descriptors.set(name, opened)
    return opened
  }

  return {
    begin() {
      if (copying) throw new CofferError('busy', 'A backup is being made, try again')
      copying = true
      try {
        for (const { sealed } of databases) sealed.hold()
        return onDisk(() => [...paths].map(([name, path]) => ({ name, bytes: statSync(path).size })))
      } catch (error) {
        end()
        throw error
      }
    },
    read: (name, offset, bytes) =>
      onDisk(() => {
        const piece = new Uint8Array(bytes)
        return piece.subarray(0, readSync(descriptorOf(name), piece, 0, bytes, offset))
      }),
    end,
    close() {
      end()
      for (const descriptor of descriptors.values()) closeSync(descriptor)
      descriptors.clear()
    },
  }
}
