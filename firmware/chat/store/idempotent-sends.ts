/** Answers of idempotent sends: see realm/messages/send-once.ts. Contract sections 3.2.1 and 9.1. */

import type { Database } from 'better-sqlite3'

export const SENDS_OF_ACCOUNT_MAX = 10_000 // a hundred an hour for four days
const SENDS_MAX = 500_000 // 60 MB

const EXPIRED_AT_ONCE = 8 // per new row, so that expired rows are removed faster than new ones arrive

interface SendRow {
  /** The account to which the row is charged: for a bot its owner. */
  readonly user: number
  /** Keyed hashes, which cover the sender's id. */
  readonly key: Uint8Array
  readonly parameters: Uint8Array
  readonly message: number
  /** `automatic_new_visibility_policy` of the answer; 0 if it had none. */
  readonly policy: number
  /** Seconds. */
  readonly time: number
}

export interface Sends {
  find(key: Uint8Array): SendRow | undefined
  /** Replaces a row with the same key. Removes some rows older than `since` (seconds) or above the bounds. */
  add(row: SendRow, since: number): void
}

export function prepareSends(database: Database): Sends {
  const find = database.prepare<[Uint8Array], SendRow>(
    'SELECT user, key, parameters, message, policy, time FROM sends WHERE key = ?',
  )
  const newest = database.prepare<[number], number | null>('SELECT max(serial) FROM sends WHERE user = ?').pluck()
  const add = database.prepare(
    `INSERT OR REPLACE INTO sends (user, serial, key, parameters, message, policy, time)
     VALUES (:user, :serial, :key, :parameters, :message, :policy, :time)`,
  )
  const removeExpired = database.prepare(
    'DELETE FROM sends WHERE number IN (SELECT number FROM sends ORDER BY number LIMIT ?) AND time < ?',
  )
  const removeOldest = database.prepare('DELETE FROM sends WHERE number <= ?')
  const removeOldestOf = database.prepare('DELETE FROM sends WHERE user = ? AND serial <= ?')
  return {
    find: (key) => find.get(key),
    add(row, since) {
      const serial = (newest.get(row.user) ?? 0) + 1
      const number = Number(add.run({ ...row, serial }).lastInsertRowid)
      removeExpired.run(EXPIRED_AT_ONCE, since)
      removeOldest.run(number - SENDS_MAX)
      removeOldestOf.run(row.user, serial - SENDS_OF_ACCOUNT_MAX)
    },
  }
}
