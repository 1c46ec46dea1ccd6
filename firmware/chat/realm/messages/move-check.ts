/** Permissions and time limits for moving messages and resolving topics. Contract sections 3.2.2, 7.3. */

import { badRequest, ChatError } from '../../base/error.ts'
import type { MessageRow, PlacedRow } from '../../store/messages.ts'
import { fold } from '../model/names.ts'
import { realmSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { atLeast, ROLES } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import { asTopic } from '../model/topic-names.ts'
import { canRead } from '../permissions/channel-rights.ts'
import { mayInChannel, mayInRealm } from '../permissions/group-rights.ts'
import { visibilityOf } from '../permissions/visibility.ts'
import { LEEWAY_S } from './delete.ts'
import { expectMaySend, expectTopicAllowed, noSuchChannel } from './destination.ts'
import { type ChannelLocation, isResolved, isResolving, locationOf } from './location.ts'

export type PropagateMode = 'change_one' | 'change_later' | 'change_all'

export interface Move {
  target: MessageRow
  /** The messages to move, ascending: only those that the mover can read. */
  rows: readonly PlacedRow[]
  from: ChannelLocation
  to: ChannelLocation
  mode: PropagateMode
  /** True if `rows` are all messages of the topic that the mover can read. */
  isWhole: boolean
  /** True if `rows` are all messages of the topic: the topic itself moves. */
  isTopic: boolean
  notifyOldThread: boolean
  notifyNewThread: boolean
}

interface MoveRequest {
  topic: string | undefined
  channelId: number | undefined
  propagateMode: PropagateMode
  notifyOldThread: boolean
  notifyNewThread: boolean
}

/** Returns null if nothing would change. Throws if the move is not permitted. */
export function planMove(realm: Realm, me: User, target: MessageRow, request: MoveRequest): Move | null {
  const { topic, channelId, propagateMode: mode, notifyOldThread, notifyNewThread } = request
  if (topic === undefined && channelId === undefined) return null
  const from = locationOf(realm, target)
  if (from.kind === 'conversation') throw badRequest('Direct messages cannot be moved to channels or topics')
  const channel = channelId === undefined ? from.channel : accessChannel(realm, me, channelId)
  const to: ChannelLocation = { kind: 'channel', channel, topic: topic === undefined ? from.topic : asTopic(topic) }
  if (to.channel.id === from.channel.id && to.topic === from.topic) return null
  expectMayMove(realm, me, from, to)
  const all = realm.store.messages.placedInTopic(target.topic)
  const readable = readableOf(realm, me, target, all)
  const rows = mode === 'change_all' ? readable : readable.filter(({ id }) => isMeant(id, target.id, mode))
  if (!isOnlyResolved({ from, to })) expectInTime(realm, me, target, rows, from, to, mode)
  const isWhole = rows.length === readable.length
  const isTopic = rows.length === all.length
  return { target, rows, from, to, mode, isWhole, isTopic, notifyOldThread, notifyNewThread }
}

export const isOnlyResolved = ({ from, to }: Pick<Move, 'from' | 'to'>): boolean =>
  to.channel.id === from.channel.id && isResolving(from.topic, to.topic)

function accessChannel(realm: Realm, me: User, id: number): Channel {
  const channel = realm.state.channel.get(id)
  if (channel === undefined || !canRead(realm, me, channel)) throw noSuchChannel(id)
  return channel
}

/** Checks permissions in the order of contract section 3.2.2. */
function expectMayMove(realm: Realm, me: User, from: ChannelLocation, to: ChannelLocation): void {
  const mayIn = (setting: Parameters<typeof mayInChannel>[2]) => mayInChannel(realm, from.channel, setting, me)
  const administers = mayIn('can_administer_channel_group') || atLeast(me.role, ROLES.administrator)
  const isBetween = to.channel.id !== from.channel.id
  const changesTopic = to.topic !== from.topic
  if (changesTopic && isResolved(from.topic) !== isResolved(to.topic)) {
    if (!mayInRealm(realm, 'can_resolve_topics_group', me) && !mayIn('can_resolve_topics_group'))
      throw badRequest("You don't have permission to resolve topics.")
  }
  const isMove = isBetween || !isResolving(from.topic, to.topic)
  if (changesTopic && isMove) {
    const may =
      mayInRealm(realm, 'can_move_messages_between_topics_group', me) ||
      mayIn('can_move_messages_within_channel_group') ||
      administers
    if (!may) throw badRequest("You don't have permission to edit this message")
  }
  if (isBetween) {
    const may =
      mayInRealm(realm, 'can_move_messages_between_channels_group', me) ||
      mayIn('can_move_messages_out_of_channel_group') ||
      administers
    if (!may) throw badRequest("You don't have permission to move this message")
    expectMaySend(realm, me, to.channel, to.topic)
  } else if (fold(from.topic) !== fold(to.topic)) {
    expectTopicAllowed(realm, me, to.channel, to.topic, isMove)
  }
}

function readableOf(realm: Realm, me: User, target: MessageRow, all: readonly PlacedRow[]): readonly PlacedRow[] {
  const visibility = visibilityOf(realm, me)
  return visibility.extent(target.recipient) === 'all' ? all : all.filter((row) => visibility.canRead(row))
}

const isMeant = (id: number, target: number, mode: PropagateMode): boolean =>
  mode === 'change_one' ? id === target : id >= target

/** Moderators and above have no time limits. If both channel and topic change, the stricter limit applies. */
function expectInTime(
  realm: Realm,
  me: User,
  target: MessageRow,
  rows: readonly PlacedRow[],
  from: ChannelLocation,
  to: ChannelLocation,
  mode: PropagateMode,
): void {
  if (atLeast(me.role, ROLES.moderator)) return
  const organization = organizationOf(realm.state)
  const limits = [
    ...(to.topic !== from.topic ? [realmSetting(organization, 'move_messages_within_stream_limit_seconds')] : []),
    ...(to.channel.id !== from.channel.id
      ? [realmSetting(organization, 'move_messages_between_streams_limit_seconds')]
      : []),
  ].filter((limit) => limit !== null)
  if (limits.length === 0) return
  const oldest = nowOf(realm) - Math.min(...limits) - LEEWAY_S
  const isTooOld = () => badRequest('The time limit for editing this message has passed')
  if (mode !== 'change_all') {
    if (target.time < oldest) throw isTooOld()
    return
  }
  const ids = rows.map(({ id }) => id)
  const { count, first } = realm.store.messages.sentSince(ids, oldest)
  if (count === rows.length) return
  if (count === 0) throw isTooOld()
  throw new ChatError(
    'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED',
    `You only have permission to move the ${count}/${rows.length} most recent messages in this topic.`,
    {
      first_message_id_allowed_to_move: first,
      total_messages_in_topic: rows.length,
      total_messages_allowed_to_move: count,
    },
  )
}
