/** Topics: their names, and changes of whole topics. Messages refer to them. A topic without messages has no row. */

import type { Database } from 'better-sqlite3'
import { defined } from '../../base/defined.ts'
import type { Words } from './words.ts'

export interface TopicRow {
  readonly id: number
  readonly recipient: number
  readonly name: string
  readonly folded: string
}

/** Numbers ascend over all topics. */
export interface TopicMoveRow {
  number: number
  /** The largest id of a message that the move affected. */
  through: number
  json: string
}

export interface Topics {
  get(id: number): TopicRow | undefined
  find(recipient: number, folded: string): TopicRow | undefined
  newest(id: number): number | undefined
  add(recipient: number, name: string, folded: string): number
  /** Renames or moves the topic together with all of its messages. */
  rename(id: number, recipient: number, name: string, folded: string): void
  /** Also removes its moves. */
  remove(id: number): void
  addMove(topic: number, through: number, json: string): number
  /** Moves after a number that affected a message, newest first. */
  movesOf(topic: number, after: number, message: number): TopicMoveRow[]
  /** The largest number of its moves; 0 without any. */
  newestMove(topic: number): number
  /** Topics of a recipient with the id of their newest message, newest first. */
  list(recipient: number): { id: number; name: string; maxId: number }[]
}

const KNOWN_MAX = 10_000 // rows kept in memory

export function prepareTopics(database: Database, words: Words): Topics {
  const get = database.prepare<[number], TopicRow>('SELECT * FROM topics WHERE id = ?')
  const find = database.prepare<[number, string], TopicRow>('SELECT * FROM topics WHERE recipient = ? AND folded = ?')
  const newest = database
    .prepare<[number], number | null>('SELECT max(id) FROM messages WHERE topic = ? AND topic > 0')
    .pluck()
  const add = database.prepare('INSERT INTO topics (recipient, name, folded) VALUES (?, ?, ?)')
  const rename = database.prepare('UPDATE topics SET recipient = ?, name = ?, folded = ? WHERE id = ?')
  const remove = database.prepare('DELETE FROM topics WHERE id = ?')
  const removeMoves = database.prepare('DELETE FROM topic_moves WHERE topic = ?')
  const addMove = database.prepare('INSERT INTO topic_moves (topic, through, json) VALUES (?, ?, ?)')
  const movesOf = database.prepare<[number, number, number], TopicMoveRow>(
    'SELECT number, through, json FROM topic_moves WHERE topic = ? AND number > ? AND through >= ? ORDER BY number DESC',
  )
  const newestMove = database
    .prepare<[number], number | null>('SELECT max(number) FROM topic_moves WHERE topic = ?')
    .pluck()
  const list = database.prepare<[number], { id: number; name: string; maxId: number }>(
    `SELECT id, name, (SELECT max(id) FROM messages WHERE topic = topics.id AND topic > 0) AS maxId
     FROM topics WHERE recipient = ? AND maxId IS NOT NULL ORDER BY maxId DESC`,
  )
  const known = new Map<number, TopicRow>() // committed rows: successive pages of messages need the same topics

  function read(id: number): TopicRow | undefined {
    const seen = known.get(id)
    if (seen !== undefined) return seen
    const row = get.get(id)
    if (row === undefined || database.inTransaction) return row
    if (known.size >= KNOWN_MAX) known.clear()
    known.set(id, row)
    return row
  }

  return {
    get: read,
    find: (recipient, folded) => find.get(recipient, folded),
    newest: (id) => newest.get(id) ?? undefined,
    add: (recipient, name, folded) => Number(add.run(recipient, name, folded).lastInsertRowid),
    rename(id, recipient, name, folded) {
      words.renameTopic(id, defined(get.get(id)).name, name)
      rename.run(recipient, name, folded, id)
      known.delete(id)
    },
    remove(id) {
      words.removeTopic(id, defined(get.get(id)).name)
      remove.run(id)
      known.delete(id)
      removeMoves.run(id)
    },
    addMove: (topic, through, json) => Number(addMove.run(topic, through, json).lastInsertRowid),
    movesOf: (topic, after, message) => movesOf.all(topic, after, message),
    newestMove: (topic) => newestMove.get(topic) ?? 0,
    list: (recipient) => list.all(recipient),
  }
}
