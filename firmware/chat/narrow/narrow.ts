/** A narrow as one question about messages: its terms, the viewer's rights, and where to look. Contract section 5. */

import { readSearch, type Search } from '../search/search.ts'
import { type AccessPath, type Candidate, isSmall, STREAMS_MAX, type Stream } from './access-path.ts'
import { type Condition, conditionOf } from './conditions.ts'
import { withConversation } from './conversation.ts'
import { leadOfSearch, recipientsOf } from './search-path.ts'
import { NarrowError, type NarrowOperator, type Term } from './terms.ts'
import type { Viewer } from './viewer.ts'

export interface Narrow {
  readonly lead: AccessPath
  /** Whether the message is in it, and the viewer may read it. */
  holds(message: Candidate): boolean
  /** Whether `holds` asks for the text of messages. */
  readonly readsText: boolean
  /** It has several conversations, of which those that are muted are passed over on the way to what is unread. */
  readonly isWide: boolean
}

/** Throws NarrowError. `terms` as terms.ts reads them. */
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

/** What is highlighted; null where nothing is searched for. */
export function searchOf(terms: readonly Term[]): Search | null {
  const searched = terms.filter(({ operator, negated }) => operator === 'search' && !negated)
  return searched.length === 0 ? null : searched.flatMap(({ operand }) => readSearch(operand as string))
}

/** Messages that were sent to him, of those that he may read now. */
const ownOf =
  (visibility: Viewer['visibility']) =>
  (message: Candidate): boolean =>
    visibility.received(message) && visibility.canRead(message)

/** Whoever names a channel reads its history; else a user has his own alone, and a spectator all that is open. */
function sharesHistory({ user }: Viewer, terms: readonly Term[]): boolean {
  return user === null || terms.some(({ operator, negated }) => !negated && HISTORIES.has(operator))
}

const HISTORIES: ReadonlySet<NarrowOperator> = new Set(['channel', 'channels'])

const isOneConversation = ({ operator, negated }: Term): boolean =>
  !negated && (operator === 'topic' || operator === 'dm')

/** What somebody may ask for who has not signed in. */
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
 * The smallest index of all, or, where it is large, that of the words that are searched for; where no term has one, of his
 * own history the channels and conversations he reads.
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

/** Null: too many. What was sent to him lies in channels that he is or was subscribed to, in conversations, or was moved. */
function ownStreams(viewer: Viewer): Stream[] | null {
  if (viewer.user === null) return null
  const streams: Stream[] = [
    { by: 'moved' },
    { by: 'history', user: viewer.user.id },
    ...recipientsOf(viewer).map((id): Stream => ({ by: 'recipient', id })),
  ]
  return streams.length > STREAMS_MAX ? null : streams
}

/** The one channel that the narrow is about, if it is about one. */
function channelOf(viewer: Viewer, terms: readonly Term[]): number | null {
  for (const term of terms)
    if (term.operator === 'channel' && !term.negated) return viewer.channel(term.operand).recipientId
  return null
}
