/** The store's file: made whole or not at all, opened by one process, changed in durable transactions. */

import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import Sqlite, { type Database, type Statement } from 'better-sqlite3'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { assertAuthorized } from '../../base/request-authorization.ts'
import { onDisk } from '../failure.ts'
import { drawGeneration } from '../generation.ts'
import { type Rows, type StoreFile, storePath } from '../store.ts'
import { createIdentity, inspectIdentity } from '../store-identity.ts'
import { inspectStore } from './inspect.ts'
import { MIGRATIONS, type Migration, migrate } from './schema.ts'

const LOCK_WAIT_MS = 1000 // a predecessor that was killed needs a moment to be gone
const CHECKPOINT_DELAY_MS = 1000 // how long a removed record may still be read from the log
/** A transaction ends when it is on disk, or when the log of SQLite has it, which is synced before it is moved. */
const SYNCED = 'synchronous = FULL'
const WRITTEN = 'synchronous = NORMAL'

export interface StoreOptions {
  dataDirectory: string
  deviceKey: Uint8Array
  /** Where SQLite's native code lies, when not in its package. */
  nativeBinding?: string
  migrations?: readonly Migration[]
}

const databases = new WeakMap<StoreFile, Database>()

/** SQLite's own handle, for this room alone. */
export const databaseOf = (store: StoreFile): Database => defined(databases.get(store))

/** True when there is something that a new store must not replace. */
const storeExists = (dataDirectory: string): boolean =>
  existsSync(storePath(dataDirectory)) || existsSync(`${storePath(dataDirectory)}-wal`)

/**
 * Opens the store, or makes it where there is none. Throws `storage` with the reason when it is in use, foreign,
 * damaged, from newer software or of another device; its files are then as before.
 */
export function openStore({
  dataDirectory,
  deviceKey,
  nativeBinding,
  migrations = MIGRATIONS,
}: StoreOptions): StoreFile {
  const options: Sqlite.Options = { timeout: LOCK_WAIT_MS, ...(nativeBinding === undefined ? {} : { nativeBinding }) }
  const path = storePath(dataDirectory)
  return onDisk(() => {
    mkdirSync(dataDirectory, { recursive: true, mode: 0o700 })
    const lock = lockDirectory(join(dataDirectory, 'store.lock'), options)
    try {
      if (storeExists(dataDirectory)) {
        if (!existsSync(path)) throw new CofferError('storage', 'The store is missing, but its log is still there')
        inspectStore(path, migrations, options, (database) => inspectIdentity(database, deviceKey))
      } else create(path, deviceKey, migrations, options)
      return openFile(path, migrations, options, lock)
    } catch (error) {
      lock.close()
      throw error
    }
  })
}

/** A lock of the operating system, gone with the process: SQLite takes it on an empty file beside the store. */
function lockDirectory(path: string, options: Sqlite.Options): Database {
  closeSync(openSync(path, 'a', 0o600))
  const lock = new Sqlite(path, options)
  try {
    lock.pragma('journal_mode = MEMORY') // nothing is ever written: no journal either
    lock.exec('BEGIN EXCLUSIVE')
    return lock
  } catch (error) {
    lock.close()
    throw error
  }
}

/**
 * Under another name first: a start that is cut short leaves no half-made store in the place of a store. Node's
 * permission model forbids fsync, and none is missed: the checkpoint syncs the draft, and SQLite syncs the directory,
 * the new name with it, when it first syncs the log that the store's first transaction makes.
 */
function create(path: string, deviceKey: Uint8Array, migrations: readonly Migration[], options: Sqlite.Options): void {
  const draft = `${path}.new`
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(draft + suffix, { force: true })
  closeSync(openSync(draft, 'wx', 0o600)) // SQLite gives its log the same mode
  const database = new Sqlite(draft, options)
  try {
    configure(database)
    database.transaction(() => {
      migrate(database, migrations)
      createIdentity(database, deviceKey)
    })()
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
  renameSync(draft, path)
}

/** From now on SQLite loads no native code, which it would without asking Node's permission model. */
export function forgetExtensions(): void {
  const database = new Sqlite(':memory:') as Database & Record<symbol, unknown>
  const natives = Object.getOwnPropertySymbols(database).map((symbol) => database[symbol])
  for (const object of [database, ...natives])
    if (typeof object === 'object') delete Object.getPrototypeOf(object).loadExtension
  database.close()
}

function configure(database: Database): void {
  for (const setting of [
    'locking_mode = EXCLUSIVE', // also keeps the index of the log in memory instead of a file
    'journal_mode = WAL',
    SYNCED,
    'secure_delete = ON', // removed records are overwritten, not only unlinked
    'temp_store = MEMORY',
    'cell_size_check = ON',
    'trusted_schema = OFF',
    'cache_size = -16000', // kibibytes; the file's own default is not ours to trust
  ]) {
    database.pragma(setting)
  }
}

function openFile(path: string, migrations: readonly Migration[], options: Sqlite.Options, lock: Database): StoreFile {
  const database = new Sqlite(path, { ...options, fileMustExist: true })
  let pending: NodeJS.Timeout | undefined
  let writes = 0
  let claimed = false

  const commit = (changes: () => void): void => {
    onDisk(() => database.transaction(changes).immediate())
    writes++
  }
  const transaction = (changes: () => void): void => {
    assertAuthorized()
    commit(changes)
    checkpointLater()
  }
  const record = (changes: () => void, synced: boolean): void => {
    if (!synced) database.pragma(WRITTEN)
    try {
      commit(changes)
    } finally {
      if (!synced) database.pragma(SYNCED)
    }
  }
  const expectUnclaimed = (): void => {
    if (claimed) throw new CofferError('busy', 'A backup is being restored, try again')
  }

  const pragma = (name: string): number => database.pragma(name, { simple: true }) as number

  const checkpoint = (): void => {
    clearTimeout(pending)
    pending = undefined
    try {
      database.pragma('wal_checkpoint(TRUNCATE)')
    } catch {
      checkpointLater() // no room for it: the log keeps everything until there is
    }
  }
  const checkpointLater = (): void => {
    pending ??= setTimeout(checkpoint, CHECKPOINT_DELAY_MS).unref()
  }

  try {
    configure(database)
    migrate(database, migrations)
  } catch (error) {
    database.close()
    throw error
  }
  checkpoint()
  const store: StoreFile = {
    transaction(changes) {
      assertAuthorized() // before the caller waits for a restore
      expectUnclaimed()
      transaction(changes)
    },
    lastTransaction: transaction,
    record,
    adopt(changes) {
      record(changes, false)
      checkpointLater()
    },
    lockStore() {
      expectUnclaimed()
      claimed = true
      const rows = rowsOf(database)
      return {
        transaction: (changes) =>
          transaction(() => {
            changes(rows)
            drawGeneration(database)
          }),
        release: () => {
          claimed = false
        },
      }
    },
    get reusableBytes() {
      return onDisk(() => pragma('freelist_count') * pragma('page_size'))
    },
    get writes() {
      return writes
    },
    checkpoint,
    close() {
      clearTimeout(pending)
      try {
        if (database.open) onDisk(() => database.close()) // the last connection moves the log and removes it
      } finally {
        lock.close()
      }
    },
  }
  databases.set(store, database)
  return store
}

function rowsOf(database: Database): Rows {
  const inserts = new Map<string, Statement<[bigint, Uint8Array]>>()
  const insertInto = (table: string): Statement<[bigint, Uint8Array]> => {
    const known = inserts.get(table)
    if (known !== undefined) return known
    const insert = database.prepare<[bigint, Uint8Array]>(`INSERT INTO "${table}" (slot, sealed) VALUES (?, ?)`)
    inserts.set(table, insert)
    return insert
  }
  return {
    clear: (table) => database.exec(`DELETE FROM "${table}"`),
    insert: (table, { slot, sealed }) => insertInto(table).run(slot, sealed),
  }
}
