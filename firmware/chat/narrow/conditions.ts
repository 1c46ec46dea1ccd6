/** The condition that each narrow term sets, and the best index for it. Contract section 5.2. */

import { isResolved } from '../realm/messages/location.ts'
import { isMuted as isTopicMuted, unreadRanges } from '../realm/messages/unread.ts'
import {
  ALERT_WORD,
  CHANNEL_WILDCARD,
  HAS_ATTACHMENT,
  HAS_IMAGE,
  HAS_LINK,
  HAS_REACTION,
  MENTIONED,
  TOPIC_WILDCARD,
} from '../realm/model/content-flags.ts'
import { fold } from '../realm/model/names.ts'
import { hasOrdinal } from '../realm/model/runs.ts'
import { policyOf } from '../realm/objects/user-topics.ts'
import { isFound, readSearch, type Search } from '../search/search.ts'
import type { Runs } from '../store/flags.ts'
import { having, isIndexed, sentBy } from '../store/words.ts'
import {
  type AccessPath,
  type Candidate,
  idsOfRanges,
  type OrdinalRange,
  STREAMS_MAX,
  type Stream,
} from './access-path.ts'
import { type Scope, scopeOfRecipients, scopeOfTopics } from './scope.ts'
import type { Term } from './terms.ts'
import type { Viewer } from './viewer.ts'

export interface Condition {
  holds(message: Candidate): boolean
  /** Null if no index helps. */
  readonly lead: RankedLead | null
  /** True if `holds` reads the content of messages. */
  readonly readsText?: boolean
  /** The text to highlight. */
  readonly search?: Search
  /** Restricts a full-text search. Absent if it must cover all messages. */
  readonly scope?: () => Scope
}

/** A smaller rank stands for fewer messages. */
interface RankedLead {
  readonly rank: number
  readonly lead: AccessPath
}

const RANK = {
  ids: 0,
  topic: 1,
  conversation: 2,
  mentions: 3,
  flagged: 4,
  several: 5,
  channel: 6,
  sender: 7,
  with: 8,
} as const

/** Above this number the other access paths find flagged messages faster. */
const FLAGGED_MAX = 5000

const EVERYTHING: Condition = { holds: () => true, lead: null }

/**
 * Throws NarrowError for a channel or user that does not exist or that the viewer cannot access. `within`: recipient of the only channel
 * that another term names.
 */
export function conditionOf(term: Term, viewer: Viewer, within: number | null): Condition {
  const condition = positive(term, viewer, within)
  if (!term.negated) return condition
  const { holds, readsText = false } = condition
  return { holds: (message) => !holds(message), lead: null, readsText }
}

function positive(term: Term, viewer: Viewer, within: number | null): Condition {
  switch (term.operator) {
    case 'channel':
      return inRecipients(viewer, [viewer.channel(term.operand).recipientId], RANK.channel)
    case 'channels':
      return inChannels(viewer, term.operand === 'web-public')
    case 'topic':
      return inTopics(viewer, term.operand, term.negated ? null : within)
    case 'sender': {
      const { id } = term.operand === 'me' ? viewer.self() : viewer.account(term.operand)
      return {
        holds: ({ sender }) => sender === id,
        lead: leadOf(RANK.sender, [{ by: 'sender', id }]),
        scope: () => [sentBy(id)],
      }
    }
    case 'dm':
      return inRecipients(viewer, viewer.conversation(term.operand), RANK.conversation)
    case 'dm-including':
      return inRecipients(viewer, viewer.conversationsWith(term.operand, 1), RANK.conversation)
    case 'group-pm-with':
      return inRecipients(viewer, viewer.conversationsWith(term.operand, 3), RANK.conversation)
    case 'is':
      return IS[term.operand](viewer)
    case 'has': {
      const bit = HAS[term.operand]
      return {
        holds: ({ bits }) => (bits & bit) !== 0,
        lead: leadOf(RANK.with, [{ by: 'with' }]),
        scope: () => (isIndexed(bit) ? [having(bit)] : null),
      }
    }
    case 'in':
      return term.operand === 'all' ? EVERYTHING : { holds: (message) => !isMuted(viewer, message), lead: null }
    case 'search':
      return found(viewer, readSearch(term.operand))
    case 'id':
      return { holds: ({ id }) => id === term.operand, lead: { rank: RANK.ids, lead: { ids: [term.operand] } } }
    case 'near': // only sets the client's anchor
    case 'with': // replaced before: see conversation.ts
      return EVERYTHING
    case 'mentions':
      return mentioned(viewer, viewer.account(term.operand).id, MENTIONED)
  }
}

const HAS = { attachment: HAS_ATTACHMENT, image: HAS_IMAGE, link: HAS_LINK, reaction: HAS_REACTION } as const

const leadOf = (rank: number, streams: readonly Stream[]): RankedLead | null =>
  streams.length > STREAMS_MAX ? null : { rank, lead: { streams } }

function inRecipients({ realm }: Viewer, ids: readonly number[], rank: number): Condition {
  const set = new Set(ids)
  const streams = ids.map((id): Stream => ({ by: 'recipient', id }))
  return {
    holds: ({ recipient }) => set.has(recipient),
    lead: leadOf(ids.length > 1 ? RANK.several : rank, streams),
    scope: () => scopeOfRecipients(realm.store, ids),
  }
}

function inChannels({ realm }: Viewer, isWebPublic: boolean): Condition {
  return {
    holds({ recipient }) {
      const channel = realm.state.channelByRecipient.get(recipient)
      return channel !== undefined && !channel.isPrivate && (!isWebPublic || channel.isWebPublic)
    },
    lead: null,
  }
}

/** Topics with this name in all readable channels: few, and each has an index. */
function inTopics({ realm, visibility }: Viewer, name: string, within: number | null): Condition {
  const folded = fold(name)
  const ids: number[] = []
  for (const { recipientId } of realm.state.channel.all()) {
    if ((within !== null && recipientId !== within) || visibility.extent(recipientId) === 'none') continue
    const topic = realm.store.topics.find(recipientId, folded)
    if (topic !== undefined) ids.push(topic.id)
  }
  const set = new Set(ids)
  const streams = ids.map((id): Stream => ({ by: 'topic', id }))
  return {
    holds: ({ topic }) => set.has(topic),
    lead: leadOf(ids.length > 1 ? RANK.several : RANK.topic, streams),
    scope: () => scopeOfTopics(realm.store, ids),
  }
}

type IsOperand = Extract<Term, { operator: 'is' }>['operand']

const IS: Readonly<Record<IsOperand, (viewer: Viewer) => Condition>> = {
  dm: (viewer) => inRecipients(viewer, viewer.conversationsWith(viewer.self().id, 1), RANK.conversation),
  starred(viewer) {
    const starred = viewer.realm.store.flags.allRuns(viewer.self().id, 'starred')
    return {
      holds: ({ birth, ordinal }) => hasOrdinal(starred.get(birth) ?? NO_RUNS, ordinal),
      lead: flagged(viewer, rangesOf(starred)),
    }
  },
  unread(viewer) {
    const user = viewer.self()
    const read = viewer.realm.store.flags.allRuns(user.id, 'read')
    return {
      holds: (message) =>
        !hasOrdinal(read.get(message.birth) ?? NO_RUNS, message.ordinal) && viewer.visibility.received(message),
      lead: flagged(viewer, unreadRanges(viewer.realm, user), viewer.realm.store.flags.historyOf(user.id)),
    }
  },
  mentioned: (viewer) => mentioned(viewer, viewer.self().id, MENTIONED | CHANNEL_WILDCARD | TOPIC_WILDCARD),
  alerted: (viewer) => mentioned(viewer, viewer.self().id, ALERT_WORD),
  resolved: (viewer) => ({ holds: ({ topic }) => isResolved(viewer.topicName(topic)), lead: null }),
  followed(viewer) {
    const { realm } = viewer
    const { id } = viewer.self()
    const holds = ({ recipient, topic }: Candidate): boolean => {
      const channel = realm.state.channelByRecipient.get(recipient)
      return channel !== undefined && policyOf(realm, id, channel, viewer.topicName(topic)) === 3
    }
    return { holds, lead: null }
  },
  muted(viewer) {
    viewer.self()
    return { holds: (message) => isMuted(viewer, message), lead: null }
  },
}

const NO_RUNS: Runs = []

/** True for a muted channel, topic or sender. A topic that the user unmuted or follows is not muted. */
export function isMuted(viewer: Viewer, { recipient, topic, sender }: Candidate): boolean {
  const { realm, user } = viewer
  if (user === null) return false
  if (realm.state.mutedUsers.get(user.id)?.value.some(({ id }) => id === sender) === true) return true
  const channel = realm.state.channelByRecipient.get(recipient)
  return channel !== undefined && isTopicMuted(realm, user, channel, viewer.topicName(topic))
}

function mentioned({ realm }: Viewer, user: number, bits: number): Condition {
  return {
    holds: ({ id }) => (realm.store.flags.mention(user, id) & bits) !== 0,
    lead: leadOf(RANK.mentions, [{ by: 'mention', user, bits }]),
  }
}

function* rangesOf(runs: ReadonlyMap<number, Runs>): Generator<OrdinalRange> {
  for (const [birth, own] of runs) for (const [from, to] of own) yield { birth, from, to }
}

/** `others`: ids of further messages that may match. */
function flagged({ realm }: Viewer, ranges: Iterable<OrdinalRange>, others: readonly number[] = []): RankedLead | null {
  const found = [...ranges]
  const count = found.reduce((sum, { from, to }) => sum + to - from + 1, others.length)
  if (count > FLAGGED_MAX) return null
  const ids = new Set([...idsOfRanges(realm.store, found), ...others])
  return { rank: RANK.flagged, lead: { ids: [...ids].sort((a, b) => a - b) } }
}

const NOTHING: Condition = { holds: () => false, lead: { rank: RANK.ids, lead: { ids: [] } } }

const found = (viewer: Viewer, search: Search): Condition =>
  search.length === 0
    ? NOTHING
    : {
        holds: ({ topic, html = '' }) => isFound(search, viewer.topicName(topic), html),
        lead: null,
        readsText: true,
        search,
      }
