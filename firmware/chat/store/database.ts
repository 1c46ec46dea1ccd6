/**
 * A sealed SQLite database: each page, also of the log, is sealed with ChaCha20-Poly1305 under a key of its own by
 * SQLite3 Multiple Ciphers. Durable when a transaction ends.
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

const AUTOCHECKPOINT_PAGES = 1000 // SQLite's own
/** Pages that are given back to the disk in one step: a MiB, so that others wait no longer than for a write. */
const SHRUNK_PAGES = 256
/** Free pages that stay for what comes next: this share of the file, and at least a MiB. */
const SPARE_SHARE = 1 / 8
const SPARE_PAGES_MIN = 256
const CHECKPOINT_DELAY_MS = 1000 // how long what was changed may still be read from the log, sealed

interface DatabaseOptions {
  path: string
  /** 32 bytes; the caller wipes them. */
  key: Uint8Array
  migrations: readonly Migration[]
  /** Where SQLite's native code lies, when not in its package. */
  nativeBinding?: string | undefined
}

export interface SealedDatabase {
  readonly database: Database
  /** False when whoever had it last did not come to close it: killed, or without power. */
  readonly wasClosed: boolean
  readonly logEnd: LogEnd
  /** In free pages of the file, which new rows are written to before the file grows. Throws `storage`. */
  readonly reusableBytes: number
  /** How many transactions it has seen in its life. */
  readonly commits: number
  /** All or nothing, and on disk when it returns. Throws what `changes` throws, or `storage`. Not to be nested. */
  transaction<T>(changes: () => T): T
  /** What was removed or changed lies in the log no longer, which may be said then. While the file is held: once it is released. */
  clearLog(): void
  /** Everything is in the file, and the file stays as it is until `release`. Throws `storage`. */
  hold(): void
  release(): void
  close(): void
}

/** Makes it where there is none. Throws `storage` with the reason when it is damaged, newer or sealed by another key. */
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
        throw new CofferError('storage', 'The chat was written by a newer version of Coffer')
      migrate(database, migrations)
      return sealedDatabase(database, frames === null, logEnd)
    } catch (error) {
      database.close()
      throw error
    }
  })
}

/** Under another name first: a start that is cut short leaves no half-made database in its place. */
function create(options: DatabaseOptions): void {
  const draft = `${options.path}.new`
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(draft + suffix, { force: true })
  closeSync(openSync(draft, 'wx', 0o600)) // SQLite gives its log the same mode
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
    const raw = Buffer.from(`raw:${Buffer.from(key).toString('hex')}`) // no derivation: the key is as long as the cipher's
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
  'auto_vacuum = INCREMENTAL', // takes effect in a new file only, and must come first
  'locking_mode = EXCLUSIVE', // also keeps the index of the log in memory instead of a file
  'journal_mode = WAL',
  'synchronous = FULL',
  'secure_delete = ON', // removed rows are overwritten, not only unlinked
  'temp_store = MEMORY',
  'cell_size_check = ON',
  'trusted_schema = OFF',
  'foreign_keys = OFF',
  'cache_size = -16000', // kibibytes
]

/** Of the log that it has been opened with. */
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
      checkpointLater() // no room for it: the log keeps everything until there is
    }
  }

  const hasSurplus = (): boolean =>
    pragma('auto_vacuum') !== 0 && // 0 in files of former versions, whose free pages are used again, and stay
    pragma('freelist_count') > Math.max(SPARE_PAGES_MIN, pragma('page_count') * SPARE_SHARE)

  /** Gives free pages back to the disk, step by step. The file becomes shorter with the next checkpoint. */
  const shrink = (): void => {
    if (!database.open || held || !hasSurplus()) return
    database.pragma(`incremental_vacuum(${SHRUNK_PAGES})`)
    setImmediate(() => {
      try {
        shrink()
      } catch {} // no room for its log: the next checkpoint tries again
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
