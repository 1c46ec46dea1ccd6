/** Event queues that are kept from one start to the next. */

import type { Database } from 'better-sqlite3'

export interface SavedQueues {
  all(): { id: string; json: string }[]
  add(id: string, json: string): void
  clear(): void
}

export function prepareQueues(database: Database): SavedQueues {
  const all = database.prepare<[], { id: string; json: string }>('SELECT id, json FROM queues')
  const add = database.prepare('INSERT INTO queues VALUES (?, ?)')
  const clear = database.prepare('DELETE FROM queues')
  return { all: () => all.all(), add: (id, json) => void add.run(id, json), clear: () => void clear.run() }
}
