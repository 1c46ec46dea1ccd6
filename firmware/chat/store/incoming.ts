/**
 * Receives a generation from a backup. Node's permission model forbids fsync, so the files are opened for synchronous writes: data and
 * directory entries are durable when a write returns. open(2), O_SYNC.
 */

import { closeSync, constants, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { CofferError } from '../../base/error.ts'
import { onDisk } from '../../store/failure.ts'

interface IncomingGeneration {
  /** Deletes an existing generation of this name, and any unfinished one. */
  begin(generation: string): void
  write(name: string, bytes: Uint8Array): void
  finish(): void
}

const FILE_NAME = /^[a-z]{1,16}\.db$/
const { O_WRONLY, O_CREAT, O_EXCL, O_SYNC } = constants

export function createIncomingGeneration(directory: string): IncomingGeneration {
  let path: string | null = null
  const files = new Map<string, number>()
  const close = () => {
    for (const file of files.values()) closeSync(file)
    files.clear()
  }
  const fileOf = (name: string): number => {
    if (path === null || !FILE_NAME.test(name)) throw new CofferError('invalid', 'That is not a file of a chat')
    const known = files.get(name)
    if (known !== undefined) return known
    const opened = openSync(join(path, name), O_WRONLY | O_CREAT | O_EXCL | O_SYNC, 0o600)
    files.set(name, opened)
    return opened
  }
  return {
    begin(generation) {
      onDisk(() => {
        close()
        if (path !== null) rmSync(path, { recursive: true, force: true })
        path = join(directory, generation)
        rmSync(path, { recursive: true, force: true })
        mkdirSync(path, { mode: 0o700 })
      })
    },
    write: (name, bytes) =>
      onDisk(() => {
        const file = fileOf(name)
        for (let offset = 0; offset < bytes.length; ) offset += writeSync(file, bytes, offset)
      }),
    finish() {
      if (path === null) throw new CofferError('unavailable', 'Nothing was received')
      close()
      path = null
    },
  }
}
