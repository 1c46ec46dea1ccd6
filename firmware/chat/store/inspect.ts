/** A look through all of a database after an end that was none: table by table, so that requests go on between. */

import type { Database } from 'better-sqlite3'

/**
 * `report` hears of the first damage; nothing is mended. Stops early when the database is closed. SQLite's
 * `integrity_check` reads each page, and a page that was changed under its seal cannot be read.
 */
export function inspectInSlices(database: Database, report: (problem: string) => void): void {
  // Not those without pages of their own: FTS5 would go through all words of an index at once, whose tables are here, too.
  const sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0"
  const named = database.prepare<[], string>(sql).pluck().all()
  const tables = ['sqlite_schema', ...named] // with the first of them SQLite looks through the unused pages
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
