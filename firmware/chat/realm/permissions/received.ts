/**
 * Finds the users whom many channel messages reached, by intervals of ordinals for each user instead of a check for each message.
 * `received` of visibility.ts answers the same for one message.
 */

import { defined } from '../../../base/defined.ts'
import type { PlacedRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { Subscription, User } from '../model/records.ts'
import { hasOrdinal, lowerBound } from '../model/runs.ts'
import { covers } from './visibility.ts'

export interface ReceivedMessages {
  /** Active users who received at least one of the messages, or have one for another reason. */
  readonly users: Iterable<User>
  /** The messages, in their order, that reached the user. Users with the same messages share one list. */
  by(userId: number): readonly PlacedRow[]
  /** The messages that the user may read at their location, a channel with protected history: see `reached` of visibility.ts. */
  atLocation(userId: number): readonly PlacedRow[]
}

/** Valid within one transaction. All `rows` are in one channel. */
export function receivedMessagesOf(realm: Realm, rows: readonly PlacedRow[]): ReceivedMessages {
  const { state, store } = realm
  const slices = new Map<number, Slice[]>()
  for (const [birth, sent] of Map.groupBy(rows, ({ birth }) => birth)) {
    const channel = state.channelByRecipient.get(birth)
    if (channel === undefined) continue
    const ordered = sent.toSorted((a, b) => a.ordinal - b.ordinal)
    const ordinals = ordered.map(({ ordinal }) => ordinal)
    for (const { userId, intervals } of state.everSubscribedTo.get(channel.id).values())
      for (const [first, last] of intervals) {
        const from = lowerBound(ordinals, first)
        const to = last === null ? ordinals.length : lowerBound(ordinals, last + 1)
        if (from < to) push(slices, userId, { birth, ordered, from, to })
      }
  }
  const held = heldOf(store, rows)
  const known = new Map<string, readonly PlacedRow[]>()

  function of(userId: number): readonly PlacedRow[] {
    const own = slices.get(userId) ?? []
    const other = held.get(userId) ?? []
    const key = `${own.map(({ birth, from, to }) => `${birth}:${from}-${to}`)} ${other}`
    let reached = known.get(key)
    if (reached === undefined) {
      reached = rowsIn(rows, own, other)
      known.set(key, reached)
    }
    return reached
  }

  const arrivals = arrivalsOf(realm, rows)
  const users = [...new Set([...slices.keys(), ...held.keys(), ...arrivals.users])].map((id) => state.user.require(id))
  return {
    users: users.filter(({ isActive }) => isActive),
    by: of,
    atLocation: (userId) => arrivals.among(userId, of(userId)),
  }
}

/** Messages sent to one channel, sorted by ordinal: the indexes `from` up to, not including, `to`. */
interface Slice {
  birth: number
  ordered: readonly PlacedRow[]
  from: number
  to: number
}

/** Handles messages that were moved into a private channel: see `reached` of visibility.ts. */
function arrivalsOf({ state, store }: Realm, rows: readonly PlacedRow[]) {
  const numbers = [...new Set(rows.map(({ arrival }) => arrival))].filter((arrival) => arrival > 0)
  const subscriptions = numbers.length === 0 ? NOBODY : subscriptionsTo(state, defined(rows[0]).recipient)
  const known = new Map<readonly PlacedRow[], Map<string, readonly PlacedRow[]>>()

  function among(userId: number, received: readonly PlacedRow[]): readonly PlacedRow[] {
    if (numbers.length === 0) return received
    const intervals = subscriptions.get(userId)?.intervals ?? []
    const kept = store.flags.runs(userId, defined(rows[0]).recipient, 'kept')
    const came = numbers.filter((arrival) => covers(intervals, arrival))
    const stayed = numbers.filter((arrival) => hasOrdinal(kept, arrival))
    const same = known.get(received) ?? new Map<string, readonly PlacedRow[]>()
    known.set(received, same)
    const key = `${came} ${stayed}`
    let reached = same.get(key)
    if (reached === undefined) {
      reached = reachedOf(rows, new Set(received), new Set(came), new Set([0, ...stayed]))
      same.set(key, reached)
    }
    return reached
  }

  const isThere = (intervals: Subscription['intervals']) => numbers.some((arrival) => covers(intervals, arrival))
  const users = [...subscriptions.values()].filter(({ intervals }) => isThere(intervals)).map(({ userId }) => userId)
  return { users, among }
}

const NOBODY: ReadonlyMap<number, Subscription> = new Map()

const subscriptionsTo = (state: Realm['state'], recipient: number): ReadonlyMap<number, Subscription> =>
  state.everSubscribedTo.get(defined(state.channelByRecipient.get(recipient)).id)

/** `came`: arrivals during a subscription of the user; `stayed`: arrivals where the user retains the messages received before the move. */
function reachedOf(
  rows: readonly PlacedRow[],
  received: ReadonlySet<PlacedRow>,
  came: ReadonlySet<number>,
  stayed: ReadonlySet<number>,
): readonly PlacedRow[] {
  const reached = rows.filter((row) => came.has(row.arrival) || (stayed.has(row.arrival) && received.has(row)))
  return reached.length === rows.length ? rows : reached
}

/** Returns, by user, the messages that the user has without having received them. */
function heldOf(store: Realm['store'], rows: readonly PlacedRow[]): Map<number, number[]> {
  const held = new Map<number, number[]>()
  if (rows.length === 0) return held
  const ids = new Set(rows.map(({ id }) => id))
  for (const { user, message } of store.flags.holdersBetween(defined(rows[0]).id, defined(rows.at(-1)).id))
    if (ids.has(message)) push(held, user, message)
  return held
}

function rowsIn(rows: readonly PlacedRow[], slices: readonly Slice[], held: readonly number[]): readonly PlacedRow[] {
  const ids = new Set(held)
  for (const { ordered, from, to } of slices) for (let at = from; at < to; at++) ids.add(defined(ordered[at]).id)
  return ids.size === rows.length ? rows : rows.filter(({ id }) => ids.has(id))
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
