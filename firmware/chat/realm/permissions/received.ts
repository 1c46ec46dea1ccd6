/**
 * Whom many messages of channels reached, all at once: a question of intervals of ordinals for each user and not one for
 * each message. Design 6; the same for one message is `received` of visibility.ts.
 */

import type { PlacedRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { Subscription, User } from '../model/records.ts'
import { hasOrdinal, lowerBound } from '../model/runs.ts'
import { covers } from './visibility.ts'

export interface ReceivedMessages {
  /** Whoever is active and received one of them, or has it for another reason. */
  readonly users: Iterable<User>
  /** Of the messages, in their order, those that reached a user: the same list for all whom the same reached. */
  by(userId: number): readonly PlacedRow[]
  /** The same of those that reached him where they lie now, in a channel with protected history. */
  atLocation(userId: number): readonly PlacedRow[]
}

/** True for one turn. `rows` lie in one channel. */
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
  const users = [...new Set([...slices.keys(), ...held.keys(), ...arrivals.users])].map((id) => state.user.get(id)!)
  return {
    users: users.filter(({ isActive }) => isActive),
    by: of,
    atLocation: (userId) => arrivals.among(userId, of(userId)),
  }
}

/** Of the messages that were sent to one channel, by ordinal, those from one index up to another. */
interface Slice {
  birth: number
  ordered: readonly PlacedRow[]
  from: number
  to: number
}

/** Of what was moved into a private channel: see `reached` of visibility.ts. */
function arrivalsOf({ state, store }: Realm, rows: readonly PlacedRow[]) {
  const numbers = [...new Set(rows.map(({ arrival }) => arrival))].filter((arrival) => arrival > 0)
  const subscriptions = numbers.length === 0 ? NOBODY : subscriptionsTo(state, rows[0]!.recipient)
  const known = new Map<readonly PlacedRow[], Map<string, readonly PlacedRow[]>>()

  function among(userId: number, received: readonly PlacedRow[]): readonly PlacedRow[] {
    if (numbers.length === 0) return received
    const intervals = subscriptions.get(userId)?.intervals ?? []
    const kept = store.flags.runs(userId, rows[0]!.recipient, 'kept')
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
  state.everSubscribedTo.get(state.channelByRecipient.get(recipient)!.id)

/** `came`: arrivals of which he has all; `stayed`: those of which he has what he had. */
function reachedOf(
  rows: readonly PlacedRow[],
  received: ReadonlySet<PlacedRow>,
  came: ReadonlySet<number>,
  stayed: ReadonlySet<number>,
): readonly PlacedRow[] {
  const reached = rows.filter((row) => came.has(row.arrival) || (stayed.has(row.arrival) && received.has(row)))
  return reached.length === rows.length ? rows : reached
}

/** By user the messages that he has although he did not receive them. */
function heldOf(store: Realm['store'], rows: readonly PlacedRow[]): Map<number, number[]> {
  const held = new Map<number, number[]>()
  if (rows.length === 0) return held
  const ids = new Set(rows.map(({ id }) => id))
  for (const { user, message } of store.flags.holdersBetween(rows[0]!.id, rows.at(-1)!.id))
    if (ids.has(message)) push(held, user, message)
  return held
}

function rowsIn(rows: readonly PlacedRow[], slices: readonly Slice[], held: readonly number[]): readonly PlacedRow[] {
  const ids = new Set(held)
  for (const { ordered, from, to } of slices) for (let at = from; at < to; at++) ids.add(ordered[at]!.id)
  return ids.size === rows.length ? rows : rows.filter(({ id }) => ids.has(id))
}

function push<K, V>(map: Map<K, V[]>, key: K, value: V): void {
  const list = map.get(key)
  if (list === undefined) map.set(key, [value])
  else list.push(value)
}
