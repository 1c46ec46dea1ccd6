/**
 * The rows of some tables as they were at one moment, read bit by bit while writes go on. The store has one connection
 * and no readers beside it, so triggers keep what each write replaces: SQLite, "CREATE TRIGGER", temporary triggers.
 */

import { closeSync, openSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Database } from 'better-sqlite3'
import { defined } from '../base/defined.ts'
import { CofferError } from '../base/error.ts'
import { onDisk } from './failure.ts'
import { BEFORE_FIRST } from './sealed-table.ts'
import { databaseOf } from './sqlite/file.ts'
import type { Row, StoreFile } from './store.ts'

const PAGE_ROWS = 64
const PAGE_BYTES = 256 * 1024 // certificates may have a megabyte each

export interface Snapshot {
  /** All rows of a table in the order of their slots, some at once. Asks for the next ones when it is resumed. */
  pages(table: string): Generator<Row[]>
  row(table: string, slot: bigint): Row | null
  /** Writes leave nothing behind any more. A second call does nothing. */
  close(): void
}

const pathIn = (dataDirectory: string): string => join(dataDirectory, 'replaced.db')

/** A process that is killed between making the file and unlinking it leaves the name behind. */
export const removeSnapshot = (dataDirectory: string): void => rmSync(pathIn(dataDirectory), { force: true })

/** One at a time; throws `busy` while there is another. */
export function takeSnapshot(store: StoreFile, tables: readonly string[]): Snapshot {
  const database = databaseOf(store)
  const path = pathIn(dirname(database.name))
  return onDisk(() => {
    if (isAttached(database)) throw new CofferError('busy', 'A backup is being made, try again')
    closeSync(openSync(path, 'w', 0o600))
    try {
      database.prepare('ATTACH ? AS replaced').run(path)
      database.pragma('replaced.journal_mode = MEMORY')
      database.pragma('replaced.synchronous = OFF') // nobody reads it after a crash
      database.transaction(() => {
        for (const table of tables) watch(database, table)
      })()
      const rowIn = new Map(tables.map((table) => [table, rowReader(database, table)]))
      return {
        pages: (table) => pages(database, table),
        row: (table, slot) => defined(rowIn.get(table))(slot),
        close: () => unwatch(database, tables),
      }
    } catch (error) {
      unwatch(database, tables)
      throw error
    } finally {
      rmSync(path) // it lives on until it is closed, and no longer, however the process ends
    }
  })
}

const isAttached = (database: Database): boolean =>
  (database.pragma('database_list') as { name: string }[]).some(({ name }) => name === 'replaced')

const formerOf = (table: string): string => `replaced ${table}`

/** The first write to a slot keeps what was in it, null for nothing. An upsert begins like an insertion. */
function watch(database: Database, table: string): void {
  const former = formerOf(table)
  database.exec(`CREATE TABLE replaced."${former}" (slot INTEGER PRIMARY KEY, sealed BLOB) STRICT`)
  const present = `(SELECT sealed FROM "${table}" WHERE slot = NEW.slot)`
  for (const [event, slot, sealed] of [
    ['INSERT', 'NEW.slot', present],
    ['UPDATE', 'OLD.slot', 'OLD.sealed'],
    ['DELETE', 'OLD.slot', 'OLD.sealed'],
  ]) {
    database.exec(
      `CREATE TEMP TRIGGER "${former} ${event}" BEFORE ${event} ON main."${table}"
       WHEN NOT EXISTS (SELECT 1 FROM "${former}" WHERE slot = ${slot})
       BEGIN INSERT INTO "${former}" (slot, sealed) VALUES (${slot}, ${sealed}); END`,
    )
  }
}

function unwatch(database: Database, tables: readonly string[]): void {
  if (!database.open || !isAttached(database)) return
  for (const table of tables) {
    for (const event of ['INSERT', 'UPDATE', 'DELETE'])
      database.exec(`DROP TRIGGER IF EXISTS temp."${formerOf(table)} ${event}"`)
  }
  database.exec('DETACH replaced')
}

function* pages(database: Database, table: string): Generator<Row[]> {
  const former = `replaced."${formerOf(table)}"`
  const select = onDisk(() =>
    database
      .prepare<[bigint, bigint], Row>(
        `SELECT slot, sealed FROM main."${table}" AS present
         WHERE slot > ? AND NOT EXISTS (SELECT 1 FROM ${former} WHERE slot = present.slot)
         UNION ALL SELECT slot, sealed FROM ${former} WHERE slot > ? AND sealed IS NOT NULL
         ORDER BY slot LIMIT ${PAGE_ROWS}`,
      )
      .safeIntegers(),
  )
  let after = BEFORE_FIRST
  for (;;) {
    const page = onDisk(() => takePage(select.iterate(after, after)))
    const last = page.at(-1)
    if (last === undefined) return
    after = last.slot
    yield page
  }
}

function rowReader(database: Database, table: string): (slot: bigint) => Row | null {
  const prepare = (from: string) =>
    database.prepare<[bigint], { sealed: Uint8Array | null }>(`SELECT sealed FROM ${from} WHERE slot = ?`)
  const former = prepare(`replaced."${formerOf(table)}"`)
  const present = prepare(`main."${table}"`)
  return (slot) => {
    const row = onDisk(() => former.get(slot) ?? present.get(slot))
    return row?.sealed == null ? null : { slot, sealed: row.sealed }
  }
}

function takePage(rows: Iterable<Row>): Row[] {
  const page: Row[] = []
  let bytes = 0
  for (const row of rows) {
    page.push(row)
    bytes += row.sealed.length
    if (bytes >= PAGE_BYTES) break
  }
  return page
}
