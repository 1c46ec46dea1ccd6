/**
 * A look at an existing store before anything may change it: is it ours, whole, of a version we know?
 * SQLite file format, section 1.3 (header) and 4.1 (write-ahead log): sqlite.org/fileformat2.html
 */

import { closeSync, existsSync, fstatSync, openSync, readSync, rmSync, statSync } from 'node:fs'
import { basename } from 'node:path'
import Sqlite, { type Database } from 'better-sqlite3'
import { CofferError } from '../../base/error.ts'
import { storageFailure } from '../failure.ts'
import { APPLICATION_ID, describeSchema, type Migration, migrate, readVersion } from './schema.ts'

const HEADER_BYTES = 100
const MAGIC = new TextEncoder().encode('SQLite format 3\0')
const WAL_FORMAT = 2

/**
 * Throws `storage` with the reason why the store cannot be used; the files are as before. `read` gets the store opened
 * for reading, and what it returns is returned.
 */
export function inspectStore<T>(
  path: string,
  migrations: readonly Migration[],
  options: Sqlite.Options,
  read: (database: Database) => T,
): T {
  try {
    inspectHeader(path, migrations.length)
    const inspect = (database: Database): T => {
      const version = readVersion(database)
      if (version > migrations.length) throw newer(version, migrations.length)
      if (describeSchema(database) !== expectedSchema(version, migrations, options)) throw damaged('its schema')
      // Unlike quick_check this one sees rows out of order, which searches would miss.
      const problems = database.pragma('integrity_check(1)', { simple: true })
      if (problems !== 'ok') throw damaged('its structure', problems)
      return read(database)
    }
    try {
      return withReader(path, options, inspect)
    } catch (error) {
      if (!(error instanceof Sqlite.SqliteError) || !error.code.startsWith('SQLITE_IOERR_SHM')) throw error
      // A full disk has no room for the reader's files. An owner needs none; when it closes, SQLite moves the log of a
      // killed process into the store, as any start does.
      return withDatabase(path, options, 'EXCLUSIVE', inspect)
    }
  } catch (error) {
    throw storageFailure(error)
  }
}

function inspectHeader(path: string, versionMax: number): void {
  const { header, fileBytes } = readHeader(path)
  const magic = header.subarray(0, MAGIC.length)
  if (!magic.equals(MAGIC.subarray(0, magic.length))) {
    if (header.length === HEADER_BYTES && header.readUInt32BE(68) === APPLICATION_ID) throw damaged('its header')
    throw new CofferError('storage', `${basename(path)} is not a store of Coffer`)
  }
  if (header.length < HEADER_BYTES) throw truncated()
  if (header.readUInt32BE(68) !== APPLICATION_ID) {
    throw new CofferError('storage', `${basename(path)} is a database of another program`)
  }
  const version = header.readInt32BE(60)
  if (version > versionMax) throw newer(version, versionMax)
  const pageBytes = header.readUInt16BE(16) === 1 ? 65536 : header.readUInt16BE(16)
  const writtenFormat = header[18]
  const readFormat = header[19]
  if (version < 1 || pageBytes < 512 || writtenFormat !== WAL_FORMAT || readFormat !== WAL_FORMAT) {
    throw damaged('its header')
  }
  // While a log exists, pages may be in it alone. The count holds if both change counters agree.
  const logBytes = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  const countHolds = header.readUInt32BE(24) === header.readUInt32BE(92)
  if (logBytes === 0 && countHolds && header.readUInt32BE(28) * pageBytes > fileBytes) throw truncated()
}

function readHeader(path: string): { header: Buffer; fileBytes: number } {
  const file = openSync(path, 'r')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    const bytes = readSync(file, header, 0, HEADER_BYTES, 0)
    return { header: header.subarray(0, bytes), fileBytes: fstatSync(file).size }
  } finally {
    closeSync(file)
  }
}

/** A reader never writes the log back into the store, but leaves files of its own beside it. */
function withReader<T>(path: string, options: Sqlite.Options, read: (database: Database) => T): T {
  const made = [`${path}-shm`, `${path}-wal`].filter((file) => !existsSync(file))
  try {
    return withDatabase(path, { ...options, readonly: true }, 'NORMAL', read)
  } finally {
    for (const file of made) rmSync(file, { force: true })
  }
}

function withDatabase<T>(
  path: string,
  options: Sqlite.Options,
  locking: 'NORMAL' | 'EXCLUSIVE',
  read: (database: Database) => T,
): T {
  const database = new Sqlite(path, { ...options, fileMustExist: true })
  try {
    database.pragma(`locking_mode = ${locking}`)
    database.pragma('cell_size_check = ON')
    database.pragma('trusted_schema = OFF')
    return read(database)
  } finally {
    database.close()
  }
}

function expectedSchema(version: number, migrations: readonly Migration[], options: Sqlite.Options): string {
  const model = new Sqlite(':memory:', options)
  try {
    migrate(model, migrations.slice(0, version))
    return describeSchema(model)
  } finally {
    model.close()
  }
}

const damaged = (part: string, problem?: unknown): CofferError =>
  new CofferError('storage', `The store is damaged in ${part}`, problem)

const truncated = (): CofferError => new CofferError('storage', 'The store is truncated: its end is missing')

const newer = (version: number, versionMax: number): CofferError =>
  new CofferError(
    'storage',
    `The store has version ${version}, this software knows up to version ${versionMax}: start a newer version of Coffer`,
  )
