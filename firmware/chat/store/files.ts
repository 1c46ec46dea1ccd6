/**
 * The bytes of uploads, in chunks, in a sealed database of their own. A file is written before the row that refers to it and removed after
 * it, so a crash leaves at most chunks without a row, which a start deletes.
 */

import type { SealedDatabase } from './database.ts'
import type { Migration } from './schema.ts'

export const CHUNK_BYTES = 64 * 1024
/** Chunks per transaction. A sync of the disk then covers 1 MiB, and other requests wait no longer than for that. */
export const CHUNKS_AT_ONCE = 16

export const FILE_MIGRATIONS: readonly Migration[] = [
  (database) => {
    database.exec('CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID')
    database.exec(
      'CREATE TABLE chunks (upload INTEGER, number INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (upload, number)) STRICT',
    )
    database.exec('CREATE TABLE pictures (name TEXT PRIMARY KEY, bytes BLOB NOT NULL) STRICT')
  },
]

export interface Files {
  /** Durable on return. `first` is the number of the first chunk, from 0. */
  write(upload: number, first: number, chunks: readonly Uint8Array[]): void
  /** Undefined after the file was removed. */
  read(upload: number, number: number): Uint8Array | undefined
  /** Removes the last chunks of a file. Returns false if none remain. */
  removeSome(upload: number): boolean
  all(): number[]
  /** Replaces a picture, such as an avatar. Pictures are small and stored as a whole. Durable on return. */
  putPicture(name: string, bytes: Uint8Array): void
  picture(name: string): Uint8Array | undefined
  removePicture(name: string): void
}

export function prepareFiles({ database, transaction }: SealedDatabase): Files {
  const write = database.prepare('INSERT INTO chunks VALUES (?, ?, ?)')
  const read = database
    .prepare<[number, number], Uint8Array>('SELECT bytes FROM chunks WHERE upload = ? AND number = ?')
    .pluck()
  const remove = database.prepare(
    `DELETE FROM chunks WHERE rowid IN
     (SELECT rowid FROM chunks WHERE upload = ? ORDER BY number DESC LIMIT ${CHUNKS_AT_ONCE})`,
  )
  const next = database
    .prepare<[number], number>('SELECT upload FROM chunks WHERE upload > ? ORDER BY upload LIMIT 1')
    .pluck()
  const putPicture = database.prepare(
    'INSERT INTO pictures VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET bytes = excluded.bytes',
  )
  const picture = database.prepare<[string], Uint8Array>('SELECT bytes FROM pictures WHERE name = ?').pluck()
  const removePicture = database.prepare('DELETE FROM pictures WHERE name = ?')
  return {
    write(upload, first, chunks) {
      transaction(() => {
        for (const [index, bytes] of chunks.entries()) write.run(upload, first + index, bytes)
      })
    },
    read: (upload, number) => read.get(upload, number),
    removeSome: (upload) => transaction(() => remove.run(upload).changes) > 0,
    all() {
      const uploads: number[] = []
      for (let upload = next.get(-1); upload !== undefined; upload = next.get(upload)) uploads.push(upload)
      return uploads
    },
    putPicture: (name, bytes) => void transaction(() => putPicture.run(name, bytes)),
    picture: (name) => picture.get(name),
    removePicture: (name) => void transaction(() => removePicture.run(name)),
  }
}
