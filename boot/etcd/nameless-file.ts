/**
 * A file without a name. A process reads it through its own descriptor (`/proc/self/fd`, proc(5)) as often as necessary. The file
 * disappears when the last descriptor is closed, even after a crash.
 */

import { randomBytes } from 'node:crypto'
import { closeSync, fchownSync, openSync, unlinkSync, writeSync } from 'node:fs'

/**
 * Returns the descriptor. `ownerId` is the only user who can open the file; null is the boot manager's user. Throws an error of
 * the file system.
 */
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
