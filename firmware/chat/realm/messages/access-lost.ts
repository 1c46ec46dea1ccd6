import { defined } from '../../../base/defined.ts'
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
 * Marks moved messages as read for users who can still read them but are not subscribed to the new channel. `rows`: channel messages that
 * all of these users received. Users for whom the same messages were unread share one event.
 */
export function markMovedRead(realm: Realm, tx: Transaction, users: readonly User[], rows: readonly PlacedRow[]): void {
  const { flags } = realm.store
  const births = byBirth(rows)
  const told = new Map<string, { slices: Slice[]; userIds: number[] }>()
  for (const { id: userId } of users) {
    const slices = births.flatMap((sent) => {
      const { birth, ordinals, runs } = sent
      const read = flags.runs(userId, birth, 'read')
      const unread = gaps(read, defined(ordinals[0]), defined(ordinals.at(-1)))
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

/** Clears flags of messages that these users received and can no longer read. Publishes no event: the clients were told of a deletion. */
export function clearFlags(realm: Realm, userIds: readonly number[], rows: readonly PlacedRow[]): void {
  const { flags } = realm.store
  for (const { birth, runs } of byBirth(rows))
    for (const userId of userIds) {
      const [read, starred] = [flags.runs(userId, birth, 'read'), flags.runs(userId, birth, 'starred')]
      flags.setRuns(userId, birth, 'read', union(read, runs))
      if (starred.length > 0) flags.setRuns(userId, birth, 'starred', difference(starred, runs))
    }
}

/** Messages with the same birth, the location that they were sent to. */
interface Sent {
  birth: number
  ordinals: readonly number[]
  runs: Runs
  ids: readonly number[]
}

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

/**
 * Marks unread messages as read if the user can no longer read them. Otherwise they would be unread again, without an event, when the user
 * regains access.
 */
export function markUnreadableRead(realm: Realm, tx: Transaction, user: User, channels: Iterable<Channel>): void {
  const visibility = visibilityOf(realm, user)
  const recipients = [...channels].map(({ recipientId }) => recipientId).filter((id) => visibility.extent(id) !== 'all')
  if (recipients.length === 0) return
  const rows = unreadWithin(realm, user, recipients).filter((row) => !visibility.canRead(row))
  changeFlag(realm, tx, user, 'read', 'add', rows)
}
