/**
 * Location and readership of each message, in order of the ordinals of its birth: a register with 50,000 unread messages would otherwise
 * read and unseal a page of the table of messages for each. A table kept by triggers rather than an index, since SQLite creates an index
 * in one step: an upgrade would stop the chat for as long as all messages take, and sort them in memory.
 */

import type { Database } from 'better-sqlite3'

/** Larger than all ids. */
const COMPLETE = Number.MAX_SAFE_INTEGER
const THROUGH = 'placements through' // the counter: ids up to it are filled in

export const PLACEMENTS: readonly string[] = [
  'DROP INDEX IF EXISTS messages_places',
  `CREATE TABLE placements (
    birth INTEGER, ordinal INTEGER, id INTEGER NOT NULL, sender INTEGER NOT NULL, recipient INTEGER NOT NULL, topic INTEGER NOT NULL,
    arrival INTEGER NOT NULL, PRIMARY KEY (birth, ordinal)
  ) STRICT, WITHOUT ROWID`,
  `CREATE TRIGGER placements_add AFTER INSERT ON messages BEGIN
    INSERT INTO placements VALUES (new.birth, new.ordinal, new.id, new.sender, new.recipient, new.topic, new.arrival);
  END`,
  // Messages that are not filled in yet have no row.
  `CREATE TRIGGER placements_move AFTER UPDATE OF recipient, topic, arrival ON messages BEGIN
    UPDATE placements SET recipient = new.recipient, topic = new.topic, arrival = new.arrival
    WHERE birth = new.birth AND ordinal = new.ordinal;
  END`,
  `CREATE TRIGGER placements_remove AFTER DELETE ON messages BEGIN
    DELETE FROM placements WHERE birth = old.birth AND ordinal = old.ordinal;
  END`,
]

export interface Placements {
  readonly isComplete: boolean
  /** Fills in up to `count` messages from before the table. Call it in a transaction. */
  fill(count: number): void
}

export function preparePlacements(database: Database): Placements {
  const through = database.prepare<[string], number>('SELECT value FROM counters WHERE name = ?').pluck()
  const setThrough = database.prepare(
    'INSERT INTO counters VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value',
  )
  const following = database
    .prepare<[number, number], number>('SELECT id FROM messages WHERE id > ? ORDER BY id LIMIT ?')
    .pluck()
  const fill = database.prepare(
    `INSERT OR IGNORE INTO placements SELECT birth, ordinal, id, sender, recipient, topic, arrival FROM messages
     WHERE id BETWEEN ? AND ?`,
  )
  let isComplete = false
  return {
    get isComplete() {
      // In a transaction that is rolled back it would not stay true.
      if (!isComplete && !database.inTransaction) isComplete = through.get(THROUGH) === COMPLETE
      return isComplete
    },
    fill(count) {
      const ids = following.all(through.get(THROUGH) ?? 0, count)
      const [first, last] = [ids[0], ids.at(-1)]
      if (first !== undefined) fill.run(first, last)
      setThrough.run(THROUGH, ids.length < count ? COMPLETE : last)
    },
  }
}
