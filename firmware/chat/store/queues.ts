/** Event queues that are kept from one start to the next. */

import type { Database } from 'better-sqlite3'

export interface SavedQueues {
  /** Yields the JSON of one queue at a time: all together may be large. */
  all(): Iterable<string>
  add(id: string, json: string): void
  clear(): void
}

export function prepareQueues(database: Database): SavedQueues {
  const all = database.prepare<[], string>('SELECT json FROM queues').pluck()
  const add = database.prepare('INSERT INTO queues VALUES (?, ?)')
  const clear = database.prepare('DELETE FROM queues')
  return { all: () => all.iterate(), add: (id, json) => void add.run(id, json), clear: () => void clear.run() }
}
