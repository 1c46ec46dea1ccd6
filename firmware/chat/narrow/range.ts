/** Selects the messages of a fetch: up to so many before and after an anchor. Contract section 5.1. */

import { setImmediate } from 'node:timers/promises'
import { payerOf } from '../realm/model/owners.ts'
import type { ChatStore } from '../store/store.ts'
import { firstIdAt } from '../store/times.ts'
import { isMuted } from './conditions.ts'
import { type Narrow, narrowOf } from './narrow.ts'
import { scan, select } from './scan.ts'
import type { Term } from './terms.ts'
import type { Viewer } from './viewer.ts'

/** Exceeds every message id, and stands for the newest message. Clients know the number. */
export const NEWEST = 10_000_000_000_000_000
export const RANGE_MAX = 5000 // num_before + num_after

export type Anchor = number | 'newest' | 'oldest' | 'first_unread' | { /** Seconds. */ readonly date: number }

interface MessageRange {
  anchor: Anchor
  before: number
  after: number
  includeAnchor: boolean
}

export interface FoundRange {
  ids: number[]
  anchor: number
  foundOldest: boolean
  foundNewest: boolean
  foundAnchor: boolean
}

/** `viewer` returns the viewer with current rights. Throws NarrowError. */
export async function findRange(
  viewer: () => Viewer,
  terms: readonly Term[],
  range: MessageRange,
): Promise<FoundRange> {
  const { realm, user } = viewer()
  const { store } = realm
  const account = user && payerOf(user)
  const narrow = untilChanged(store, () => narrowOf(viewer(), terms))
  const anchor = await resolveAnchor(viewer, terms, range.anchor)
  const own = range.includeAnchor && anchor > 0 && anchor < NEWEST ? select(store, narrow(), [anchor]) : []
  const older = await scan(store, narrow, 'older', anchor, range.before, account)
  if (range.before > 0 && range.after > 0) await setImmediate() // lets other requests run between the two scans
  const newer = await scan(store, narrow, 'newer', anchor, range.after, account)
  return {
    ids: [...older.found.reverse(), ...own, ...newer.found],
    anchor,
    foundOldest: anchor === 0 || older.isEnd,
    foundNewest: anchor === NEWEST || newer.isEnd,
    foundAnchor: own.length > 0,
  }
}

async function resolveAnchor(viewer: () => Viewer, terms: readonly Term[], anchor: Anchor): Promise<number> {
  switch (anchor) {
    case 'newest':
      return NEWEST
    case 'oldest':
      return 0
    case 'first_unread':
      return (await firstUnread(viewer, terms)) ?? NEWEST
    default:
      if (typeof anchor === 'number') return Math.min(Math.max(anchor, 0), NEWEST)
      return (await firstAt(viewer, terms, anchor.date)) ?? NEWEST
  }
}

/** Returns the first unread message of the narrow. Skips muted conversations if the narrow spans several. */
async function firstUnread(viewer: () => Viewer, terms: readonly Term[]): Promise<number | undefined> {
  const { user, realm } = viewer()
  if (user === null) return undefined
  const unread: Term = { operator: 'is', operand: 'unread', negated: false }
  const { store } = realm
  const narrow = untilChanged(store, () => {
    const now = viewer()
    const found = narrowOf(now, [...terms, unread])
    return found.isWide ? { ...found, holds: (message) => found.holds(message) && !isMuted(now, message) } : found
  })
  return (await scan(store, narrow, 'newer', 0, 1, payerOf(user))).found[0]
}

async function firstAt(viewer: () => Viewer, terms: readonly Term[], date: number): Promise<number | undefined> {
  const { realm, user } = viewer()
  const { store } = realm
  const first = firstIdAt(store, date)
  if (first === null) return undefined
  const narrow = untilChanged(store, () => narrowOf(viewer(), terms))
  return (await scan(store, narrow, 'newer', first - 1, 1, user && payerOf(user))).found[0]
}

/** Rebuilds the narrow after each transaction, because rights, policies and flags may have changed. */
function untilChanged(store: ChatStore, make: () => Narrow): () => Narrow {
  let made: { narrow: Narrow; commits: number } | undefined
  return () => {
    const { commits } = store
    if (made?.commits !== commits) made = { narrow: make(), commits }
    return made.narrow
  }
}
