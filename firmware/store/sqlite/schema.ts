/** The schema of the store, as the migrations that lead to it. The place of the version is SQLite's `user_version`. */

import type { Database } from 'better-sqlite3'
import { drawGeneration } from '../generation.ts'

/** "Cofr": what tells our files from those of other programs; SQLite file format, section 1.3.17. */
export const APPLICATION_ID = 0x436f6672

/** Brings a store from version `index` to `index + 1`. */
export type Migration = (database: Database) => void

/** The slot is a number, so that rows lie in its order, in which nothing shows, and are found by one search. */
const createSealedTable = (table: string): string =>
  `CREATE TABLE "${table}" (slot INTEGER PRIMARY KEY, sealed BLOB NOT NULL) STRICT`

/**
 * Append only; a released migration never changes. Each must change the schema: a store whose schema is not that of its
 * version is refused, which also catches an edited version.
 */
export const MIGRATIONS: readonly Migration[] = [
  (database) => {
    database.exec('CREATE TABLE identity (device BLOB NOT NULL) STRICT')
    for (const table of ['device', 'users', 'namespaces', 'keys', 'privateKeys', 'certificates', 'configuration']) {
      database.exec(createSealedTable(table))
    }
  },
  (database) => {
    database.exec(createSealedTable('audit'))
  },
  // Rows that are there belong to the first ring, and count its lines as they count all: firmware/audit/blocks.ts.
  (database) => {
    database.exec('ALTER TABLE audit ADD COLUMN ring INTEGER NOT NULL DEFAULT 0')
    database.exec('ALTER TABLE audit ADD COLUMN number INTEGER')
    database.exec('CREATE INDEX audit_rings ON audit (ring, slot, number)')
  },
  // Counts of operations apart from the keys, and what tells which records there must be: firmware/store/head.ts.
  (database) => {
    for (const table of ['counts', 'heads']) database.exec(createSealedTable(table))
    database.exec('CREATE TABLE generation (value BLOB NOT NULL) STRICT')
    drawGeneration(database)
  },
]

export const readVersion = (database: Database): number => database.pragma('user_version', { simple: true }) as number

/** Runs what is missing, each migration in one transaction. */
export function migrate(database: Database, migrations: readonly Migration[]): void {
  const present = readVersion(database)
  for (const [index, migration] of migrations.slice(present).entries()) {
    database.transaction(() => {
      database.pragma(`application_id = ${APPLICATION_ID}`)
      migration(database)
      database.pragma(`user_version = ${present + index + 1}`)
    })()
  }
}

/** Every statement that made the schema, in one text to compare. */
export const describeSchema = (database: Database): string =>
  database
    .prepare("SELECT type || ' ' || name || ' ' || sql FROM sqlite_schema ORDER BY type, name")
    .pluck()
    .all()
    .join('\n')
