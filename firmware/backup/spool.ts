/**
 * Where an uploaded backup lies until all of it is there and was checked: a file without a name, gone with the process.
 * It holds nothing that is not sealed.
 */

import { closeSync, openSync, readSync, rmSync, write } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { onDisk, storageFailure } from '../store/failure.ts'
import { RECOGNISED_BYTES, recognise, type Source } from './reader.ts'

export interface Spool {
  /** All of an upload. Throws `invalid` as soon as it is no backup, `storage`, and what the upload throws. */
  receive(upload: AsyncIterable<Uint8Array>): Promise<void>
  readonly length: number
  /** All that was received, from the beginning. */
  source(): Source
  close(): void
}

const writeAt = promisify(write)
const READ_BYTES = 256 * 1024

const spoolPath = (dataDirectory: string): string => join(dataDirectory, 'restore.upload')

/** A process that is killed between making the file and unlinking it leaves the name behind. */
export const removeSpool = (dataDirectory: string): void => rmSync(spoolPath(dataDirectory), { force: true })

/** `makeRoom` throws when there is none for so many more bytes. */
export function createSpool(dataDirectory: string, makeRoom: (bytes: number) => void): Spool {
  const path = spoolPath(dataDirectory)
  const file = onDisk(() => {
    const opened = openSync(path, 'w+', 0o600)
    rmSync(path)
    return opened
  })
  let length = 0
  const append = async (bytes: Uint8Array): Promise<void> => {
    for (let done = 0; done < bytes.length; ) {
      const { bytesWritten } = await writeAt(file, bytes, done, bytes.length - done, length)
      done += bytesWritten
      length += bytesWritten
    }
  }
  return {
    async receive(upload) {
      let recognised = false
      for await (const bytes of upload) {
        makeRoom(bytes.length)
        await append(bytes).catch((error) => {
          throw storageFailure(error)
        })
        if (recognised || length < RECOGNISED_BYTES) continue
        recognise(fileSource(file)) // nobody need send the rest of something else
        recognised = true
      }
    },
    get length() {
      return length
    },
    source: () => fileSource(file),
    close: () => closeSync(file),
  }
}

/** Also for programs that read a backup from a file of their own. */
export function fileSource(file: number): Source {
  let buffer = new Uint8Array(READ_BYTES)
  let held = buffer.subarray(0, 0)
  let position = 0
  return {
    read(bytes) {
      if (held.length < bytes) {
        const next = bytes > buffer.length ? new Uint8Array(bytes) : buffer
        next.set(held)
        let filled = held.length
        while (filled < bytes) {
          const count = onDisk(() => readSync(file, next, filled, next.length - filled, position))
          if (count === 0) break
          filled += count
          position += count
        }
        buffer = next
        held = next.subarray(0, filled)
      }
      const taken = held.subarray(0, bytes)
      held = held.subarray(taken.length)
      return taken
    },
  }
}
