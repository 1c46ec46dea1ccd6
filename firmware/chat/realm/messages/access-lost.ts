/** What becomes of marks when messages go out of somebody's sight, or where he is not subscribed. */

import type { Runs } from '../../store/flags.ts'
import type { PlacedRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { difference, gaps, lowerBound, runsOf, union } from '../model/runs.ts'
import type { Transaction } from '../model/transaction.ts'
import { visibilityOf } from '../permissions/visibility.ts'
import { changeFlag, publishRead } from './flags.ts'
import { unreadWithin } from './unread.ts'

/**
 * Marks messages that reached all of these users, in channels, as read: they were moved to where none of them is subscribed,
 * though he may still read them. Users to whom the same of them is new are told together.
 */
export function markMovedRead(realm: Realm, tx: Transaction, users: readonly User[], rows: readonly PlacedRow[]): void {
  const { flags } = realm.store
  const births = byBirth(rows)
  const told = new Map<string, { slices: Slice[]; userIds: number[] }>()
  for (const { id: userId } of users) {
    const slices = births.flatMap((sent) => {
      const { birth, ordinals, runs } = sent
      const read = flags.runs(userId, birth, 'read')
      const unread = gaps(read, ordinals[0]!, ordinals.at(-1)!)
        .map(([low, high]) => ({ sent, from: lowerBound(ordinals, low), to: lowerBound(ordinals, high + 1) }))
        .filter(({ from, to }) => from < to)
      if (unread.length > 0) flags.setRuns(userId, birth, 'read', union(read, runs))
      return unread
    })
    if (slices.length === 0) continue
    const key = slices.map(({ sent, from, to }) => `${sent.birth}:${from}-${to}`).join()
    const same = told.get(key)
    if (same === undefined) told.set(key, { slices, userIds: [userId] })
    else same.userIds.push(userId)
  }
  for (const { slices, userIds } of told.values()) {
    const ids = slices.flatMap(({ sent, from, to }) => sent.ids.slice(from, to))
    ids.sort((a, b) => a - b)
    publishRead(tx, userIds, ids)
  }
}

/** Of messages that reached these users, who cannot read them any more: their clients are told that they are gone. */
export function clearFlags(realm: Realm, userIds: readonly number[], rows: readonly PlacedRow[]): void {
  const { flags } = realm.store
  for (const { birth, runs } of byBirth(rows))
    for (const userId of userIds) {
      const [read, starred] = [flags.runs(userId, birth, 'read'), flags.runs(userId, birth, 'starred')]
      flags.setRuns(userId, birth, 'read', union(read, runs))
      if (starred.length > 0) flags.setRuns(userId, birth, 'starred', difference(starred, runs))
    }
}

/** Messages that were sent to one place, by their ordinals there. */
interface Sent {
  birth: number
  ordinals: readonly number[]
  runs: Runs
  ids: readonly number[]
}

/** Those from one index up to another. */
interface Slice {
  sent: Sent
  from: number
  to: number
}

const byBirth = (rows: readonly PlacedRow[]): Sent[] =>
  [...Map.groupBy(rows, ({ birth }) => birth)].map(([birth, own]) => {
    const ordered = own.toSorted((a, b) => a.ordinal - b.ordinal)
    const ordinals = ordered.map(({ ordinal }) => ordinal)
    return { birth, ordinals, runs: runsOf(ordinals), ids: ordered.map(({ id }) => id) }
  })

/** Of what he may not read any more in these channels: unread it would come back with them, and no event would have told of it. */
export function markUnreadableRead(realm: Realm, tx: Transaction, user: User, channels: Iterable<Channel>): void {
  const visibility = visibilityOf(realm, user)
  const recipients = [...channels].map(({ recipientId }) => recipientId).filter((id) => visibility.extent(id) !== 'all')
  if (recipients.length === 0) return
  const rows = unreadWithin(realm, user, recipients).filter((row) => !visibility.canRead(row))
  changeFlag(realm, tx, user, 'read', 'add', rows)
}
