/**
 * Which messages have a word: an index in SQLite's FTS5, which keeps words and no texts. Of a message there are the words of
 * its HTML, those of the name that its topic had when it was sent and, as words that no text has, what it keeps for life:
 * whom it was sent by, to which recipient and in which topic. So a move changes nothing here at first: names of topics whose
 * messages may be under others are in an index beside it, until these are under the name of their topic again.
 *
 * Whoever removes a row has to say again what its words were, so all rows are made anew when they would be others: by another
 * version of search/words.ts, or of Unicode. Meanwhile there is no index, but for those who make it.
 */

import type { Database } from 'better-sqlite3'
import { type Word, wordsOf, wordsOfHtml } from '../search/words.ts'

/** To be raised with each change of what words are. */
const WORDS_VERSION = 4
const VERSION = WORDS_VERSION * 10_000 + Number(process.versions.unicode?.replace('.', ''))

/**
 * The row of a message: its id and, below it, digits of where it was sent to, so that most of what was sent elsewhere is passed over
 * without a look at the message.
 */
const PLACES = 4096
export const placeDigits = (birth: number): number => birth % PLACES
/** The first row that a message with this id, or a later one, may have. */
export const firstRow = (id: number): number => id * PLACES
const rowOf = ({ id, birth }: { id: number; birth: number }): number => firstRow(id) + placeDigits(birth)
/** Of the row of `words`, in SQL. */
export const ID_OF_ROW = `words.rowid / ${PLACES}`
export const PLACE_OF_ROW = `words.rowid % ${PLACES}`

/** Words that follow each other in a text. */
interface Wanted {
  readonly words: readonly string[]
  /** Whether a word that only begins with the last one is wanted as well. */
  readonly isPrefix: boolean
}

/** What a message keeps for life, as a word. */
export const sentTo = (recipient: number): string => keptAs(0, recipient)
export const sentIn = (topic: number): string => keptAs(1, topic)
export const sentBy = (user: number): string => keptAs(2, user)
/** One of the bits of what its content has: see realm/model/message-bits.ts. */
export const having = (bit: number): string => keptAs(3, bit)
/** Which no message has. */
const NOWHERE = keptAs(4, 0)

/** Of two private-use characters, which no word of a text has: too short for the index of beginnings. */
function keptAs(kind: number, id: number): string {
  const [from, digit] = [0xf0000 + kind * 0x1000, 0xf000]
  return String.fromCodePoint(from + Math.floor(id / digit), 0x100000 + (id % digit))
}

/** Of these bits; what others tell may change while the text stays. */
const INDEXED_BITS = [1, 2, 4] as const // an attachment, a picture, a link
export const isIndexed = (bit: number): boolean => INDEXED_BITS.some((indexed) => indexed === bit)

export interface IndexedMessage {
  id: number
  sender: number
  birth: number
  /** The topic that it was sent in; 0 in a conversation. */
  origin: number
  bits: number
  html: string
  /** The name of its topic as it was added; '' in a conversation. */
  named: string
}

export interface Words {
  /** Whether it has all messages. */
  readonly isComplete: boolean
  /** Whether it has all of them under the names of their topics, too. */
  readonly isSettled: boolean
  /** So many more of those that it has not yet, or may have under another name; within a change. */
  index(messages: number): void
  add(message: IndexedMessage): void
  /** `message` as it was added. */
  remove(message: IndexedMessage): void
  /** A topic has got another name, and its messages stay in it. */
  renameTopic(id: number, from: string, to: string): void
  /** Messages have come into a topic from others. */
  joinTopic(id: number, name: string): void
  removeTopic(id: number, name: string): void
  /** Ids of those topics with it in their name whose messages may have been added under another, at most `limit`. */
  topicsWith(wanted: Wanted, limit: number): number[]
}

/** To be opened outside of changes. */
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
    counter.set('words through', rows.length < messages ? COMPLETE : rows.at(-1)!.id)
  }

  /** Of one topic; what comes into it meanwhile begins it anew. */
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
    if (rows.length === messages) counter.set('words settled', rows.at(-1)!.id)
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

/** As the id up to which messages are there. */
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

/** Whether the index has the same words for both. */
export const isIndexedAs = (message: IndexedMessage, other: IndexedMessage): boolean =>
  message.html === other.html && keptOf(message) === keptOf(other)

const indexed = (words: readonly Word[]): string => words.map(({ text }) => asToken(text)).join(' ')

/** FTS5 splits at ASCII that is no letter or digit, which the compatibility form of some letters has. */
const asToken = (word: string): string => word.replace(/[^a-z0-9\u0080-\u{10ffff}]/gu, '\ufffd')

/** In FTS5's language. */
const expressionOf = ({ words, isPrefix }: Wanted): string => `"${words.map(asToken).join(' ')}"${isPrefix ? ' *' : ''}`

/** All that a message must have: each `wanted` in its text or its topic's name, or one of the `topics`; and one of each scope. */
export interface WordQuery {
  readonly wanted: readonly (Wanted & { readonly topics: readonly string[] })[]
  readonly scopes: readonly (readonly string[])[]
}

/** What `words MATCH` takes; null where no word is wanted. */
export function matchOf({ wanted, scopes }: WordQuery): string | null {
  if (wanted.length === 0) return null
  const oneOf = (expressions: readonly string[]): string => `(${expressions.join(' OR ')})`
  const quoted = (words: readonly string[]): string[] => words.map((word) => `"${word}"`)
  const parts = wanted.map((part) => oneOf([expressionOf(part), ...quoted(part.topics)]))
  return [...parts, ...scopes.map((words) => oneOf(quoted(words.length === 0 ? [NOWHERE] : words)))].join(' AND ')
}
