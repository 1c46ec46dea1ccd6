/**
 * The schema of the chat's database, as the migrations that lead to it: append only, a released one never changes. The
 * place of the version is SQLite's `user_version`.
 */

import type { Database } from 'better-sqlite3'

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
  (database) => database.exec(PLACES),
  (database) => {
    for (const statement of SENDS) database.exec(statement)
  },
  (database) => {
    for (const statement of UPLOAD_SUMS) database.exec(statement)
  },
]

const CORE: readonly string[] = [
  // What counts up and never goes back: numbers of objects by kind, and the commits.
  'CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT, WITHOUT ROWID',
  // Everything but messages and files: read whole when the database is opened. See realm/model/kinds.ts.
  'CREATE TABLE things (kind TEXT, key TEXT, json TEXT NOT NULL, PRIMARY KEY (kind, key)) STRICT, WITHOUT ROWID',
  /*
   * A message lies in `recipient` (a channel or a conversation) and `topic` (0 in conversations). `birth` is the recipient
   * that it was sent to and `ordinal` its number there: it keeps both when it is moved. AUTOINCREMENT: no id is given twice.
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
  // The few that lie elsewhere than where they were sent to, and those with a link, picture, file or reaction: HAS_ bits.
  'CREATE INDEX messages_moved ON messages (id) WHERE birth <> recipient',
  'CREATE INDEX messages_with ON messages (id) WHERE bits & 15 <> 0',
  /* `folded` is the name as it is compared: see realm/model/names.ts. */
  `CREATE TABLE topics (
    id INTEGER PRIMARY KEY AUTOINCREMENT, recipient INTEGER NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX topics_name ON topics (recipient, folded)',
  // Which ordinals of a recipient a user has marked with a flag: runs, as JSON [[from, to], ...]. See realm/model/runs.ts.
  `CREATE TABLE flags (user INTEGER, recipient INTEGER, flag TEXT, runs TEXT NOT NULL,
    PRIMARY KEY (user, recipient, flag)) STRICT, WITHOUT ROWID`,
  // Who is mentioned in a message, and how (bits), and who has a message that he did not receive when it was sent.
  'CREATE TABLE mentions (user INTEGER, message INTEGER, bits INTEGER NOT NULL, PRIMARY KEY (user, message)) STRICT, WITHOUT ROWID',
  'CREATE INDEX mentions_message ON mentions (message)',
  'CREATE TABLE history (user INTEGER, message INTEGER, PRIMARY KEY (user, message)) STRICT, WITHOUT ROWID',
  'CREATE INDEX history_message ON history (message)',
  // Uploaded files, and which messages show them; their bytes are in files.db.
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
   * What happened to a topic as a whole, as JSON: see realm/messages/topic-history.ts. It befell the messages up to
   * `through`, the largest id of then; those that came into the topic later say in their extra from which number on.
   */
  `CREATE TABLE topic_moves (
    number INTEGER PRIMARY KEY AUTOINCREMENT, topic INTEGER NOT NULL, through INTEGER NOT NULL, json TEXT NOT NULL
  ) STRICT`,
  'CREATE INDEX topic_moves_topic ON topic_moves (topic, number)',
]

const WORDS: readonly string[] = [
  // The topic that a message was sent in, which it keeps as it keeps `birth`.
  'ALTER TABLE messages ADD COLUMN origin INTEGER NOT NULL DEFAULT 0',
  'UPDATE messages SET origin = topic',
  // Where the messages of a recipient or a topic come from that were moved into it.
  'CREATE INDEX messages_births ON messages (recipient, birth) WHERE birth <> recipient',
  'CREATE INDEX messages_origins ON messages (topic, origin) WHERE origin <> topic',
  // See store/words.ts, which fills them. Without secure-delete, words of removed rows would stay until segments are merged.
  `CREATE VIRTUAL TABLE words USING fts5 (text, scope, content = '', prefix = '3', tokenize = 'ascii')`,
  `INSERT INTO words (words, rank) VALUES ('secure-delete', 1)`,
  `CREATE VIRTUAL TABLE topic_words USING fts5 (text, content = '', prefix = '3', tokenize = 'ascii')`,
  `INSERT INTO topic_words (topic_words, rank) VALUES ('secure-delete', 1)`,
]

/** The name of its topic as the index of words has it, whatever the topic is called since; '' in a conversation. */
const NAMED = "ALTER TABLE messages ADD COLUMN named TEXT NOT NULL DEFAULT ''"

/** One column: to look for words in one of several, FTS5 reads where each of them stands. */
const WORDS_OF_ALL_KINDS: readonly string[] = [
  'DROP TABLE words',
  `CREATE VIRTUAL TABLE words USING fts5 (text, content = '', prefix = '3', tokenize = 'ascii')`,
  `INSERT INTO words (words, rank) VALUES ('secure-delete', 1)`,
]

/**
 * Of a message that was moved into a private channel the ordinal there that its coming took, as if it had been sent then: whoever
 * was subscribed at it may read it. 0 of all others.
 */
const ARRIVAL = 'ALTER TABLE messages ADD COLUMN arrival INTEGER NOT NULL DEFAULT 0'

/**
 * All that tells where a message is and who has it: whoever has 50,000 unread registers without reading, and opening, a page of the
 * table for each of them. `messages_birth` stays, for it makes sure that no ordinal is given twice.
 */
const PLACES = 'CREATE INDEX messages_places ON messages (birth, ordinal, id, sender, recipient, topic, arrival)'

/**
 * Sends with an `Idempotency-Key`, as keyed hashes of the key and of the parameters; `serial` counts those of an account, `policy` is 0 where
 * the answer had none.
 */
const SENDS: readonly string[] = [
  `CREATE TABLE sends (
    number INTEGER PRIMARY KEY AUTOINCREMENT, user INTEGER NOT NULL, serial INTEGER NOT NULL, key BLOB NOT NULL,
    parameters BLOB NOT NULL, message INTEGER NOT NULL, policy INTEGER NOT NULL, time INTEGER NOT NULL
  ) STRICT`,
  'CREATE UNIQUE INDEX sends_key ON sends (user, key)',
  'CREATE UNIQUE INDEX sends_serial ON sends (user, serial)',
]

/** Uploads of each owner: every chunk of a new one is checked against them, and every event about one tells their bytes. */
const UPLOAD_SUMS: readonly string[] = [
  'CREATE TABLE upload_sums (owner INTEGER PRIMARY KEY, files INTEGER NOT NULL, bytes INTEGER NOT NULL) STRICT',
  'INSERT INTO upload_sums SELECT owner, count(*), sum(size) FROM uploads GROUP BY owner',
]

/** "Chat": what tells our files from those of other programs; SQLite file format, section 1.3.17. */
const APPLICATION_ID = 0x43686174

export const readVersion = (database: Database): number => database.pragma('user_version', { simple: true }) as number

/** Runs what is missing, each migration in one transaction. */
export function migrate(database: Database, migrations: readonly Migration[] = MIGRATIONS): void {
  for (let version = readVersion(database); version < migrations.length; version++) {
    database.transaction(() => {
      database.pragma(`application_id = ${APPLICATION_ID}`)
      migrations[version]!(database)
      database.pragma(`user_version = ${version + 1}`)
    })()
  }
}
