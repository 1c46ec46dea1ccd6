/**
 * A file without a name, for a process that reads it through its own descriptor (`/proc/self/fd`, proc(5)) as often as it
 * likes. Nothing of it is left when the last descriptor is closed, however that comes about.
 */

import { randomBytes } from 'node:crypto'
import { closeSync, fchownSync, openSync, unlinkSync, writeSync } from 'node:fs'

/** The descriptor. `ownerId`: the one user who can open it; null is us. Throws an error of the file system. */
export function openNamelessFile(directory: string, bytes: Uint8Array, ownerId: number | null): number {
  const path = `${directory}/.${randomBytes(16).toString('hex')}`
  const file = openSync(path, 'wx+', 0o600)
  try {
    let written = 0
    while (written < bytes.length) written += writeSync(file, bytes, written)
    if (ownerId !== null) fchownSync(file, ownerId, ownerId)
    return file
  } catch (error) {
    closeSync(file)
    throw error
  } finally {
    unlinkSync(path)
  }
}
