/** Checks a whole database after a crash, table by table, so that requests run in between. */

import type { Database } from 'better-sqlite3'

/**
 * Calls `report` with the first damage and repairs nothing. Stops when the database is closed. SQLite's `integrity_check` reads each page,
 * and a page that was modified outside of SQLite cannot be unsealed.
 */
export function inspectInSlices(database: Database, report: (problem: string) => void): void {
  // Skips virtual tables: FTS5 would check a complete index in one step. Their backing tables are in the list.
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
  const named = database.prepare<[], string>(sql).pluck().all()
  const tables = ['sqlite_schema', ...named] // SQLite checks the free pages together with this one
  const next = (): void => {
    const table = tables.pop()
    if (table === undefined || !database.open) return
    const problem = problemOf(database, table)
    if (problem === null) setImmediate(next).unref()
    else report(problem)
  }
  setImmediate(next).unref()
}

function problemOf(database: Database, table: string): string | null {
  try {
    const [answer] = database.pragma(`integrity_check("${table}")`) as { integrity_check: string }[]
    return answer?.integrity_check === 'ok' ? null : `${table}: ${answer?.integrity_check}`
  } catch (error) {
    return `${table}: ${(error as { code?: string }).code ?? 'unreadable'}`
  }
}
