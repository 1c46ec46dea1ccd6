/** The chat's database for the realm: transactions, and one object of prepared statements per table. */

import { join } from 'node:path'
import type { Database, Statement } from 'better-sqlite3'
import { createBatchSize, threadMs } from '../../base/batch-size.ts'
import { wipe } from '../../base/secret.ts'
import { deriveSealKey } from '../../crypto/seal.ts'
import { onDisk } from '../../store/failure.ts'
import { type Copying, createCopying } from './copying.ts'
import { openDatabase, type SealedDatabase } from './database.ts'
import { FILE_MIGRATIONS, type Files, prepareFiles } from './files.ts'
import { type Flags, prepareFlags } from './flags.ts'
import { prepareSends, type Sends } from './idempotent-sends.ts'
import { inspectInSlices } from './inspect.ts'
import type { LogEnd } from './log-end.ts'
import { type Messages, prepareMessages } from './messages.ts'
import { prepareThings, type Things } from './objects.ts'
import { preparePlacements } from './placements.ts'
import { prepareQueues, type SavedQueues } from './queues.ts'
import { MIGRATIONS, type Migration } from './schema.ts'
import { prepareTopics, type Topics } from './topics.ts'
import { prepareUploads, type Uploads } from './uploads.ts'
import { prepareWords, type Words } from './words.ts'

export interface StoreOptions {
  directory: string
  chatKey: Uint8Array
  nativeBinding?: string | undefined
}

export interface ChatStore {
  readonly things: Things
  readonly messages: Messages
  readonly topics: Topics
  readonly words: Words
  readonly flags: Flags
  readonly queues: SavedQueues
  readonly sends: Sends
  readonly uploads: Uploads
  readonly files: Files
  /** Atomic, and durable on return. Called by the realm's `transaction`. */
  transaction<T>(changes: () => T): T
  /** Removes deleted content from the log as well. During a backup this happens when the backup ends. */
  clearLog(): void
  /** Runs a generated statement, such as that of a narrow. Input of users must be in `parameters`, never in `sql`. */
  select<T>(sql: string, parameters: readonly unknown[]): T[]
  /** Free pages of each database, in bytes. Throws `storage`. */
  readonly reusableBytes: Readonly<Record<DatabaseName, number>>
  /** Number of transactions in the lifetime of the chat's database. */
  readonly commits: number
  commitsOfEach(): Commits
  readonly copying: Copying
  /** State of each database's log at opening. */
  readonly logEnds: Record<DatabaseName, LogEnd>
  /** Checks all databases in time slices if they were not closed properly. Calls `report` with the first damage. */
  inspectAfterKill(report: (problem: string) => void): void
  close(): void
}

export const DATABASES = ['chat.db', 'files.db'] as const
export type DatabaseName = (typeof DATABASES)[number]
export type Commits = Record<DatabaseName, number>

export const databasePath = (directory: string): string => join(directory, DATABASES[0])

/** Throws `storage` with the reason. */
export function openStore(options: StoreOptions): ChatStore {
  const chat = open(options, 'chat.db', MIGRATIONS)
  let files: Opened
  let words: Words
  try {
    words = onDisk(() => prepareWords(chat.sealed.database))
    files = open(options, 'files.db', FILE_MIGRATIONS)
  } catch (error) {
    chat.sealed.close()
    throw error
  }
  const copying = createCopying([chat, files])
  const { database, transaction } = chat.sealed
  const placements = preparePlacements(database)
  workInSlices(chat.sealed, { isDone: () => words.isSettled, run: words.index, againMs: SETTLING_MS })
  workInSlices(chat.sealed, { isDone: () => placements.isComplete, run: placements.fill })
  const things = prepareThings(database)
  const prepared = preparedOnce(database)
  return {
    things,
    messages: prepareMessages(database, words, placements),
    topics: prepareTopics(database, words),
    words,
    flags: prepareFlags(database),
    queues: prepareQueues(database),
    sends: prepareSends(database),
    uploads: prepareUploads(database),
    files: prepareFiles(files.sealed),
    transaction,
    clearLog: chat.sealed.clearLog,
    select: <T>(sql: string, parameters: readonly unknown[]) => prepared(sql).all(...parameters) as T[],
    reusableBytes: {
      get 'chat.db'() {
        return chat.sealed.reusableBytes
      },
      get 'files.db'() {
        return files.sealed.reusableBytes
      },
    },
    get commits() {
      return chat.sealed.commits
    },
    commitsOfEach: () => ({ 'chat.db': chat.sealed.commits, 'files.db': files.sealed.commits }),
    copying,
    logEnds: { 'chat.db': chat.sealed.logEnd, 'files.db': files.sealed.logEnd },
    inspectAfterKill(report) {
      for (const { sealed } of [chat, files]) if (!sealed.wasClosed) inspectInSlices(sealed.database, report)
    },
    close() {
      copying.close()
      files.sealed.close()
      chat.sealed.close()
    },
  }
}

/** Caches prepared statements: narrows use few different ones. */
function preparedOnce(database: Database): (sql: string) => Statement {
  const statements = new Map<string, Statement>()
  return (sql) => {
    const known = statements.get(sql)
    if (known !== undefined) return known
    if (statements.size === STATEMENTS_MAX) statements.clear()
    const statement = database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
}

const STATEMENTS_MAX = 100

/** Work on all messages that runs beside requests. */
interface SlicedWork {
  isDone(): boolean
  /** Handles so many messages. Called in a transaction. */
  run(count: number): void
  /** Interval of further checks once it is done; none by default. */
  againMs?: number
}

function workInSlices({ database, transaction }: SealedDatabase, { isDone, run, againMs }: SlicedWork): void {
  const step = createBatchSize({ start: INDEXED_FIRST, max: INDEXED_MAX, targetMs: INDEXING_MS })
  const next = (): void => {
    if (!database.open) return
    const beganMs = threadMs()
    try {
      if (isDone()) {
        if (againMs !== undefined) setTimeout(next, againMs).unref()
        return
      }
      transaction(() => run(step.value))
    } catch {
      setTimeout(next, INDEXING_RETRY_MS).unref() // no space, or damage, which other code reports: the rest waits
      return
    }
    step.took(threadMs() - beganMs)
    setImmediate(next).unref()
  }
  setImmediate(next).unref()
}

const INDEXED_FIRST = 100 // messages
const INDEXED_MAX = 2000
const INDEXING_MS = 10 // of one time slice
const INDEXING_RETRY_MS = 60_000
const SETTLING_MS = 5000 // interval between checks for renamed or moved topics

interface Opened {
  path: string
  sealed: SealedDatabase
}

function open(
  { directory, chatKey, nativeBinding }: StoreOptions,
  name: DatabaseName,
  migrations: readonly Migration[],
): Opened {
  const path = join(directory, name)
  const key = deriveSealKey(chatKey, name)
  try {
    return { path, sealed: openDatabase({ path, key, migrations, nativeBinding }) }
  } finally {
    wipe(key)
  }
}
