/**
 * Flags of messages. A message costs one row, not one per reader: recipients follow from subscription intervals, and flags are stored as
 * runs of ordinals. Contract sections 2.4 and 4.4 (V52, V53).
 */

import type { EventBody, Merge } from '../../events/queue.ts'
import type { Shape } from '../../events/shapes.ts'
import type { Flag, Runs } from '../../store/flags.ts'
import type { MessageRow } from '../../store/messages.ts'
import { ALERT_WORD, CHANNEL_WILDCARD, MENTIONED, TOPIC_WILDCARD } from '../model/content-flags.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { addRun, difference, hasOrdinal, runsOf, union } from '../model/runs.ts'
import { topicName } from '../model/topic-names.ts'
import type { Transaction } from '../model/transaction.ts'
import { type MessagePosition, visibilityOf } from '../permissions/visibility.ts'
import { locationOf } from './location.ts'

export const EDITABLE_FLAGS = ['read', 'starred', 'collapsed', 'hide_link_previews'] as const satisfies readonly Flag[]

interface MessageReader {
  /** The user must be able to read `message`. Contract section 2.4. */
  flags(message: MessagePosition): string[]
  /** Flags in `update_message`: without those that the official app's decoder does not know, for it refuses the whole event. V51. */
  flagsInUpdate(message: MessagePosition): string[]
  isUnread(message: MessagePosition): boolean
}

/** Caches flags: valid within one transaction only. */
export function readerOf(realm: Realm, user: User): MessageReader {
  const { flags } = realm.store
  const visibility = visibilityOf(realm, user)
  const known = new Map<string, Runs>()

  function has(flag: Flag, { birth, ordinal }: MessagePosition): boolean {
    const key = `${flag} ${birth}`
    let runs = known.get(key)
    if (runs === undefined) {
      runs = flags.runs(user.id, birth, flag)
      known.set(key, runs)
    }
    return hasOrdinal(runs, ordinal)
  }

  function allFlags(message: MessagePosition): string[] {
    if (!visibility.received(message)) return ['read', 'historical']
    const bits = flags.mention(user.id, message.id)
    const isHistorical = bits === 0 && flags.hasHistory(user.id, message.id)
    return [
      ...EDITABLE_FLAGS.filter((flag) => has(flag, message)),
      ...mentionFlags(bits),
      ...(isHistorical ? ['historical'] : []),
    ]
  }

  return {
    flags: allFlags,
    flagsInUpdate: (message) => allFlags(message).filter((flag) => flag !== 'hide_link_previews'),
    isUnread: (message) => visibility.received(message) && !has('read', message),
  }
}

/** Adds the deprecated `wildcard_mentioned` for either kind of wildcard. */
export function mentionFlags(bits: number): string[] {
  const flags: string[] = []
  if (bits & MENTIONED) flags.push('mentioned')
  if (bits & CHANNEL_WILDCARD) flags.push('stream_wildcard_mentioned')
  if (bits & TOPIC_WILDCARD) flags.push('topic_wildcard_mentioned')
  if (bits & (CHANNEL_WILDCARD | TOPIC_WILDCARD)) flags.push('wildcard_mentioned')
  if (bits & ALERT_WORD) flags.push('has_alert_word')
  return flags
}

export const FLAG_OPS = ['add', 'remove'] as const
export type FlagOp = (typeof FLAG_OPS)[number]

/**
 * Changes a flag of messages that the user may read, and publishes the event. Returns the ids of messages that changed, ascending. A
 * message that the user did not receive is added to the user's history; it counts as read unless it is being marked unread.
 */
export function changeFlag(
  realm: Realm,
  tx: Transaction,
  user: User,
  flag: Flag,
  op: FlagOp,
  messages: readonly MessagePosition[],
): number[] {
  const { flags } = realm.store
  const visibility = visibilityOf(realm, user)
  const changed: MessagePosition[] = []
  for (const [birth, own] of Map.groupBy(messages, ({ birth }) => birth)) {
    const runs = flags.runs(user.id, birth, flag)
    const ordinals = new Set<number>()
    for (const message of own) {
      const { ordinal } = message
      const isReceived = visibility.received(message)
      const isIn = flag === 'read' && !isReceived ? true : hasOrdinal(runs, ordinal)
      if (isIn === (op === 'add') || ordinals.has(ordinal)) continue
      changed.push(message)
      ordinals.add(ordinal)
      if (!isReceived) addUnreceived(realm, user.id, message, flag === 'read')
    }
    if (ordinals.size === 0) continue
    const marked = runsOf([...ordinals].sort((a, b) => a - b))
    flags.setRuns(user.id, birth, flag, op === 'add' ? union(runs, marked) : difference(runs, marked))
  }
  const ids = changed.map(({ id }) => id).sort((a, b) => a - b)
  if (ids.length > 0) publishFlag(realm, tx, user, flag, op, ids)
  return ids
}

function addUnreceived(
  { store }: Realm,
  userId: number,
  { id, birth, ordinal }: MessagePosition,
  isUnread: boolean,
): void {
  store.flags.addHistory(userId, id)
  if (isUnread) return
  store.flags.setRuns(userId, birth, 'read', addRun(store.flags.runs(userId, birth, 'read'), ordinal, ordinal))
}

/** Publishes no event: the event of the new message contains the flag. */
export function setRead({ store }: Realm, userId: number, { birth, ordinal }: MessagePosition): void {
  store.flags.setRuns(userId, birth, 'read', addRun(store.flags.runs(userId, birth, 'read'), ordinal, ordinal))
}

/** `isFor` selects the clients that receive the event. */
export function publishFlag(
  realm: Realm,
  tx: Transaction,
  user: User,
  flag: Flag,
  op: FlagOp,
  messages: readonly number[],
  { all = false, isFor = () => true }: { all?: boolean; isFor?: (shape: Shape) => boolean } = {},
): void {
  const hasDetails = flag === 'read' && op === 'remove'
  tx.publish({ type: 'update_message_flags', to: [user.id], make, ...(all ? {} : { merge: mergeOf(op, flag) }) })

  function make(shape: Shape): EventBody | null {
    if (!isFor(shape)) return null
    const { can } = shape
    const details = hasDetails ? { message_details: detailsOf(realm, user, messages, can.empty_topic_name) } : {}
    return { op, operation: op, flag, messages, all, ...details }
  }
}

export function publishRead(tx: Transaction, userIds: readonly number[], messages: readonly number[]): void {
  const body = { op: 'add', operation: 'add', flag: 'read', messages, all: false }
  tx.publish({ type: 'update_message_flags', to: userIds, make: () => body, merge: mergeOf('add', 'read') })
}

const mergeOf = (op: FlagOp, flag: Flag): Merge => ({ key: `update_message_flags ${op} ${flag}`, join: joinFlagEvents })

const joinFlagEvents: Merge['join'] = (before, after) => ({
  ...after,
  messages: [...(before.messages as number[]), ...(after.messages as number[])],
  ...('message_details' in after && {
    message_details: { ...(before.message_details as object), ...(after.message_details as object) },
  }),
})

/** Allows clients to count an unread message without fetching it. */
function detailsOf(realm: Realm, user: User, ids: readonly number[], emptyTopic: boolean): Record<number, unknown> {
  const { store } = realm
  const details: Record<number, unknown> = {}
  for (const id of ids) {
    const row = store.messages.get(id)
    if (row === undefined) continue
    const isMentioned = (store.flags.mention(user.id, id) & ~ALERT_WORD) !== 0
    details[id] = { ...placeDetails(realm, user, row, emptyTopic), ...(isMentioned && { mentioned: true }) }
  }
  return details
}

function placeDetails(realm: Realm, user: User, row: MessageRow, emptyTopic: boolean) {
  const location = locationOf(realm, row)
  if (location.kind === 'channel') {
    const { channel, topic } = location
    const unmuted = !isChannelMuted(realm, user, channel)
    return { type: 'stream', stream_id: channel.id, topic: topicName(topic, emptyTopic), unmuted_stream_msg: unmuted }
  }
  return { type: 'private', user_ids: location.conversation.userIds.filter((id) => id !== user.id) }
}

const isChannelMuted = ({ state }: Realm, user: User, channel: Channel): boolean =>
  state.subscriptionsOf.get(user.id).get(channel.id)?.isMuted ?? false
