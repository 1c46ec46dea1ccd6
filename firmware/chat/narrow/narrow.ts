/** A narrow: one predicate made from its terms and the viewer's rights, and the access path. Contract section 5. */

import { readSearch, type Search } from '../search/search.ts'
import { type AccessPath, type Candidate, isSmall, STREAMS_MAX, type Stream } from './access-path.ts'
import { type Condition, conditionOf } from './conditions.ts'
import { withConversation } from './conversation.ts'
import { leadOfSearch, recipientsOf } from './search-path.ts'
import { NarrowError, type NarrowOperator, type Term } from './terms.ts'
import type { Viewer } from './viewer.ts'

export interface Narrow {
  readonly lead: AccessPath
  holds(message: Candidate): boolean
  /** True if `holds` reads the content of messages. */
  readonly readsText: boolean
  /** True if the narrow spans several conversations. The search for the first unread message then skips muted ones. */
  readonly isWide: boolean
}

/** `terms` come from `readTerms`. Throws NarrowError. */
export function narrowOf(viewer: Viewer, terms: readonly Term[]): Narrow {
  const resolved = withConversation(viewer, terms)
  if (viewer.user === null) expectOpen(resolved)
  const channelId = channelOf(viewer, resolved)
  const conditions = resolved.map((term) => conditionOf(term, viewer, channelId))
  const { visibility } = viewer
  const isShared = sharesHistory(viewer, resolved)
  const reads = isShared ? visibility.canRead : ownOf(visibility)
  const quickFirst = conditions.toSorted((a, b) => Number(a.readsText ?? false) - Number(b.readsText ?? false))
  return {
    lead: leadOf(viewer, conditions, isShared),
    holds: (message) => reads(message) && quickFirst.every((condition) => condition.holds(message)),
    readsText: conditions.some(({ readsText }) => readsText === true),
    isWide: !resolved.some(isOneConversation),
  }
}

/** The text to highlight; null without a search. */
export function searchOf(terms: readonly Term[]): Search | null {
  const searched = terms.filter(({ operator, negated }) => operator === 'search' && !negated)
  return searched.length === 0 ? null : searched.flatMap(({ operand }) => readSearch(operand as string))
}

/** Messages that the user received and can still read. */
const ownOf =
  (visibility: Viewer['visibility']) =>
  (message: Candidate): boolean =>
    visibility.received(message) && visibility.canRead(message)

/** True if the narrow includes messages that the user never received: those that name a channel, and all narrows of spectators. */
function sharesHistory({ user }: Viewer, terms: readonly Term[]): boolean {
  return user === null || terms.some(({ operator, negated }) => !negated && HISTORIES.has(operator))
}

const HISTORIES: ReadonlySet<NarrowOperator> = new Set(['channel', 'channels'])

const isOneConversation = ({ operator, negated }: Term): boolean =>
  !negated && (operator === 'topic' || operator === 'dm')

const OPEN: ReadonlySet<NarrowOperator> = new Set([
  'channel',
  'channels',
  'topic',
  'sender',
  'has',
  'search',
  'id',
  'near',
])

function expectOpen(terms: readonly Term[]): void {
  const closed = terms.find(({ operator }) => !OPEN.has(operator))
  if (closed !== undefined) throw new NarrowError(`${closed.operator} is not for those who have not signed in`)
}

/**
 * Chooses the smallest index of the terms, or the full-text index for a search if that index is large. If no term has an index, the path
 * covers the channels and conversations of the user's own history.
 */
function leadOf(viewer: Viewer, conditions: readonly Condition[], isShared: boolean): AccessPath {
  let best: Condition['lead'] = null
  for (const { lead } of conditions) if (lead !== null && (best === null || lead.rank < best.rank)) best = lead
  const isSearch = conditions.some(({ search }) => search !== undefined)
  if (isSearch && (best === null || !isSmall(viewer.realm.store, best.lead))) {
    const found = leadOfSearch(viewer, conditions, isShared)
    if (found !== null) return found
  }
  if (best !== null) return best.lead
  const own = isShared ? null : ownStreams(viewer)
  return { streams: own ?? [{ by: 'all' }] }
}

/** Null if there are too many. Received messages are in channels of present or past subscriptions or in conversations, or were moved. */
function ownStreams(viewer: Viewer): Stream[] | null {
  if (viewer.user === null) return null
  const streams: Stream[] = [
    { by: 'moved' },
    { by: 'history', user: viewer.user.id },
    ...recipientsOf(viewer).map((id): Stream => ({ by: 'recipient', id })),
  ]
  return streams.length > STREAMS_MAX ? null : streams
}

/** Recipient of the only channel that the narrow names, if any. */
function channelOf(viewer: Viewer, terms: readonly Term[]): number | null {
  for (const term of terms)
    if (term.operator === 'channel' && !term.negated) return viewer.channel(term.operand).recipientId
  return null
}
