/** Small objects as JSON, by kind and key; and counters. */

import type { Database } from 'better-sqlite3'

interface Thing {
  kind: string
  key: string
  json: string
}

export interface Things {
  all(): IterableIterator<Thing>
  put(kind: string, key: string, json: string): void
  remove(kind: string, key: string): void
  counter(name: string): number
  setCounter(name: string, value: number): void
}

export function prepareThings(database: Database): Things {
  const all = database.prepare<[], Thing>('SELECT kind, key, json FROM things')
  const put = database.prepare(
    'INSERT INTO things VALUES (?, ?, ?) ON CONFLICT (kind, key) DO UPDATE SET json = excluded.json',
  )
  const remove = database.prepare('DELETE FROM things WHERE kind = ? AND key = ?')
  const counter = database.prepare<[string], number>('SELECT value FROM counters WHERE name = ?').pluck()
  const setCounter = database.prepare(
    'INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  return {
    all: () => all.iterate(),
    put: (kind, key, json) => void put.run(kind, key, json),
    remove: (kind, key) => void remove.run(kind, key),
    counter: (name) => counter.get(name) ?? 0,
    setCounter: (name, value) => void setCounter.run(name, value),
  }
}
