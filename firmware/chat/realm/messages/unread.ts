/** Unread messages: the received ones minus the user's runs of read ordinals. Contract section 4.2.1. */

import { defined } from '../../../base/defined.ts'
import type { Runs } from '../../store/flags.ts'
import type { PlacedRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { gaps } from '../model/runs.ts'
import { policyOf } from '../objects/user-topics.ts'

/** The newest; contract section 4.2.1. */
export const UNREAD_MAX = 50_000

/**
 * Yields unread messages lazily, newest first, including those that the user may no longer read. Messages that arrive after the start are
 * left out. `within`: recipient ids of the channels to search; nothing else is read.
 */
export function* newestUnread(realm: Realm, user: User, within?: Iterable<number>): Generator<PlacedRow> {
  const byBirth = Map.groupBy(unreadRanges(realm, user), ({ birth }) => birth)
  const recipients = within && new Set(within)
  const sources = recipients
    ? [...recipients].flatMap((recipient) => [...sourcesWithin(realm, recipient, byBirth)])
    : [...byBirth.values()].map((ranges) => newestIn(realm, ranges))
  const rows = newestFirst([...sources, newestHeld(realm, user)])
  yield* recipients ? rows.filter(({ recipient }) => recipients.has(recipient)) : rows
}

/** Like `newestUnread`, limited to the number that a client can know of. */
export function unreadWithin(realm: Realm, user: User, recipients: Iterable<number>): PlacedRow[] {
  return [...newestUnread(realm, user, recipients).take(UNREAD_MAX)]
}

/** Yields all messages sent to these recipients lazily, newest first. */
export const newestSent = (realm: Realm, recipients: readonly number[]): Generator<PlacedRow> =>
  newestFirst(
    recipients.map((birth) => newestIn(realm, [{ birth, from: 1, to: realm.store.messages.maxOrdinal(birth) }])),
  )

function* newestFirst(sources: Iterable<Batches>): Generator<PlacedRow> {
  // Sorted by the newest message, ascending: the last head is next.
  const heads: Head[] = []
  const nextOf = ({ rows, at }: Head): PlacedRow => defined(rows[at])
  const place = (head: Head): void => {
    const { id } = nextOf(head)
    let [low, high] = [0, heads.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (nextOf(defined(heads[middle])).id < id) low = middle + 1
      else high = middle
    }
    if (low === heads.length) heads.push(head)
    else heads.splice(low, 0, head)
  }
  const read = (source: Batches): void => {
    let next = source.next()
    while (next.done !== true && next.value.length === 0) next = source.next()
    if (next.done !== true) place({ rows: next.value, at: 0, source })
  }
  for (const source of sources) read(source)
  for (let head = heads.pop(); head !== undefined; head = heads.pop()) {
    yield nextOf(head)
    if (++head.at < head.rows.length) place(head)
    else read(head.source)
  }
}

interface Head {
  rows: readonly PlacedRow[]
  at: number
  source: Batches
}

/** Newest first. Rows come in batches, because a generator step costs as much for a batch as for a row. */
type Batches = IteratorObject<readonly PlacedRow[]>

type UnreadByBirth = ReadonlyMap<number, readonly UnreadRange[]>

function* sourcesWithin(realm: Realm, recipient: number, unread: UnreadByBirth): Generator<Batches> {
  for (const birth of realm.store.messages.birthsOf(recipient, Number.MAX_SAFE_INTEGER)) {
    const ranges = unread.get(birth)
    if (ranges !== undefined)
      yield birth === recipient ? newestIn(realm, ranges) : newestMoved(realm, recipient, ranges)
  }
}

/** Most callers need few rows; each further read doubles the number. */
const ROWS_FIRST = 100
const ROWS_AT_ONCE_MAX = 1600

/** `ranges` must have one birth, and ascend. */
function* newestIn({ store }: Realm, ranges: readonly UnreadRange[]): Generator<readonly PlacedRow[]> {
  let count = ROWS_FIRST
  for (const { birth, from, to } of ranges.toReversed())
    for (let high = to; high >= from; ) {
      const rows = store.messages.sentBetween(birth, from, high, count)
      yield rows
      const last = rows.at(-1)
      if (last === undefined || rows.length < count) break
      high = last.ordinal - 1
      count = Math.min(2 * count, ROWS_AT_ONCE_MAX)
    }
}

/** Messages moved to `recipient`. `ranges`: unread ordinals of the location that they were sent to. */
function newestMoved({ store }: Realm, recipient: number, ranges: readonly UnreadRange[]): Batches {
  const { birth } = defined(ranges[0])
  const batches = byPages((below) => store.messages.movedTo(recipient, birth, ROWS_FIRST, below))
  return batches.map((rows) =>
    rows.filter(({ ordinal }) => ranges.some(({ from, to }) => from <= ordinal && ordinal <= to)),
  )
}

/** Yields unread messages in the user's history that the user did not receive. */
export function newestHeld(realm: Realm, user: User): Batches {
  const batches = byPages((below) => realm.store.messages.heldBy(user.id, ROWS_FIRST, below))
  return batches.map((rows) => rows.filter((row) => !isRead(realm, user, row)))
}

/** `read` returns up to ROWS_FIRST rows with ids below its argument, newest first. */
function* byPages(read: (below: number | undefined) => readonly PlacedRow[]): Generator<readonly PlacedRow[]> {
  for (let below: number | undefined; ; ) {
    const rows = read(below)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < ROWS_FIRST) return
    below = last.id
  }
}

export interface UnreadRange {
  birth: number
  from: number
  to: number
}

/** Ranges of unread ordinals by birth, the location that messages were sent to. The newest range comes last. */
export function* unreadRanges(realm: Realm, user: User): Generator<UnreadRange> {
  const { state, store } = realm
  const read = store.flags.allRuns(user.id, 'read')
  const ranges = function* (birth: number, from: number, to: number) {
    for (const [low, high] of gaps(read.get(birth) ?? NO_RUNS, from, to)) yield { birth, from: low, to: high }
  }
  for (const [channelId, { intervals }] of state.subscriptionsOf.get(user.id)) {
    const { recipientId } = state.channel.require(channelId)
    const newest = store.messages.maxOrdinal(recipientId)
    for (const [from, to] of intervals) yield* ranges(recipientId, from, Math.min(to ?? newest, newest))
  }
  for (const { recipientId } of state.conversationsOf(user.id))
    yield* ranges(recipientId, 1, store.messages.maxOrdinal(recipientId))
}

const NO_RUNS: Runs = []

const isRead = ({ store }: Realm, user: User, { birth, ordinal }: PlacedRow): boolean =>
  gaps(store.flags.runs(user.id, birth, 'read'), ordinal, ordinal).length === 0

/** True if the topic is muted, or if the channel is muted and the topic has no policy. Messages there do not count as unread. */
export function isMuted(realm: Realm, user: User, channel: Channel, topic: string): boolean {
  const policy = policyOf(realm, user.id, channel, topic)
  if (policy !== 0) return policy === 1
  return realm.state.subscriptionsOf.get(user.id).get(channel.id)?.isMuted ?? false
}
