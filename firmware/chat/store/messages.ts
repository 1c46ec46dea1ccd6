/** Messages. They are read on demand and not cached. */

import type { Database, Statement } from 'better-sqlite3'
import { defined } from '../../base/defined.ts'
import type { Placements } from './placements.ts'
import { createSentCache, type SentCache } from './recent-placements.ts'
import { type IndexedMessage, isIndexedAs, type Words } from './words.ts'

export interface MessageRow {
  id: number
  sender: number
  /** Current recipient: a channel or a conversation. */
  recipient: number
  /** 0 in a conversation. */
  topic: number
  /** Seconds. */
  time: number
  /** The recipient at sending, and the message's number there. A move changes neither. */
  birth: number
  ordinal: number
  /** Number that a move into a private channel assigned; 0 otherwise. */
  arrival: number
  /** See realm/model/content-flags.ts. */
  bits: number
  client: string
  content: string
  html: string
  /** JSON: see realm/model/message-metadata.ts. */
  extra: string
}

/** Columns of an export. The HTML can be rendered from the content. */
export type ExportedRow = Omit<MessageRow, 'html' | 'bits'>

type NewRow = Omit<MessageRow, 'id' | 'arrival'>

/** The columns that determine a message's location and its readers. */
export type PlacedRow = Pick<MessageRow, 'id' | 'sender' | 'recipient' | 'topic' | 'birth' | 'ordinal' | 'arrival'>

/** Columns of messages that are still in their birth, ascending. Rows as objects would take three times as long. */
export interface PackedRows {
  ids: number[]
  ordinals: number[]
  topics: number[]
  /** False if the range has messages that were moved. */
  isWhole: boolean
}

const MESSAGE_COLUMNS =
  'messages.id, sender, messages.recipient, topic, time, birth, ordinal, arrival, bits, client, content, html, extra'
export const PLACED_COLUMNS = 'id, sender, recipient, topic, birth, ordinal, arrival'

export const PACKED_ROWS = `SELECT group_concat(id) AS ids, group_concat(ordinal) AS ordinals, group_concat(topic) AS topics, count(*) AS count
  FROM (
    SELECT id, ordinal, topic FROM placements
    WHERE birth = ? AND ordinal BETWEEN ? AND ? AND recipient = birth AND arrival = 0 ORDER BY ordinal
  )`

type Place = Pick<MessageRow, 'recipient' | 'topic' | 'extra'> & { arrival: number | null }

export interface Messages {
  get(id: number): MessageRow | undefined
  /** Returns the id, which is larger than all earlier ones. */
  add(row: NewRow): number
  /** Writes `bits`, `client`, `content`, `html` and `extra`. */
  update(row: MessageRow): void
  moveTopic(topic: number, recipient: number, arrival: number): void
  /** Moves some messages, which may also get another topic. `arrival`: null leaves it unchanged. */
  place(ids: readonly number[], place: Place): void
  /** Rows of those messages that have metadata. */
  extrasOf(ids: readonly number[]): Pick<MessageRow, 'id' | 'extra'>[]
  /** Number of the messages sent at or after `time`, in seconds, and the first of them. */
  sentSince(ids: readonly number[], time: number): { count: number; first: number | null }
  remove(id: number): void
  /** Recipients at sending of the messages that are now in `recipient`, including itself; at most `limit`. */
  birthsOf(recipient: number, limit: number): number[]
  /** Topics at sending of the messages that are now in `topics`; at most `limit`. */
  originsOf(topics: readonly number[], limit: number): number[]
  /** The largest id ever assigned; 0 before the first. */
  maxId(): number
  /** The largest ordinal that a recipient has assigned; 0 before the first. */
  maxOrdinal(recipient: number): number
  nextOrdinal(recipient: number): number
  /** The newest messages that were sent to `birth` with ordinals from..to, inclusive. */
  sentBetween(birth: number, from: number, to: number, limit: number): PlacedRow[]
  /** Placements of the newest messages, shared by registers that come together. */
  readonly sent: SentCache
  /** The newest messages before `below` that were sent to `birth` and are now in `recipient`, newest first. */
  movedTo(recipient: number, birth: number, limit: number, below?: number): PlacedRow[]
  /** The newest messages before `below` in a user's history that the user did not receive, newest first. */
  heldBy(user: number, limit: number, below?: number): PlacedRow[]
  /** Ascending by id. */
  placedInTopic(topic: number): PlacedRow[]
  /** The newest messages before `below`, ascending by id. */
  newestInTopic(topic: number, below: number, limit: number): PlacedRow[]
  exported(after: number, upTo: number, limit: number): ExportedRow[]
  /** The oldest messages of a recipient after an id, with their times. */
  oldestAfter(recipient: number, after: number, limit: number): (PlacedRow & Pick<MessageRow, 'time'>)[]
  oldestBy(sender: number, after: number, limit: number): PlacedRow[]
  /** Ids, ascending. */
  idsOf(recipient: number): number[]
  sendersOf(topic: number): number[]
  isInUse(topic: number): boolean
  newestOfTopic(topic: number): MessageRow | undefined
  newestOf(recipient: number): number | undefined
  oldestOf(recipient: number): number | undefined
  count(): number
}

export function prepareMessages(database: Database, words: Words, placements: Placements): Messages {
  /** A statement on the table of placements, or on that of messages until the other is complete. */
  const placed = <Parameters extends unknown[], Row>(sql: string): (() => Statement<Parameters, Row>) => {
    const complete = database.prepare<Parameters, Row>(sql)
    const before = database.prepare<Parameters, Row>(
      sql.replace('FROM placements', 'FROM messages INDEXED BY messages_birth'),
    )
    return () => (placements.isComplete ? complete : before)
  }
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
  // Jumps from one value in the index to the next, past all messages that share it.
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
  const sentBetween = placed<[number, number, number, number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM placements WHERE birth = ? AND ordinal BETWEEN ? AND ?
     ORDER BY ordinal DESC LIMIT ?`,
  )
  const packedBetween = placed<[number, number, number], PackedTexts>(PACKED_ROWS)
  const countBetween = placed<[number, number, number], { count: number }>(
    'SELECT count(*) AS count FROM placements WHERE birth = ? AND ordinal BETWEEN ? AND ?',
  )
  const placedElsewhere = placed<[number, number, number], PlacedRow>(
    `SELECT ${PLACED_COLUMNS} FROM placements
     WHERE birth = ? AND ordinal BETWEEN ? AND ? AND (recipient <> birth OR arrival <> 0) ORDER BY ordinal`,
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
  let moves = 0
  const sent = createSentCache({
    packedBetween(birth, from, to) {
      const { ids, ordinals, topics, count } = defined(packedBetween().get(birth, from, to))
      const isWhole = count === to - from + 1 || count === defined(countBetween().get(birth, from, to)).count
      return { ids: numbersOf(ids), ordinals: numbersOf(ordinals), topics: numbersOf(topics), isWhole }
    },
    placedElsewhere: (birth, from, to) => placedElsewhere().all(birth, from, to),
    moves: () => moves,
  })
  return {
    sent,
    get: (id) => get.get(id),
    add(row) {
      const named = topicName.get(row.topic) ?? ''
      const id = Number(add.run({ ...row, named }).lastInsertRowid)
      words.add({ ...row, id, origin: row.topic, named })
      return id
    },
    update(row) {
      const before = defined(indexed.get(row.id))
      update.run(row)
      const after = { ...before, bits: row.bits, html: row.html }
      if (isIndexedAs(before, after)) return
      words.remove(before)
      words.add(after)
    },
    moveTopic(topic, recipient, arrival) {
      moves++
      moveTopic.run(recipient, arrival, topic)
    },
    place(ids, { recipient, topic, extra, arrival }) {
      moves++
      place.run(recipient, topic, extra, arrival, JSON.stringify(ids))
      words.joinTopic(topic, topicName.get(topic) ?? '')
    },
    extrasOf: (ids) => extrasOf.all(JSON.stringify(ids)),
    sentSince: (ids, time) => defined(sentSince.get(JSON.stringify(ids), time)),
    remove(id) {
      moves++
      words.remove(defined(indexed.get(id)))
      remove.run(id)
    },
    birthsOf: (recipient, limit) => birthsOf.all({ recipient, limit }),
    originsOf: (topics, limit) => originsOf.all({ topics: JSON.stringify(topics), limit }),
    maxId: () => maxId.get() ?? 0,
    maxOrdinal: (recipient) => ordinal.get(ordinalsOf(recipient)) ?? 0,
    nextOrdinal: (recipient) => defined(nextOrdinal.get(ordinalsOf(recipient))),
    sentBetween: (birth, from, to, limit) => sentBetween().all(birth, from, to, limit),
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
    count: () => defined(count.get()),
  }
}

interface PackedTexts {
  ids: string | null
  ordinals: string | null
  topics: string | null
  count: number
}

const numbersOf = (text: string | null): number[] => (text === null ? [] : (JSON.parse(`[${text}]`) as number[]))

/** Passes ids as a JSON list in one parameter. */
const THESE = 'SELECT value FROM json_each(?)'

const ORDINALS = 'ordinal '
const ordinalsOf = (recipient: number): string => `${ORDINALS}${recipient}`
