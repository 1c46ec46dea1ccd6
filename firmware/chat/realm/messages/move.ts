/** Moving messages to another topic or channel, resolving topics. Contract sections 3.2.2, 7.3; V51. */

import { badRequest, ChatError } from '../../error.ts'
import type { MessageRow } from '../../store/messages.ts'
import { canRead } from '../channels/rights.ts'
import { moveUserTopics } from '../channels/user-topics.ts'
import { mayInChannel, mayInRealm } from '../groups/rights.ts'
import { fold } from '../names.ts'
import { nowOf, type Realm } from '../realm.ts'
import type { Channel, User } from '../records.ts'
import { atLeast, ROLES } from '../roles.ts'
import { realmSetting } from '../settings/read.ts'
import { organizationOf } from '../state.ts'
import { asTopic, topicName } from '../topic-names.ts'
import type { Turn } from '../turn.ts'
import { audienceOf } from './access.ts'
import { LEEWAY_S, publishDeletion, tidyTopic } from './delete.ts'
import { expectMaySend, expectTopicAllowed, noSuchChannel } from './destination.ts'
import { type Edit, extraOf } from './extra.ts'
import { readerOf } from './flags.ts'
import { forgetMarks, markMovedRead } from './left.ts'
import { noticeMove, noticeResolve } from './notices.ts'
import { ensureTopic, type InChannel, isResolved, isResolving, placeOf } from './places.ts'
import { topicLinks } from './rendering.ts'
import { setFirstMessage } from './send.ts'
import { sightOf } from './sight.ts'

export type PropagateMode = 'change_one' | 'change_later' | 'change_all'

export interface Move {
  target: MessageRow
  /** Ascending, those of them that the mover can read. */
  rows: readonly MessageRow[]
  from: InChannel
  to: InChannel
  mode: PropagateMode
  /** All of the topic. */
  isWhole: boolean
  notifyOldThread: boolean
  notifyNewThread: boolean
}

export interface MoveRequest {
  topic: string | undefined
  channelId: number | undefined
  propagateMode: PropagateMode
  notifyOldThread: boolean
  notifyNewThread: boolean
}

/** Null when it would change nothing. Throws what the mover is refused with. */
export function planMove(realm: Realm, me: User, target: MessageRow, request: MoveRequest): Move | null {
  const { topic, channelId, propagateMode: mode, notifyOldThread, notifyNewThread } = request
  if (topic === undefined && channelId === undefined) return null
  const from = placeOf(realm, target)
  if (from.kind === 'conversation') throw badRequest('Direct messages cannot be moved to channels or topics')
  const channel = channelId === undefined ? from.channel : accessChannel(realm, me, channelId)
  const to: InChannel = { kind: 'channel', channel, topic: topic === undefined ? from.topic : asTopic(topic) }
  if (to.channel.id === from.channel.id && to.topic === from.topic) return null
  expectMayMove(realm, me, from, to)
  const topicIds = realm.store.messages.idsOfTopic(target.topic)
  const rows = affected(realm, me, target, mode, topicIds)
  if (!isOnlyResolved(from, to)) expectInTime(realm, me, target, rows, from, to, mode)
  return { target, rows, from, to, mode, isWhole: rows.length === topicIds.length, notifyOldThread, notifyNewThread }
}

const isOnlyResolved = (from: InChannel, to: InChannel): boolean =>
  to.channel.id === from.channel.id && isResolving(from.topic, to.topic)

function accessChannel(realm: Realm, me: User, id: number): Channel {
  const channel = realm.state.channel.get(id)
  if (channel === undefined || !canRead(realm, me, channel)) throw noSuchChannel(id)
  return channel
}

/** Rights, in the order of contract section 3.2.2. */
function expectMayMove(realm: Realm, me: User, from: InChannel, to: InChannel): void {
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
  } else if (from.channel.isArchived) {
    throw badRequest('This channel has been archived')
  } else if (fold(from.topic) !== fold(to.topic)) {
    expectTopicAllowed(realm, me, to.channel, to.topic, isMove)
  }
}

function affected(
  realm: Realm,
  me: User,
  target: MessageRow,
  mode: PropagateMode,
  topicIds: readonly number[],
): MessageRow[] {
  const ids = mode === 'change_one' ? [target.id] : topicIds.filter((id) => mode === 'change_all' || id >= target.id)
  const sight = sightOf(realm, me)
  return ids.map((id) => realm.store.messages.get(id)!).filter((row) => sight.canRead(row))
}

/** Limits never bind moderators and above. Where channel and topic change the stricter one counts. */
function expectInTime(
  realm: Realm,
  me: User,
  target: MessageRow,
  rows: readonly MessageRow[],
  from: InChannel,
  to: InChannel,
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
  if (target.time < oldest) throw badRequest('The time limit for editing this message has passed')
  if (mode !== 'change_all') return
  const allowed = rows.filter(({ time }) => time >= oldest)
  if (allowed.length === rows.length) return
  throw new ChatError(
    'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED',
    `You only have permission to move the ${allowed.length}/${rows.length} most recent messages in this topic.`,
    {
      first_message_id_allowed_to_move: allowed[0]!.id,
      total_messages_in_topic: rows.length,
      total_messages_allowed_to_move: allowed.length,
    },
  )
}

/** Within a change; `contentEvent` has what was edited in the target at the same time. */
export function moveMessages(realm: Realm, turn: Turn, me: User, move: Move, contentEvent: object | null): void {
  const { from, to, rows, target } = move
  const { store } = realm
  const isBetween = to.channel.id !== from.channel.id
  const before = new Map(rows.map((row) => [row.id, new Set(audienceOf(realm, row).map(({ id }) => id))]))
  const topic = renameOrEnsure(realm, from, to)
  const links = topicLinks(realm, to.topic)
  for (const { id } of rows) {
    const row = store.messages.get(id)! // its content may just have been edited
    store.messages.update({
      ...row,
      recipient: to.channel.recipientId,
      topic,
      extra: movedExtra(realm, me, row, move, links),
    })
  }
  tidyTopic(realm, target.topic)
  const after = rows.map(({ id }) => store.messages.get(id)!)
  if (isBetween) tidyChannels(realm, turn, [from.channel, to.channel])
  if (move.isWhole && (isBetween || fold(from.topic) !== fold(to.topic))) moveUserTopics(realm, turn, from, to)
  publishMove(realm, turn, me, move, before, after, contentEvent)
  if (isOnlyResolved(from, to)) noticeResolve(realm, turn, me, to)
  else if (isBetween || fold(from.topic) !== fold(to.topic))
    noticeMove(realm, turn, me, { ...move, count: rows.length })
}

/** Of a name that differs in case alone the topic stays the same one. */
function renameOrEnsure(realm: Realm, from: InChannel, to: InChannel): number {
  const topic = ensureTopic(realm, to.channel, to.topic)
  if (from.channel.id === to.channel.id && fold(from.topic) === fold(to.topic))
    realm.store.topics.rename(topic, to.topic, fold(to.topic))
  return topic
}

function movedExtra(realm: Realm, me: User, row: MessageRow, { from, to }: Move, links: readonly object[]): string {
  const extra = extraOf(row)
  const now = nowOf(realm)
  const moved: Edit = {
    timestamp: now,
    user_id: me.id,
    ...(to.topic !== from.topic && { prev_topic: from.topic, topic: to.topic }),
    ...(to.channel.id !== from.channel.id && { prev_stream: from.channel.id, stream: to.channel.id }),
  }
  const [newest, ...older] = extra.edits ?? []
  const isSame =
    newest !== undefined && newest.timestamp === now && newest.prev_content !== undefined && newest.topic === undefined
  const edits = isSame ? [{ ...newest, ...moved }, ...older] : [moved, ...(extra.edits ?? [])]
  return JSON.stringify({
    ...extra,
    edits,
    ...(!isOnlyResolved(from, to) && { moved: now }),
    topicLinks: links.length === 0 ? undefined : links,
  })
}

/** The first message of both may be another one now. */
function tidyChannels(realm: Realm, turn: Turn, channels: readonly Channel[]): void {
  const { state, store } = realm
  for (const { id, recipientId } of channels) {
    const first = store.messages.oldestOf(recipientId) ?? null
    const channel = state.channel.get(id)!
    if (channel.firstMessageId !== first) setFirstMessage(realm, turn, channel, first)
  }
}

function publishMove(
  realm: Realm,
  turn: Turn,
  me: User,
  { target, from, to, mode }: Move,
  before: ReadonlyMap<number, ReadonlySet<number>>,
  rows: readonly MessageRow[],
  contentEvent: object | null,
): void {
  const isBetween = to.channel.id !== from.channel.id
  const seeing = new Map<number, User>()
  const losing = new Map<number, number[]>()
  for (const row of rows) {
    const now = new Map(audienceOf(realm, row).map((user) => [user.id, user]))
    for (const userId of before.get(row.id)!) {
      const user = realm.state.user.get(userId)!
      if (now.has(userId) || sightOf(realm, user).canRead(row)) seeing.set(userId, user)
      else losing.set(userId, [...(losing.get(userId) ?? []), row.id])
    }
    for (const [userId, user] of now) seeing.set(userId, user)
  }
  const readers = new Map([...seeing].map(([id, user]) => [id, readerOf(realm, user)]))
  const shown = rows.find(({ id }) => id === target.id) ?? rows[0]!
  const links = topicLinks(realm, to.topic)
  turn.publish({
    type: 'update_message',
    to: readers.keys(),
    make: ({ can }) => ({
      user_id: me.id,
      edit_timestamp: nowOf(realm),
      message_id: target.id,
      message_ids: rows.map(({ id }) => id),
      rendering_only: false,
      stream_name: from.channel.name,
      stream_id: from.channel.id,
      ...(isBetween && { new_stream_id: to.channel.id }),
      propagate_mode: mode,
      orig_subject: topicName(from.topic, can.empty_topic_name),
      ...(to.topic !== from.topic && {
        subject: topicName(to.topic, can.empty_topic_name),
        topic_links: links,
      }),
      ...contentEvent,
    }),
    tail: ({ userId }) => ({ flags: readers.get(userId)!.flags(shown) }),
  })
  for (const [userId, ids] of losing) {
    publishDeletion(turn, from, ids, [userId])
    forgetMarks(
      realm,
      userId,
      rows.filter(({ id }) => ids.includes(id)),
    )
  }
  if (!isBetween) return
  const subscribers = realm.state.subscribersOf.get(to.channel.id)
  for (const user of seeing.values()) if (!subscribers.has(user.id)) markMovedRead(realm, turn, user, rows)
}
