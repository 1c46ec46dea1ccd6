/** Message flags of users, mentions, and messages in a user's history that the user did not receive. */

import type { Database } from 'better-sqlite3'

/** Ordinals, inclusive, ascending and disjoint. */
export type Runs = readonly (readonly [from: number, to: number])[]

/**
 * `kept` holds arrivals of messages that were moved into a private channel: users who had received them can still read them without a
 * subscription.
 */
export type Flag = 'read' | 'starred' | 'collapsed' | 'hide_link_previews' | 'kept'

export interface Flags {
  runs(user: number, recipient: number, flag: Flag): Runs
  /** Keyed by recipient. */
  allRuns(user: number, flag: Flag): Map<number, Runs>
  setRuns(user: number, recipient: number, flag: Flag, runs: Runs): void
  /** Bits of realm/model/content-flags.ts; 0 without a mention. */
  mention(user: number, message: number): number
  /** Mentions in messages from `message` on, by message id. */
  mentionsSince(user: number, message: number): ReadonlyMap<number, number>
  mentionsOf(message: number): { user: number; bits: number }[]
  setMention(user: number, message: number, bits: number): void
  hasHistory(user: number, message: number): boolean
  addHistory(user: number, message: number): void
  holdersOf(message: number): number[]
  /** Inclusive range of message ids. */
  holdersBetween(from: number, to: number): { user: number; message: number }[]
  historyOf(user: number): number[]
  removeMessage(message: number): void
}

export function prepareFlags(database: Database): Flags {
  const runs = database
    .prepare<[number, number, string], string>('SELECT runs FROM flags WHERE user = ? AND recipient = ? AND flag = ?')
    .pluck()
  const allRuns = database.prepare<[number, string], { recipient: number; runs: string }>(
    'SELECT recipient, runs FROM flags WHERE user = ? AND flag = ?',
  )
  const setRuns = database.prepare(
    `INSERT INTO flags VALUES (?, ?, ?, ?) ON CONFLICT (user, recipient, flag) DO UPDATE SET runs = excluded.runs`,
  )
  const dropRuns = database.prepare('DELETE FROM flags WHERE user = ? AND recipient = ? AND flag = ?')
  const mention = database
    .prepare<[number, number], number>('SELECT bits FROM mentions WHERE user = ? AND message = ?')
    .pluck()
  const mentionsSince = database.prepare<[number, number], { message: number; bits: number }>(
    'SELECT message, bits FROM mentions WHERE user = ? AND message >= ?',
  )
  const mentionsOf = database.prepare<[number], { user: number; bits: number }>(
    'SELECT user, bits FROM mentions WHERE message = ?',
  )
  const setMention = database.prepare(
    'INSERT INTO mentions VALUES (?, ?, ?) ON CONFLICT (user, message) DO UPDATE SET bits = excluded.bits',
  )
  const dropMention = database.prepare('DELETE FROM mentions WHERE user = ? AND message = ?')
  const dropMentions = database.prepare('DELETE FROM mentions WHERE message = ?')
  const hasHistory = database.prepare('SELECT 1 FROM history WHERE user = ? AND message = ?').pluck()
  const addHistory = database.prepare('INSERT OR IGNORE INTO history VALUES (?, ?)')
  const historyOf = database.prepare<[number], number>('SELECT message FROM history WHERE user = ?').pluck()
  const holdersOf = database.prepare<[number], number>('SELECT user FROM history WHERE message = ?').pluck()
  const holdersBetween = database.prepare<[number, number], { user: number; message: number }>(
    'SELECT user, message FROM history WHERE message BETWEEN ? AND ?',
  )
  const dropHistory = database.prepare('DELETE FROM history WHERE message = ?')
  return {
    runs: (user, recipient, flag) => parseRuns(runs.get(user, recipient, flag)),
    allRuns: (user, flag) => new Map(allRuns.all(user, flag).map((row) => [row.recipient, parseRuns(row.runs)])),
    setRuns(user, recipient, flag, runs) {
      if (runs.length === 0) dropRuns.run(user, recipient, flag)
      else setRuns.run(user, recipient, flag, JSON.stringify(runs))
    },
    mention: (user, message) => mention.get(user, message) ?? 0,
    mentionsSince: (user, message) => new Map(mentionsSince.all(user, message).map((row) => [row.message, row.bits])),
    mentionsOf: (message) => mentionsOf.all(message),
    setMention(user, message, bits) {
      if (bits === 0) dropMention.run(user, message)
      else setMention.run(user, message, bits)
    },
    hasHistory: (user, message) => hasHistory.get(user, message) !== undefined,
    addHistory: (user, message) => void addHistory.run(user, message),
    holdersOf: (message) => holdersOf.all(message),
    holdersBetween: (from, to) => holdersBetween.all(from, to),
    historyOf: (user) => historyOf.all(user),
    removeMessage(message) {
      dropMentions.run(message)
      dropHistory.run(message)
    },
  }
}

const parseRuns = (text: string | undefined): Runs => (text === undefined ? [] : (JSON.parse(text) as Runs))
