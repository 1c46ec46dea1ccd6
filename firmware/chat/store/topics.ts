/** Topics: their names once, messages refer to them. A topic without messages has no row. */

import type { Database } from 'better-sqlite3'

export interface TopicRow {
  id: number
  recipient: number
  name: string
  folded: string
}

export interface Topics {
  get(id: number): TopicRow | undefined
  find(recipient: number, folded: string): TopicRow | undefined
  /** Id of its newest message. */
  newest(id: number): number | undefined
  add(recipient: number, name: string, folded: string): number
  rename(id: number, name: string, folded: string): void
  remove(id: number): void
  /** Those of a recipient with their newest message, newest first. */
  list(recipient: number): { id: number; name: string; maxId: number }[]
}

export function prepareTopics(database: Database): Topics {
  const get = database.prepare<[number], TopicRow>('SELECT * FROM topics WHERE id = ?')
  const find = database.prepare<[number, string], TopicRow>('SELECT * FROM topics WHERE recipient = ? AND folded = ?')
  const newest = database
    .prepare<[number], number | null>('SELECT max(id) FROM messages WHERE topic = ? AND topic > 0')
    .pluck()
  const add = database.prepare('INSERT INTO topics (recipient, name, folded) VALUES (?, ?, ?)')
  const rename = database.prepare('UPDATE topics SET name = ?, folded = ? WHERE id = ?')
  const remove = database.prepare('DELETE FROM topics WHERE id = ?')
  const list = database.prepare<[number], { id: number; name: string; maxId: number }>(
    `SELECT id, name, (SELECT max(id) FROM messages WHERE topic = topics.id AND topic > 0) AS maxId
     FROM topics WHERE recipient = ? AND maxId IS NOT NULL ORDER BY maxId DESC`,
  )
  return {
    get: (id) => get.get(id),
    find: (recipient, folded) => find.get(recipient, folded),
    newest: (id) => newest.get(id) ?? undefined,
    add: (recipient, name, folded) => Number(add.run(recipient, name, folded).lastInsertRowid),
    rename: (id, name, folded) => void rename.run(name, folded, id),
    remove: (id) => void remove.run(id),
    list: (recipient) => list.all(recipient),
  }
}
