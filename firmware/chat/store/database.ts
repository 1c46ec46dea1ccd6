/**
 * A sealed SQLite database. SQLite3 Multiple Ciphers seals each page, also in the log, with ChaCha20-Poly1305. A transaction is durable
 * when it returns.
 */

import { closeSync, existsSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Database } from 'better-sqlite3'
import Sqlite from 'better-sqlite3-multiple-ciphers'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import { onDisk } from '../../store/failure.ts'
import { endOfLog, type LogEnd, readFrames } from './log-end.ts'
import { type Migration, migrate, readVersion } from './schema.ts'

const AUTOCHECKPOINT_PAGES = 1000 // SQLite's default
/** Pages that one step returns to the file system: 1 MiB, so that others wait no longer than for a write. */
const SHRUNK_PAGES = 256
/** Free pages that stay for new rows: this share of the file, and at least 1 MiB. */
const SPARE_SHARE = 1 / 8
const SPARE_PAGES_MIN = 256
const CHECKPOINT_DELAY_MS = 1000 // how long the old, sealed content of changed rows may remain in the log

interface DatabaseOptions {
  path: string
  /** 32 bytes. The caller wipes them. */
  key: Uint8Array
  migrations: readonly Migration[]
  /** Path of SQLite's native code, if it is not in its package. */
  nativeBinding?: string | undefined
}

export interface SealedDatabase {
  readonly database: Database
  /** False after a crash or a power failure. */
  readonly wasClosed: boolean
  readonly logEnd: LogEnd
  /** Bytes of free pages in the file, which new rows fill before the file grows. Throws `storage`. */
  readonly reusableBytes: number
  readonly commits: number
  /** Atomic, and durable on return. Throws whatever `changes` throws, or `storage`. Must not be nested. */
  transaction<T>(changes: () => T): T
  /** Checkpoints the log, so that it no longer contains removed or replaced rows. While the file is held, `release` does this. */
  clearLog(): void
  /** Moves the log into the file and freezes the file until `release`. Throws `storage`. */
  hold(): void
  release(): void
  close(): void
}

/** Creates a missing database. Throws `storage` with the reason if it is damaged, newer than this version, or sealed with another key. */
export function openDatabase(options: DatabaseOptions): SealedDatabase {
  const { path, migrations } = options
  return onDisk(() => {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    if (!existsSync(path)) {
      if (existsSync(`${path}-wal`)) throw new CofferError('storage', 'The chat is missing, but its log is still there')
      create(options)
    }
    const log = `${path}-wal`
    const frames = existsSync(log) ? readFrames(log) : null
    const database = open(options)
    try {
      const logEnd = frames === null ? 'whole' : endOfLog(frames, framesTaken(database))
      if (readVersion(database) > migrations.length)
        throw new CofferError(
          'storage',
          'The chat was written by a newer version of Coffer: start that version or a newer one',
        )
      migrate(database, migrations)
      return sealedDatabase(database, frames === null, logEnd)
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Creates it under a temporary name, so that a crash leaves no incomplete database behind. */
function create(options: DatabaseOptions): void {
  const draft = `${options.path}.new`
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(draft + suffix, { force: true })
  closeSync(openSync(draft, 'wx', 0o600)) // SQLite creates the log with the same mode
  const database = open({ ...options, path: draft })
  try {
    migrate(database, options.migrations)
    database.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    database.close()
  }
  renameSync(draft, options.path)
}

function open({ path, key, nativeBinding }: DatabaseOptions): Database {
  const database = new Sqlite(path, { fileMustExist: true, ...(nativeBinding === undefined ? {} : { nativeBinding }) })
  try {
    database.pragma("cipher = 'chacha20'")
    const raw = Buffer.from(`raw:${Buffer.from(key).toString('hex')}`) // no key derivation: the key already has the cipher's length
    try {
      database.key(raw)
    } finally {
      wipe(raw)
    }
    for (const setting of SETTINGS) database.pragma(setting)
    return database
  } catch (error) {
    database.close()
    throw error
  }
}

const SETTINGS: readonly string[] = [
  'auto_vacuum = INCREMENTAL', // applies to new files only; must come first
  'locking_mode = EXCLUSIVE', // also keeps the index of the log in memory instead of in a file
  'journal_mode = WAL',
  'synchronous = FULL',
  'secure_delete = ON', // overwrites removed rows
  'temp_store = MEMORY',
  'cell_size_check = ON',
  'trusted_schema = OFF',
  'foreign_keys = OFF',
  'cache_size = -16000', // kibibytes
]

/** Number of log frames that SQLite accepted when it opened the database. */
function framesTaken(database: Database): number {
  const [{ log }] = database.pragma('wal_checkpoint(NOOP)') as [{ log: number }]
  return log
}

function sealedDatabase(database: Database, wasClosed: boolean, logEnd: LogEnd): SealedDatabase {
  let pending: NodeJS.Timeout | undefined
  let held = false
  const changesSoFar = database.prepare<[], number>('SELECT total_changes()').pluck()
  const count = database.prepare(
    "INSERT INTO counters VALUES ('commits', 1) ON CONFLICT (name) DO UPDATE SET value = value + 1",
  )

  const commits = database.prepare<[], number>("SELECT value FROM counters WHERE name = 'commits'").pluck()

  const pragma = (name: string): number => database.pragma(name, { simple: true }) as number

  const checkpoint = (): void => {
    pending = undefined
    try {
      if (!database.open || held) return
      database.pragma('wal_checkpoint(TRUNCATE)')
      shrink()
    } catch {
      checkpointLater() // no space left: the log keeps everything until there is
    }
  }

  const hasSurplus = (): boolean =>
    pragma('auto_vacuum') !== 0 && // 0 in files of former versions: they reuse free pages and never shrink
    pragma('freelist_count') > Math.max(SPARE_PAGES_MIN, pragma('page_count') * SPARE_SHARE)

  /** Returns free pages to the file system, step by step. The file shrinks at the next checkpoint. */
  const shrink = (): void => {
    if (!database.open || held || !hasSurplus()) return
    database.pragma(`incremental_vacuum(${SHRUNK_PAGES})`)
    setImmediate(() => {
      try {
        shrink()
      } catch {} // no space for the log: the next checkpoint tries again
    }).unref()
    checkpointLater()
  }
  const checkpointLater = (): void => {
    pending ??= setTimeout(checkpoint, CHECKPOINT_DELAY_MS).unref()
  }

  return {
    database,
    wasClosed,
    logEnd,
    get reusableBytes() {
      return onDisk(() => pragma('freelist_count') * pragma('page_size'))
    },
    get commits() {
      return onDisk(() => commits.get() ?? 0)
    },
    transaction(changes) {
      return onDisk(() => {
        const before = changesSoFar.get()
        const result = database
          .transaction(() => {
            const result = changes()
            if (changesSoFar.get() !== before) count.run()
            return result
          })
          .immediate()
        if (changesSoFar.get() !== before) checkpointLater()
        return result
      })
    },
    clearLog() {
      clearTimeout(pending)
      checkpoint()
    },
    hold() {
      onDisk(() => {
        const [moved] = database.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[]
        if (moved?.busy !== 0) throw new CofferError('storage', 'The log of the chat cannot be moved into its file')
        database.pragma('wal_autocheckpoint = 0')
        held = true
      })
    },
    release() {
      held = false
      if (!database.open) return
      database.pragma(`wal_autocheckpoint = ${AUTOCHECKPOINT_PAGES}`)
      checkpointLater()
    },
    close() {
      clearTimeout(pending)
      if (database.open) onDisk(() => database.close())
    },
  }
}
