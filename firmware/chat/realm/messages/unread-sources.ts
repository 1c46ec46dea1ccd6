/**
 * The newest unread messages of a user as ranges of columns, without an object for each. Contract section 4.2.1. A register reads up to
 * 50,000; `newestUnread` is for callers that need rows.
 */

import { defined } from '../../../base/defined.ts'
import type { PlacedRow } from '../../store/messages.ts'
import type { SentMessages } from '../../store/recent-placements.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { lowerBound } from '../model/runs.ts'
import { type Visibility, visibilityOf } from '../permissions/visibility.ts'
import { newestHeld, type UnreadRange, unreadRanges } from './unread.ts'

/** Messages in `sent` that are still in their birth, as indexes from..to (exclusive), ascending. */
export interface UnreadSource {
  readonly sent: SentMessages
  readonly parts: readonly (readonly [from: number, to: number])[]
}

interface UnreadSet {
  readonly sources: readonly UnreadSource[]
  /** Unread messages that a move placed elsewhere, and those of the user's history. Ascending by id. */
  readonly others: readonly PlacedRow[]
  /** True if there are further, older ones. */
  readonly isCut: boolean
}

/** Reading so many ordinals costs as much as another query. */
const GAP_MIN = 16
/** Ordinals of the first read of a location if not all are needed; each further read doubles the number. */
const ORDINALS_FIRST = 512

/** The newest `max` messages that the user may read. Call outside transactions: the rows read are kept for other users. */
export function unreadSet(realm: Realm, user: User, max: number): UnreadSet {
  realm.store.messages.sent.begin()
  const visibility = visibilityOf(realm, user)
  const held = heldBy(realm, user, visibility, max)
  const byBirth = Map.groupBy(unreadRanges(realm, user), ({ birth }) => birth)
  const locations = [...byBirth.values()].map((ranges) => createLocation(realm, ranges, visibility))
  loadNewest(locations, held, max)
  const clusters = locations.flatMap(({ loaded }) => loaded.toReversed())
  const total = countFrom(0, clusters, held)
  const least = total <= max ? 0 : leastId(realm, clusters, held, max)
  const others = [...clusters.flatMap((one) => one.moved), ...held].filter(({ id }) => id >= least)
  return {
    sources: clusters.map((one) => ({ sent: one.sent, parts: one.partsFrom(least) })),
    others: others.sort((a, b) => a.id - b.id),
    isCut: total > max,
  }
}

/** Newest first. */
function heldBy(realm: Realm, user: User, visibility: Visibility, max: number): PlacedRow[] {
  const rows: PlacedRow[] = []
  for (const batch of newestHeld(realm, user)) {
    for (const row of batch) if (visibility.canRead(row)) rows.push(row)
    if (rows.length > max) break
  }
  return rows
}

/** Loads all messages, or the newest of each location until none that is missing can be among the newest of all. */
function loadNewest(locations: readonly Location[], held: readonly PlacedRow[], max: number): void {
  const isFew = locations.reduce((sum, { ordinals }) => sum + ordinals, 0) <= max
  let checkAt = max
  for (;;) {
    let next: Location | undefined
    let loaded = 0
    for (const one of locations) {
      loaded += one.ordinalsLoaded
      if (!one.isComplete && (next === undefined || one.oldestId > next.oldestId)) next = one
    }
    if (next === undefined) return
    if (loaded >= checkAt) {
      const clusters = locations.flatMap((one) => one.loaded)
      if (countFrom(next.oldestId, clusters, held) > max) return
      checkAt = loaded * 1.1 // counting takes longer than reading a little more
    }
    if (isFew) for (const one of locations) one.loadAll()
    else next.loadMore()
  }
}

const countFrom = (id: number, clusters: readonly Cluster[], held: readonly PlacedRow[]): number =>
  clusters.reduce((sum, one) => sum + one.countFrom(id), 0) +
  held.reduce((sum, row) => (row.id >= id ? sum + 1 : sum), 0)

/** The id from which on there are `max` messages. */
function leastId(realm: Realm, clusters: readonly Cluster[], held: readonly PlacedRow[], max: number): number {
  let [low, high] = [1, realm.store.messages.maxId() + 1]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (countFrom(middle, clusters, held) >= max) low = middle
    else high = middle
  }
  return low
}

/** Unread messages that were sent to one channel or conversation. */
interface Location {
  /** Unread ordinals, in all and so far. Some of the messages may be deleted. */
  readonly ordinals: number
  readonly ordinalsLoaded: number
  readonly isComplete: boolean
  /** Missing messages have lower ids. Infinity before the first read. */
  readonly oldestId: number
  /** Newest first. */
  readonly loaded: readonly Cluster[]
  loadAll(): void
  loadMore(): void
}

/** `ranges` ascend. */
function createLocation({ store }: Realm, ranges: readonly UnreadRange[], visibility: Visibility): Location {
  const { birth } = defined(ranges[0])
  const newest = store.messages.maxOrdinal(birth)
  const missing = clustersOf(ranges)
  const loaded: Cluster[] = []
  let [ordinalsLoaded, oldestId] = [0, Number.POSITIVE_INFINITY]

  function open(): Cluster {
    const ranges = defined(missing.shift())
    const [{ from }, { to }] = [defined(ranges[0]), defined(ranges.at(-1))]
    const isNewest = loaded.length === 0 && newest - to <= Math.max(GAP_MIN, to - from + 1)
    // Only one: loading older messages moves the indexes of those that are there.
    const sent = isNewest ? store.messages.sent.newest(birth, newest) : store.messages.sent.older(birth, to)
    const cluster = createCluster(sent, ranges, visibility)
    loaded.push(cluster)
    return cluster
  }

  function load(count: number): void {
    const last = loaded.at(-1)
    const cluster = last === undefined || last.isComplete ? open() : last
    ordinalsLoaded += cluster.load(count)
    oldestId = Math.min(oldestId, cluster.oldestId)
  }

  const isComplete = (): boolean => missing.length === 0 && defined(loaded.at(-1)).isComplete
  return {
    ordinals: ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0),
    loaded,
    get ordinalsLoaded() {
      return ordinalsLoaded
    },
    get isComplete() {
      return isComplete()
    },
    get oldestId() {
      return oldestId
    },
    loadAll() {
      while (!isComplete()) load(Number.POSITIVE_INFINITY)
    },
    loadMore: () => load(Math.max(ORDINALS_FIRST, ordinalsLoaded)),
  }
}

/** Groups of ranges, the newest group first, that are so close together that reading them as one costs at most twice as much. */
function clustersOf(ranges: readonly UnreadRange[]): UnreadRange[][] {
  const clusters: UnreadRange[][] = []
  let count = 0
  for (const range of ranges.toReversed()) {
    const cluster = clusters.at(-1)
    if (cluster === undefined || defined(cluster[0]).from - range.to - 1 > Math.max(GAP_MIN, count)) {
      clusters.push([range])
      count = 0
    } else cluster.unshift(range)
    count += range.to - range.from + 1
  }
  return clusters
}

interface Cluster {
  readonly sent: SentMessages
  readonly isComplete: boolean
  readonly oldestId: number
  /** Messages that a move placed elsewhere. */
  readonly moved: readonly PlacedRow[]
  /** Loads about `count` older ordinals. Returns the number of unread ones among them. */
  load(count: number): number
  /** Number of loaded messages with ids of at least `id`. */
  countFrom(id: number): number
  partsFrom(id: number): (readonly [from: number, to: number])[]
}

/** The user received the messages, so those that are still in their birth can all be read, or none. */
function createCluster(sent: SentMessages, ranges: readonly UnreadRange[], visibility: Visibility): Cluster {
  const { birth, from } = defined(ranges[0])
  const isReadable = visibility.extent(birth) !== 'none'
  let parts: [from: number, to: number][] = []
  let moved: readonly PlacedRow[] = []
  let low = defined(ranges.at(-1)).to + 1 // lowest loaded ordinal

  const indexOf = (id: number): number => (id === 0 ? 0 : lowerBound(sent.ids, id))

  return {
    sent,
    get moved() {
      return moved
    },
    get isComplete() {
      return low <= from
    },
    get oldestId() {
      const inPlace = sent.ids[lowerBound(sent.ordinals, low)]
      const elsewhere = sent.moved.find(({ ordinal }) => ordinal >= low)?.id
      return Math.min(inPlace ?? Number.POSITIVE_INFINITY, elsewhere ?? Number.POSITIVE_INFINITY)
    },
    load(count) {
      const before = low
      sent.extend(Math.max(from, low - count))
      low = Math.max(from, sent.from)
      parts = isReadable
        ? ranges.map(({ from, to }) => [lowerBound(sent.ordinals, from), lowerBound(sent.ordinals, to + 1)])
        : []
      moved = sent.moved.filter((row) => includes(ranges, row.ordinal) && visibility.canRead(row))
      return ranges.reduce(
        (sum, { from, to }) => sum + Math.max(0, Math.min(to, before - 1) - Math.max(from, low) + 1),
        0,
      )
    },
    countFrom(id) {
      const first = indexOf(id)
      const inPlace = parts.reduce((sum, [from, to]) => sum + Math.max(0, to - Math.max(from, first)), 0)
      return inPlace + moved.reduce((sum, row) => (row.id >= id ? sum + 1 : sum), 0)
    },
    partsFrom(id) {
      const first = indexOf(id)
      // A range is empty here when all its messages were moved.
      return parts.map(([from, to]) => [Math.max(from, first), to] as const).filter(([from, to]) => from < to)
    },
  }
}

const includes = (ranges: readonly UnreadRange[], ordinal: number): boolean =>
  ranges.some(({ from, to }) => from <= ordinal && ordinal <= to)
