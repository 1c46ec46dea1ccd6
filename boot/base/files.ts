/** Writes files that survive a power cut: temporary name, fsync, rename, fsync of the directory. */

import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'

/** Writes a file that only its owner can read. The file is on disk when this returns. */
export function writeDurably(path: string, bytes: Uint8Array): void {
  const incoming = `${path}.new`
  const file = openSync(incoming, 'w', 0o600)
  try {
    let written = 0
    while (written < bytes.length) written += writeSync(file, bytes, written)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(incoming, path)
  syncDirectory(dirname(path))
}

/** Makes changes of names in a directory survive a power cut. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, 'r')
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
