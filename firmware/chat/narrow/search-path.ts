/** The access path of a full-text search. Contract section 5.2, `search`. */

import { defined } from '../../base/defined.ts'
import type { Phrase } from '../search/search.ts'
import { matchOf, sentTo, type WordQuery } from '../store/words.ts'
import { type AccessPath, isSmall, type Stream } from './access-path.ts'
import type { Condition } from './conditions.ts'
import { SCOPE_MAX, scopeOfTopics, TOPICS_MAX } from './scope.ts'
import type { Viewer } from './viewer.ts'

const PARTS_MAX = 20 // of all searches of a narrow; `holds` checks further parts
const WORDS_MAX = 16 // of a phrase; `holds` checks further words

/** Null if the index cannot help. `isShared`: messages that the viewer did not receive match as well. */
export function leadOfSearch(viewer: Viewer, conditions: readonly Condition[], isShared: boolean): AccessPath | null {
  if (!viewer.realm.store.words.isComplete) return null
  const parts = conditions.flatMap(({ search }) => search ?? []).slice(0, PARTS_MAX)
  const scopes = conditions.map(({ scope }) => scope?.() ?? null).filter((scope) => scope !== null)
  const wanted = wantedOf(viewer, parts)
  const match = matchOf({ wanted, scopes })
  if (match === null) return null
  const own = isShared ? null : ownOf(viewer)
  if (own === null) return { streams: [{ by: 'words', match, births: null }] }
  const { births, others } = own
  if (births.length > SCOPE_MAX || shareOf(viewer, births) > SPARSE)
    return { streams: [{ by: 'words', match, births }, ...others] }
  const ownMatch = defined(matchOf({ wanted, scopes: [...scopes, births.map(sentTo)] }))
  return { streams: [{ by: 'words', match: ownMatch, births: null }, ...others] }
}

/** Below this share of all messages, an additional scope in the index is faster than checking each match. */
const SPARSE = 1 / 50

function shareOf({ realm: { store } }: Viewer, births: readonly number[]): number {
  const sent = births.reduce((sum, birth) => sum + store.messages.maxOrdinal(birth), 0)
  return sent / Math.max(1, store.messages.maxId())
}

function wantedOf({ realm: { store } }: Viewer, parts: readonly Phrase[]): WordQuery['wanted'] {
  let room = TOPICS_MAX
  return parts.flatMap(({ words, isPrefix }) => {
    const wanted = { words: words.slice(0, WORDS_MAX), isPrefix: isPrefix && words.length <= WORDS_MAX }
    const topics = scopeOfTopics(store, store.words.topicsWith(wanted, room + 1), room)
    if (topics === null) return [] // the name occurs in so many topics that the index would not narrow the search
    room -= topics.length
    return [{ ...wanted, topics }]
  })
}

/** Recipients of the user's own history, and further streams. Null if the further messages are many. */
function ownOf(viewer: Viewer): { births: number[]; others: Stream[] } | null {
  const { realm, user } = viewer
  if (user === null) return null
  const others: Stream[] = [{ by: 'history', user: user.id }]
  return isSmall(realm.store, { streams: others }) ? { births: recipientsOf(viewer), others } : null
}

/** Channels of present and past subscriptions, and conversations of the user. */
export function recipientsOf({ realm, user }: Viewer): number[] {
  if (user === null) return []
  const { channel, subscriptionsOf, conversationsOf } = realm.state
  return [
    ...[...subscriptionsOf.get(user.id).keys()].flatMap((id) => channel.get(id)?.recipientId ?? []),
    ...[...conversationsOf(user.id)].map(({ recipientId }) => recipientId),
  ]
}
