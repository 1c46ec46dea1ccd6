/**
 * The full-text index: SQLite's FTS5 without a copy of the texts. The words of a message are those of its HTML, those of its topic's name
 * at indexing, and synthetic ones for its fixed properties: sender, recipient and topic at sending. A move therefore changes nothing at
 * first. A second index, `topic_words`, has the names of topics whose messages may be indexed under another name, until these are
 * reindexed. Removing a row from FTS5 takes its exact words. All rows are therefore rebuilt when words would differ: after a change of
 * search/words.ts or of Unicode. Until that is complete, searches do not use the index.
 */

import type { Database } from 'better-sqlite3'
import { defined } from '../../base/defined.ts'
import { type Word, wordsOf, wordsOfHtml } from '../search/words.ts'

/** Increment this when search/words.ts splits texts differently. */
const WORDS_VERSION = 4
const VERSION = WORDS_VERSION * 10_000 + Number(process.versions.unicode?.replace('.', ''))

/**
 * Multiplier of the row id: the message id, followed by digits of the recipient at sending. The digits let a query skip most messages of
 * other recipients without reading them.
 */
const PLACES = 4096
export const placeDigits = (birth: number): number => birth % PLACES
/** The smallest row id of a message with this or a later id. */
export const firstRow = (id: number): number => id * PLACES
const rowOf = ({ id, birth }: { id: number; birth: number }): number => firstRow(id) + placeDigits(birth)
/** SQL expressions of a row of `words`. */
export const ID_OF_ROW = `words.rowid / ${PLACES}`
export const PLACE_OF_ROW = `words.rowid % ${PLACES}`

interface Wanted {
  readonly words: readonly string[]
  /** True if the last word matches as a prefix. */
  readonly isPrefix: boolean
}

/** Synthetic words for properties that never change. */
export const sentTo = (recipient: number): string => keptAs(0, recipient)
export const sentIn = (topic: number): string => keptAs(1, topic)
export const sentBy = (user: number): string => keptAs(2, user)
/** Synthetic word of a content flag: see realm/model/content-flags.ts. */
export const having = (bit: number): string => keptAs(3, bit)
const NOWHERE = keptAs(4, 0)

/** Two private-use characters, which occur in no word of a text and are too short for the prefix index. */
function keptAs(kind: number, id: number): string {
  const [from, digit] = [0xf0000 + kind * 0x1000, 0xf000]
  return String.fromCodePoint(from + Math.floor(id / digit), 0x100000 + (id % digit))
}

/** Only flags that follow from the text. Others may change while the text stays. */
const INDEXED_BITS = [1, 2, 4] as const // an attachment, a picture, a link
export const isIndexed = (bit: number): boolean => INDEXED_BITS.some((indexed) => indexed === bit)

export interface IndexedMessage {
  id: number
  sender: number
  birth: number
  /** Topic at sending; 0 in a conversation. */
  origin: number
  bits: number
  html: string
  /** Name of the topic at indexing; '' in a conversation. */
  named: string
}

export interface Words {
  readonly isComplete: boolean
  /** True if all messages are also indexed under the current names of their topics. */
  readonly isSettled: boolean
  /** Indexes up to `messages` missing messages, or reindexes those under a former topic name. Call it in a transaction. */
  index(messages: number): void
  add(message: IndexedMessage): void
  /** `message` must be equal to what was added. */
  remove(message: IndexedMessage): void
  /** Call it when a topic is renamed together with its messages. */
  renameTopic(id: number, from: string, to: string): void
  joinTopic(id: number, name: string): void
  removeTopic(id: number, name: string): void
  /** Ids of topics with matching names whose messages may be indexed under another name, at most `limit`. */
  topicsWith(wanted: Wanted, limit: number): number[]
}

/** Must be called outside of transactions. */
export function prepareWords(database: Database): Words {
  const addRow = database.prepare('INSERT INTO words (rowid, text) VALUES (?, ?)')
  const removeRow = database.prepare("INSERT INTO words (words, rowid, text) VALUES ('delete', ?, ?)")
  const addTopicRow = database.prepare('INSERT INTO topic_words (rowid, text) VALUES (?, ?)')
  const removeTopicRow = database.prepare("INSERT INTO topic_words (topic_words, rowid, text) VALUES ('delete', ?, ?)")
  const hasTopic = database.prepare('SELECT 1 FROM topic_words WHERE rowid = ?').pluck()
  const topicsWith = database
    .prepare<[string, number], number>('SELECT rowid FROM topic_words WHERE topic_words MATCH ? LIMIT ?')
    .pluck()
  const indexMessage = (message: IndexedMessage): void => void addRow.run(rowOf(message), indexedOf(message))
  const counter = prepareCounter(database)
  const following = database.prepare<[number, number], IndexedMessage>(
    `SELECT messages.id, sender, birth, origin, bits, html, coalesce(name, '') AS named
     FROM messages LEFT JOIN topics ON topics.id = topic WHERE messages.id > ? ORDER BY messages.id LIMIT ?`,
  )
  const unsettled = database.prepare<[], { id: number; name: string }>(
    'SELECT topics.id, name FROM topic_words CROSS JOIN topics ON topics.id = topic_words.rowid LIMIT 1',
  )
  const inTopic = database.prepare<[number, number, number], IndexedMessage>(
    `SELECT id, sender, birth, origin, bits, html, named FROM messages
     WHERE topic = ? AND topic > 0 AND id > ? ORDER BY id LIMIT ?`,
  )
  const setNamed = database.prepare<IndexedMessage>(
    'UPDATE messages SET named = @named WHERE id = @id AND named <> @named',
  )

  const through = (): number => counter.get('words through') ?? 0
  const isComplete = (): boolean => through() === COMPLETE
  const has = ({ id }: IndexedMessage): boolean => id <= through()

  function add(message: IndexedMessage): void {
    if (has(message)) indexMessage(message)
  }

  function remove(message: IndexedMessage): void {
    if (has(message)) removeRow.run(rowOf(message), indexedOf(message))
  }

  function complete(messages: number): void {
    const rows = following.all(through(), messages)
    for (const row of rows) {
      setNamed.run(row)
      indexMessage(row)
    }
    counter.set('words through', rows.length < messages ? COMPLETE : defined(rows.at(-1)).id)
  }

  /** Reindexes messages of one topic. If messages join it meanwhile, it starts again. */
  function settle(messages: number): void {
    const topic = unsettled.get()
    if (topic === undefined) return
    const rows = inTopic.all(topic.id, counter.get('words settled') ?? 0, messages)
    for (const row of rows) {
      if (row.named === topic.name) continue
      const renamed = { ...row, named: topic.name }
      remove(row)
      setNamed.run(renamed)
      add(renamed)
    }
    if (rows.length === messages) counter.set('words settled', defined(rows.at(-1)).id)
    else removeTopic(topic.id, topic.name)
  }

  function addTopic(id: number, name: string): void {
    addTopicRow.run(id, indexed(wordsOf(name)))
    counter.set('words settled', 0)
  }

  function removeTopic(id: number, name: string): void {
    if (hasTopic.get(id) === undefined) return
    removeTopicRow.run(id, indexed(wordsOf(name)))
    counter.set('words settled', 0)
  }

  if (counter.get('words version') !== VERSION)
    database.transaction(() => {
      for (const table of ['words', 'topic_words'])
        database.exec(`INSERT INTO ${table} (${table}) VALUES ('delete-all')`)
      counter.set('words version', VERSION)
      counter.set('words through', following.get(0, 1) === undefined ? COMPLETE : 0)
    })()

  return {
    get isComplete() {
      return isComplete()
    },
    get isSettled() {
      return isComplete() && unsettled.get() === undefined
    },
    index: (messages) => (isComplete() ? settle(messages) : complete(messages)),
    add,
    remove,
    renameTopic(id, from, to) {
      if (indexed(wordsOf(from)) === indexed(wordsOf(to))) return
      removeTopic(id, from)
      addTopic(id, to)
    },
    joinTopic(id, name) {
      removeTopic(id, name)
      addTopic(id, name)
    },
    removeTopic,
    topicsWith: (wanted, limit) => topicsWith.all(expressionOf(wanted), limit),
  }
}

/** Value of `words through` once all messages are indexed. */
const COMPLETE = Number.MAX_SAFE_INTEGER

function prepareCounter(database: Database) {
  const get = database.prepare<[string], number>('SELECT value FROM counters WHERE name = ?').pluck()
  const set = database.prepare(
    'INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  return {
    get: (name: string): number | undefined => get.get(name),
    set: (name: string, value: number): void => void set.run(name, value),
  }
}

const indexedOf = (message: IndexedMessage): string =>
  [indexed(wordsOf(message.named)), indexed(wordsOfHtml(message.html)), keptOf(message)].join(' ')

function keptOf({ sender, birth, origin, bits }: IndexedMessage): string {
  const had = INDEXED_BITS.filter((bit) => (bits & bit) !== 0).map(having)
  return [sentTo(birth), sentBy(sender), ...(origin === 0 ? [] : [sentIn(origin)]), ...had].join(' ')
}

export const isIndexedAs = (message: IndexedMessage, other: IndexedMessage): boolean =>
  message.html === other.html && keptOf(message) === keptOf(other)

const indexed = (words: readonly Word[]): string => words.map(({ text }) => asToken(text)).join(' ')

/** FTS5 splits at ASCII characters other than letters and digits. The compatibility form of some letters contains such characters. */
const asToken = (word: string): string => word.replace(/[^a-z0-9\u0080-\u{10ffff}]/gu, '\ufffd')

const expressionOf = ({ words, isPrefix }: Wanted): string => `"${words.map(asToken).join(' ')}"${isPrefix ? ' *' : ''}`

/**
 * All must hold: each `wanted` occurs in the text or the topic's name, or the message is from one of its `topics`; and one word of each
 * scope occurs.
 */
export interface WordQuery {
  readonly wanted: readonly (Wanted & { readonly topics: readonly string[] })[]
  readonly scopes: readonly (readonly string[])[]
}

/** Returns an FTS5 query for `words MATCH`; null if nothing is wanted. */
export function matchOf({ wanted, scopes }: WordQuery): string | null {
  if (wanted.length === 0) return null
  const oneOf = (expressions: readonly string[]): string => `(${expressions.join(' OR ')})`
  const quoted = (words: readonly string[]): string[] => words.map((word) => `"${word}"`)
  const parts = wanted.map((part) => oneOf([expressionOf(part), ...quoted(part.topics)]))
  return [...parts, ...scopes.map((words) => oneOf(quoted(words.length === 0 ? [NOWHERE] : words)))].join(' AND ')
}
