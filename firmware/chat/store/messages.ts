/** Messages: read when they are asked for, never kept in memory. */

import type { Database } from 'better-sqlite3'
import { type IndexedMessage, isIndexedAs, type Words } from './words.ts'

export interface MessageRow {
  id: number
  sender: number
  /** The recipient that it lies in now: a channel's or a conversation's. */
  recipient: number
  /** 0 in a conversation. */
  topic: number
  /** Seconds. */
  time: number
  /** The recipient that it was sent to, and its number there: both stay when it is moved. */
  birth: number
  ordinal: number
  /** The number that it took in the private channel that it was moved into; 0: it was not. */
  arrival: number
  /** See realm/model/message-bits.ts. */
  bits: number
  client: string
  content: string
  html: string
  /** JSON: see realm/model/message-extra.ts. */
  extra: string
}

/** What an export has of it: the HTML follows from the content. */
export type ExportedRow = Omit<MessageRow, 'html' | 'bits'>

/** One that is new has not been moved. */
type NewRow = Omit<MessageRow, 'id' | 'arrival'>

/** What tells where a message lies and who has it. */
export type PlacedRow = Pick<MessageRow, 'id' | 'sender' | 'recipient' | 'topic' | 'birth' | 'ordinal' | 'arrival'>

const MESSAGE_COLUMNS =
  'messages.id, sender, messages.recipient, topic, time, birth, ordinal, arrival, bits, client, content, html, extra'
export const PLACED_COLUMNS = 'id, sender, recipient, topic, birth, ordinal, arrival'

type Place = Pick<MessageRow, 'recipient' | 'topic' | 'extra'> & { arrival: number | null }

export interface Messages {
  get(id: number): MessageRow | undefined
  /** Returns the id, larger than any before. */
  add(row: NewRow): number
  /** What it says, and what is known of that: `bits`, `client`, `content`, `html` and `extra`. */
  update(row: MessageRow): void
  /** All of a topic, to another recipient. */
  moveTopic(topic: number, recipient: number, arrival: number): void
  /** The same of some messages, which may get another topic, too. `arrival`: null as it is. */
  place(ids: readonly number[], place: Place): void
  /** Of some messages those that have one. */
  extrasOf(ids: readonly number[]): Pick<MessageRow, 'id' | 'extra'>[]
  /** Of some messages how many are not older, and the first of them. */
  sentSince(ids: readonly number[], time: number): { count: number; first: number | null }
  remove(id: number): void
  /** Recipients that messages were sent to which lie in this one now, itself among them; at most `limit`. */
  birthsOf(recipient: number, limit: number): number[]
  /** The same of topics. */
  originsOf(topics: readonly number[], limit: number): number[]
  /** The largest id ever given; 0 before the first. */
  maxId(): number
  /** The largest ordinal that a recipient has given; 0 before the first. */
  maxOrdinal(recipient: number): number
  nextOrdinal(recipient: number): number
  /** Those sent to a recipient under the ordinals from..to, at most the `limit` newest of them. */
  sentBetween(birth: number, from: number, to: number, limit: number): PlacedRow[]
  /** Those before `below` that were sent to `birth` and lie in a recipient now, at most the `limit` newest, newest first. */
  movedTo(recipient: number, birth: number, limit: number, below?: number): PlacedRow[]
  /** Those before `below` that a user has although he did not receive them, at most the `limit` newest, newest first. */
  heldBy(user: number, limit: number, below?: number): PlacedRow[]
  /** Ascending by id. */
  placedInTopic(topic: number): PlacedRow[]
  /** Those before `below`, at most the `limit` newest, ascending by id. */
  newestInTopic(topic: number, below: number, limit: number): PlacedRow[]
  /** Those after an id up to another, ascending. */
  exported(after: number, upTo: number, limit: number): ExportedRow[]
  /** The oldest of a recipient after an id, with the times they were sent at. */
  oldestAfter(recipient: number, after: number, limit: number): (PlacedRow & Pick<MessageRow, 'time'>)[]
  /** The oldest of a sender after an id. */
  oldestBy(sender: number, after: number, limit: number): PlacedRow[]
  /** Ids in a recipient, ascending. */
  idsOf(recipient: number): number[]
  sendersOf(topic: number): number[]
  isInUse(topic: number): boolean
  newestOfTopic(topic: number): MessageRow | undefined
  newestOf(recipient: number): number | undefined
  oldestOf(recipient: number): number | undefined
  count(): number
}

export function prepareMessages(database: Database, words: Words): Messages {
  const get = database.prepare<[number], MessageRow>(`SELECT ${MESSAGE_COLUMNS} FROM messages WHERE id = ?`)
  const add = database.prepare<[NewRow & { named: string }]>(
    `INSERT INTO messages (sender, recipient, topic, origin, named, time, birth, ordinal, bits, client, content, html, extra)
     VALUES (@sender, @recipient, @topic, @topic, @named, @time, @birth, @ordinal, @bits, @client, @content, @html, @extra)`,
  )
  const update = database.prepare<[MessageRow]>(
    `UPDATE messages SET bits = @bits, client = @client, content = @content, html = @html, extra = @extra WHERE id = @id`,
  )
  const indexed = database.prepare<[number], IndexedMessage>(
    'SELECT id, sender, birth, origin, bits, html, named FROM messages WHERE id = ?',
  )
  const topicName = database.prepare<[number], string>('SELECT name FROM topics WHERE id = ?').pluck()
  const moveTopic = database.prepare('UPDATE messages SET recipient = ?, arrival = ? WHERE topic = ? AND topic > 0')
  const place = database.prepare(
    `UPDATE messages SET recipient = ?, topic = ?, extra = ?, arrival = coalesce(?, arrival) WHERE id IN (${THESE})`,
  )
  const extrasOf = database.prepare<[string], Pick<MessageRow, 'id' | 'extra'>>(
    `SELECT id, extra FROM messages WHERE id IN (${THESE}) AND extra <> '{}'`,
  )
  const sentSince = database.prepare<[string, number], { count: number; first: number | null }>(
    `SELECT count(*) AS count, min(id) AS first FROM messages WHERE id IN (${THESE}) AND time >= ?`,
  )
  const remove = database.prepare('DELETE FROM messages WHERE id = ?')
  // From one in the index to the next, past all messages that have the same.
  const leastBirth = 'SELECT min(birth) FROM messages WHERE recipient = @recipient AND birth <> recipient'
  const birthsOf = database
    .prepare<[{ recipient: number; limit: number }], number>(
      `WITH RECURSIVE others (value) AS (
         ${leastBirth} UNION ALL SELECT (${leastBirth} AND birth > value) FROM others WHERE value IS NOT NULL
       ) SELECT @recipient UNION ALL SELECT value FROM others WHERE value IS NOT NULL LIMIT @limit`,
    )
    .pluck()
  const originsOf = database
    .prepare<[{ topics: string; limit: number }], number>(
      `SELECT value FROM json_each(@topics) UNION SELECT origin FROM messages INDEXED BY messages_origins
       WHERE topic IN (SELECT value FROM json_each(@topics)) AND origin <> topic LIMIT @limit`,
    )
    .pluck()
  const maxId = database.prepare<[], number>("SELECT seq FROM sqlite_sequence WHERE name = 'messages'").pluck()
  const ordinal = database.prepare<[string], number>('SELECT value FROM counters WHERE name = ?').pluck()
  const nextOrdinal = database
    .prepare<[string], number>(
      `INSERT INTO counters VALUES (?, 1) ON CONFLICT (name) DO UPDATE SET value = value + 1 RETURNING value`,
    )
    .pluck()
  const sentBetween = database.prepare<[number, number, number, number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM messages INDEXED BY messages_places WHERE birth = ? AND ordinal BETWEEN ? AND ?
     ORDER BY ordinal DESC LIMIT ?`,
  )
  const movedTo = database.prepare<[number, number, number, number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM messages INDEXED BY messages_births
     WHERE recipient = ? AND birth = ? AND birth <> recipient AND id < ? ORDER BY id DESC LIMIT ?`,
  )
  const heldBy = database.prepare<[number, number, number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM history JOIN messages ON id = message
     WHERE user = ? AND message < ? ORDER BY message DESC LIMIT ?`,
  )
  const placedInTopic = database.prepare<[number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM messages WHERE topic = ? AND topic > 0 ORDER BY id`,
  )
  const newestInTopic = database.prepare<[number, number, number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM messages WHERE topic = ? AND topic > 0 AND id < ?
     ORDER BY id DESC LIMIT ?`,
  )
  const exported = database.prepare<[number, number, number], ExportedRow>(
    `SELECT id, sender, recipient, topic, time, birth, ordinal, arrival, client, content, extra FROM messages
     WHERE id > ? AND id <= ? ORDER BY id LIMIT ?`,
  )
  const oldestAfter = database.prepare<[number, number, number], PlacedRow & Pick<MessageRow, 'time'>>(
    `SELECT ${PLACED_COLUMNS}, time FROM messages WHERE recipient = ? AND id > ?
     ORDER BY id LIMIT ?`,
  )
  const oldestBy = database.prepare<[number, number, number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM messages WHERE sender = ? AND id > ? ORDER BY id LIMIT ?`,
  )
  const idsOf = database.prepare<[number], number>('SELECT id FROM messages WHERE recipient = ? ORDER BY id').pluck()
  const newestOf = database
    .prepare<[number], number>('SELECT id FROM messages WHERE recipient = ? ORDER BY id DESC LIMIT 1')
    .pluck()
  const oldestOf = database
    .prepare<[number], number>('SELECT id FROM messages WHERE recipient = ? ORDER BY id LIMIT 1')
    .pluck()
  const sendersOf = database
    .prepare<[number], number>('SELECT DISTINCT sender FROM messages WHERE topic = ? AND topic > 0')
    .pluck()
  const newestOfTopic = database.prepare<[number], MessageRow>(
    `SELECT ${MESSAGE_COLUMNS} FROM messages WHERE topic = ? AND topic > 0 ORDER BY id DESC LIMIT 1`,
  )
  const isInUse = database.prepare('SELECT 1 FROM messages WHERE topic = ? AND topic > 0 LIMIT 1').pluck()
  const count = database.prepare<[], number>('SELECT count(*) FROM messages').pluck()
  return {
    get: (id) => get.get(id),
    add(row) {
      const named = topicName.get(row.topic) ?? ''
      const id = Number(add.run({ ...row, named }).lastInsertRowid)
      words.add({ ...row, id, origin: row.topic, named })
      return id
    },
    update(row) {
      const before = indexed.get(row.id)!
      update.run(row)
      const after = { ...before, bits: row.bits, html: row.html }
      if (isIndexedAs(before, after)) return
      words.remove(before)
      words.add(after)
    },
    moveTopic: (topic, recipient, arrival) => void moveTopic.run(recipient, arrival, topic),
    place(ids, { recipient, topic, extra, arrival }) {
      place.run(recipient, topic, extra, arrival, JSON.stringify(ids))
      words.joinTopic(topic, topicName.get(topic) ?? '')
    },
    extrasOf: (ids) => extrasOf.all(JSON.stringify(ids)),
    sentSince: (ids, time) => sentSince.get(JSON.stringify(ids), time)!,
    remove(id) {
      words.remove(indexed.get(id)!)
      remove.run(id)
    },
    birthsOf: (recipient, limit) => birthsOf.all({ recipient, limit }),
    originsOf: (topics, limit) => originsOf.all({ topics: JSON.stringify(topics), limit }),
    maxId: () => maxId.get() ?? 0,
    maxOrdinal: (recipient) => ordinal.get(ordinalsOf(recipient)) ?? 0,
    nextOrdinal: (recipient) => nextOrdinal.get(ordinalsOf(recipient))!,
    sentBetween: (birth, from, to, limit) => sentBetween.all(birth, from, to, limit),
    movedTo: (recipient, birth, limit, below = Number.MAX_SAFE_INTEGER) => movedTo.all(recipient, birth, below, limit),
    heldBy: (user, limit, below = Number.MAX_SAFE_INTEGER) => heldBy.all(user, below, limit),
    placedInTopic: (topic) => placedInTopic.all(topic),
    newestInTopic: (topic, below, limit) => newestInTopic.all(topic, below, limit).reverse(),
    exported: (after, upTo, limit) => exported.all(after, upTo, limit),
    oldestAfter: (recipient, after, limit) => oldestAfter.all(recipient, after, limit),
    oldestBy: (sender, after, limit) => oldestBy.all(sender, after, limit),
    idsOf: (recipient) => idsOf.all(recipient),
    sendersOf: (topic) => sendersOf.all(topic),
    newestOfTopic: (topic) => newestOfTopic.get(topic),
    isInUse: (topic) => isInUse.get(topic) !== undefined,
    newestOf: (recipient) => newestOf.get(recipient),
    oldestOf: (recipient) => oldestOf.get(recipient),
    count: () => count.get()!,
  }
}

/** Ids as a JSON list, in one parameter. */
const THESE = 'SELECT value FROM json_each(?)'

const ORDINALS = 'ordinal '
const ordinalsOf = (recipient: number): string => `${ORDINALS}${recipient}`
