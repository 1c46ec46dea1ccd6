/** The schema of the chat's database, as migrations: append only, released ones never change. SQLite's `user_version` holds the version. */

import type { Database } from 'better-sqlite3'
import { PLACEMENTS } from './placements.ts'

export type Migration = (database: Database) => void

export const MIGRATIONS: readonly Migration[] = [
  (database) => {
    for (const statement of CORE) database.exec(statement)
  },
  (database) => {
    for (const statement of TOPIC_MOVES) database.exec(statement)
  },
  (database) => {
    for (const statement of WORDS) database.exec(statement)
  },
  (database) => database.exec(NAMED),
  (database) => {
    for (const statement of WORDS_OF_ALL_KINDS) database.exec(statement)
  },
  (database) => database.exec(ARRIVAL),
  () => undefined, // created an index that the table of placements replaced before any release
  (database) => {
    for (const statement of SENDS) database.exec(statement)
  },
  (database) => {
    for (const statement of UPLOAD_SUMS) database.exec(statement)
  },
  (database) => {
    for (const statement of PLACEMENTS) database.exec(statement)
  },
  (database) => {
    for (const statement of SENDS_BY_KEY) database.exec(statement)
  },
]

const CORE: readonly string[] = [
  // Counters that never decrease: object numbers by kind, and commits.
  'CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  // All small objects, read as a whole at opening. See realm/model/kinds.ts.
  'CREATE TABLE things (kind TEXT, key TEXT, json TEXT NOT NULL, PRIMARY KEY (kind, key)) STRICT, WITHOUT ROWID',
  /*
   * `recipient` is the current channel or conversation, `topic` is 0 in conversations. `birth` is the recipient at sending and `ordinal`
   * the message's number there; a move changes neither. AUTOINCREMENT: ids are never reused.
   */
  `CREATE TABLE messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT, sender INTEGER NOT NULL, recipient INTEGER NOT NULL, topic INTEGER NOT NULL,
    time INTEGER NOT NULL, birth INTEGER NOT NULL, ordinal INTEGER NOT NULL, bits INTEGER NOT NULL, client TEXT NOT NULL,
    content TEXT NOT NULL, html TEXT NOT NULL, extra TEXT NOT NULL
  ) STRICT`,
  'CREATE INDEX messages_recipient ON messages (recipient, id)',
  'CREATE INDEX messages_topic ON messages (topic, id) WHERE topic > 0',
  'CREATE INDEX messages_sender ON messages (sender, id)',
  'CREATE UNIQUE INDEX messages_birth ON messages (birth, ordinal)',
  // Partial indexes: moved messages, and messages with a link, picture, file or reaction (HAS_ bits).
  'CREATE INDEX messages_moved ON messages (id) WHERE birth <> recipient',
  'CREATE INDEX messages_with ON messages (id) WHERE bits & 15 <> 0',
  /* `folded` is the name as it is compared: see realm/model/names.ts. */
  `CREATE TABLE topics (
    id INTEGER PRIMARY KEY AUTOINCREMENT, recipient INTEGER NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX topics_name ON topics (recipient, folded)',
  // Ordinals of a recipient that have a flag of a user: runs, as JSON [[from, to], ...]. See realm/model/runs.ts.
  `CREATE TABLE flags (user INTEGER, recipient INTEGER, flag TEXT, runs TEXT NOT NULL,
    PRIMARY KEY (user, recipient, flag)) STRICT, WITHOUT ROWID`,
  // Mentions of users with their kind (bits), and messages in a user's history that the user did not receive.
  'CREATE TABLE mentions (user INTEGER, message INTEGER, bits INTEGER NOT NULL, PRIMARY KEY (user, message)) STRICT, WITHOUT ROWID',
  'CREATE INDEX mentions_message ON mentions (message)',
  'CREATE TABLE history (user INTEGER, message INTEGER, PRIMARY KEY (user, message)) STRICT, WITHOUT ROWID',
  'CREATE INDEX history_message ON history (message)',
  // Uploaded files, and the messages that show them. The bytes are in files.db.
  `CREATE TABLE uploads (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, owner INTEGER NOT NULL, name TEXT NOT NULL, size INTEGER NOT NULL,
    time INTEGER NOT NULL, width INTEGER, height INTEGER
  ) STRICT`,
  'CREATE INDEX uploads_owner ON uploads (owner, id)',
  'CREATE TABLE claims (upload INTEGER, message INTEGER, PRIMARY KEY (upload, message)) STRICT, WITHOUT ROWID',
  'CREATE INDEX claims_message ON claims (message)',
  'CREATE TABLE queues (id TEXT PRIMARY KEY, json TEXT NOT NULL) STRICT, WITHOUT ROWID',
]

const TOPIC_MOVES: readonly string[] = [
  /*
   * Changes of a whole topic, as JSON: see realm/messages/topic-history.ts. A change applies to messages up to `through`, the largest id at
   * that time. Metadata of messages that joined the topic later says from which number on changes apply.
   */
  `CREATE TABLE topic_moves (
    number INTEGER PRIMARY KEY AUTOINCREMENT, topic INTEGER NOT NULL, through INTEGER NOT NULL, json TEXT NOT NULL
  ) STRICT`,
  'CREATE INDEX topic_moves_topic ON topic_moves (topic, number)',
]

const WORDS: readonly string[] = [
  // Topic at sending, which like `birth` never changes.
  'ALTER TABLE messages ADD COLUMN origin INTEGER NOT NULL DEFAULT 0',
  'UPDATE messages SET origin = topic',
  // Indexes of the origins of messages that were moved into a recipient or topic.
  'CREATE INDEX messages_births ON messages (recipient, birth) WHERE birth <> recipient',
  'CREATE INDEX messages_origins ON messages (topic, origin) WHERE origin <> topic',
  // Filled by store/words.ts. Without secure-delete, words of removed rows would stay until segments are merged.
  `CREATE VIRTUAL TABLE words USING fts5 (text, scope, content = '', prefix = '3', tokenize = 'ascii')`,
  `INSERT INTO words (words, rank) VALUES ('secure-delete', 1)`,
  `CREATE VIRTUAL TABLE topic_words USING fts5 (text, content = '', prefix = '3', tokenize = 'ascii')`,
  `INSERT INTO topic_words (topic_words, rank) VALUES ('secure-delete', 1)`,
]

/** Name of the topic as the full-text index has it, which may be an older one; '' in a conversation. */
const NAMED = "ALTER TABLE messages ADD COLUMN named TEXT NOT NULL DEFAULT ''"

/** A single column: to search in one of several, FTS5 reads the position of every match. */
const WORDS_OF_ALL_KINDS: readonly string[] = [
  'DROP TABLE words',
  `CREATE VIRTUAL TABLE words USING fts5 (text, content = '', prefix = '3', tokenize = 'ascii')`,
  `INSERT INTO words (words, rank) VALUES ('secure-delete', 1)`,
]

/**
 * For a message that was moved into a private channel, the ordinal there that the move consumed. A user subscribed at that ordinal may read
 * it. 0 for all other messages.
 */
const ARRIVAL = 'ALTER TABLE messages ADD COLUMN arrival INTEGER NOT NULL DEFAULT 0'

/**
 * Sends with an `Idempotency-Key`, as keyed hashes of the key and of the parameters. `serial` numbers the sends of an account; `policy` is
 * 0 if the answer had none.
 */
const SENDS: readonly string[] = [
  `CREATE TABLE sends (
    number INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL, serial INTEGER NOT NULL, key BLOB NOT NULL,
    parameters BLOB NOT NULL, message INTEGER NOT NULL, policy INTEGER NOT NULL, time INTEGER NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX sends_key ON sends (user, key)',
  'CREATE UNIQUE INDEX sends_serial ON sends (user, serial)',
]

/** A key's hash covers the sender's id. Sends of a bot are numbered with those of its owner, who may change. */
const SENDS_BY_KEY: readonly string[] = ['DROP INDEX sends_key', 'CREATE UNIQUE INDEX sends_key ON sends (key)']

/** Total size of each owner's uploads. Every chunk of an upload is checked against it, and every upload event contains it. */
const UPLOAD_SUMS: readonly string[] = [
  'CREATE TABLE upload_sums (owner INTEGER PRIMARY KEY, files INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT',
  'INSERT INTO upload_sums SELECT owner, count(*), sum(size) FROM uploads GROUP BY owner',
]

/** "Chat": distinguishes our files from those of other programs; SQLite file format, section 1.3.17. */
const APPLICATION_ID = 0x43686174

export const readVersion = (database: Database): number => database.pragma('user_version', { simple: true }) as number

export function migrate(database: Database, migrations: readonly Migration[] = MIGRATIONS): void {
  const before = readVersion(database)
  for (const [version, change] of migrations.entries()) {
    if (version < before) continue
    database.transaction(() => {
      database.pragma(`application_id = ${APPLICATION_ID}`)
      change(database)
      database.pragma(`user_version = ${version + 1}`)
    })()
  }
}
