/** The account's view of its organization: the answer of POST /register, updated by events. Uses no DOM. */

import { defined } from '../../base/defined.ts'
import { type ConversationRef, conversationOf, directWith, keyOf } from './conversation.ts'
import type { MessageList } from './message-list.ts'
import { createPresences, type Presences, takePresences } from './presence.ts'
import type {
  CustomEmoji,
  DraftOfServer,
  FolderOfServer,
  OwnSettings,
  Participant,
  PermissionBounds,
  Policies,
  QueueEvent,
  ReceivedMessage,
  Registered,
  StatusOfUser,
  SubscribedChannel,
  UserGroup,
} from './types.ts'
import { createTypists, placeOfEdit, type Typists } from './typists.ts'
import { addReceived, createUnread, isMentioned, readUnread, type Unread } from './unread.ts'

const NO_POLICY = 0
export const MUTED = 1
const UNMUTED = 2
export const FOLLOWED = 3

/** A topic that is muted, unmuted or followed. */
interface TopicChoice {
  readonly channelId: number
  readonly topic: string
  /** 1 muted, 2 unmuted, 3 followed. */
  readonly policy: number
}

export interface RealmView {
  readonly ownId: number
  name: string
  readonly serverVersion: string
  readonly featureLevel: number
  readonly maxMessageLength: number
  readonly emptyTopicName: string
  readonly people: Map<number, Participant>
  readonly channels: Map<number, SubscribedChannel>
  /** By id. */
  readonly folders: Map<number, FolderOfServer>
  readonly settings: OwnSettings
  readonly policies: Policies
  /** All settings of the organization, without the prefix `realm_` of their names. Contract section 2.6. */
  readonly organization: Record<string, unknown>
  readonly permissionBounds: PermissionBounds
  /** By user id. Users without a status are absent. */
  readonly statuses: Map<number, StatusOfUser>
  readonly presences: Presences
  readonly typists: Typists
  /** When to tell again that this account is typing, and how long after the last key it has stopped. */
  readonly typingPeriods: { readonly startAgainMs: number; readonly stopAfterMs: number }
  /** By id, including deactivated groups. */
  readonly groups: Map<number, UserGroup>
  readonly emoji: Map<string, CustomEmoji>
  readonly unread: Unread
  /** Newest first. */
  readonly directs: ConversationRef[]
  /** By `keyOf` the topic. */
  readonly topicPolicies: Map<string, TopicChoice>
  readonly mutedUsers: Set<number>
  /** By id. */
  readonly drafts: Map<number, DraftOfServer>
  /** Open message lists, which events update. */
  readonly lists: Set<MessageList>
  /** Counts the events of all but single messages, presence and typing: names, rights or settings may have changed. */
  generation: number
}

const POLICIES = [
  ...(['allow_message_editing', 'message_content_edit_limit_seconds'] as const),
  'message_content_delete_limit_seconds',
  ...(['can_delete_any_message_group', 'can_delete_own_message_group'] as const),
] as const satisfies readonly (keyof Policies)[]

export function createRealmView(registered: Registered): RealmView {
  const { realm_users, realm_non_active_users, cross_realm_bots } = registered
  const ownId = registered.user_id
  return {
    ownId,
    name: registered.realm_name,
    serverVersion: registered.zulip_version,
    featureLevel: registered.zulip_feature_level,
    maxMessageLength: registered.max_message_length,
    emptyTopicName: registered.realm_empty_topic_display_name,
    people: new Map(
      [...realm_non_active_users.map((one) => ({ ...one, is_active: false })), ...cross_realm_bots, ...realm_users].map(
        (one) => [one.user_id, one],
      ),
    ),
    channels: new Map(registered.subscriptions.map((one) => [one.stream_id, one])),
    folders: new Map(registered.channel_folders.map((one) => [one.id, one])),
    settings: registered.user_settings,
    policies: Object.fromEntries(POLICIES.map((name) => [name, registered[`realm_${name}`]])) as unknown as Policies,
    organization: settingsOf(registered),
    permissionBounds: registered.server_supported_permission_settings,
    statuses: new Map(Object.entries(registered.user_status).map(([id, status]) => [Number(id), status])),
    presences: createPresences(registered, Date.now()),
    typists: createTypists(registered.server_typing_started_expiry_period_milliseconds),
    typingPeriods: {
      startAgainMs: registered.server_typing_started_wait_period_milliseconds,
      stopAfterMs: registered.server_typing_stopped_wait_period_milliseconds,
    },
    groups: new Map(registered.realm_user_groups.map((one) => [one.id, one])),
    emoji: new Map(Object.entries(registered.realm_emoji)),
    unread: createUnread(readUnread(registered)),
    directs: [...registered.recent_private_conversations]
      .sort((a, b) => b.max_message_id - a.max_message_id)
      .map(({ user_ids }) => directWith(user_ids, ownId)),
    topicPolicies: new Map(
      registered.user_topics.map(({ stream_id: channelId, topic_name: topic, visibility_policy: policy }) => [
        keyOf({ kind: 'topic', channelId, topic }),
        { channelId, topic, policy },
      ]),
    ),
    mutedUsers: new Set(registered.muted_users.map(({ id }) => id)),
    drafts: new Map(registered.drafts.map((one) => [one.id, one])),
    lists: new Set(),
    generation: 0,
  }
}

/** Collections of the register answer that are no settings. */
const COLLECTIONS = new Set(['realm_users', 'realm_non_active_users', 'realm_user_groups', 'realm_emoji'])

const settingsOf = (registered: Registered): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(registered)
      .filter(([name]) => name.startsWith('realm_') && !COLLECTIONS.has(name))
      .map(([name, value]) => [name.slice('realm_'.length), value]),
  )

/** True for a muted topic, a topic of a muted channel, and a conversation with a muted user: no counter includes them. */
export function isMuted(realm: RealmView, conversation: ConversationRef): boolean {
  const { channels, topicPolicies, mutedUsers } = realm
  if (conversation.kind === 'direct') {
    const [only, ...others] = conversation.userIds
    return only !== undefined && others.length === 0 && mutedUsers.has(only)
  }
  const policy = topicPolicies.get(keyOf(conversation))?.policy
  if (policy === MUTED) return true
  return channels.get(conversation.channelId)?.is_muted === true && policy !== UNMUTED && policy !== FOLLOWED
}

/** Events that change no more than single messages, their state, or where people are. */
const PASSING: ReadonlySet<string> = new Set([
  ...['message', 'update_message', 'update_message_flags', 'delete_message', 'reaction', 'submessage'],
  ...['presence', 'typing', 'typing_edit_message', 'drafts', 'heartbeat'],
])

export function applyEvent(realm: RealmView, event: QueueEvent): void {
  APPLY[event.type]?.(realm, event)
  if (!PASSING.has(event.type)) realm.generation++
}

const APPLY: Readonly<Record<string, (realm: RealmView, event: QueueEvent) => void>> = {
  message: (realm, { message, flags }) => {
    const received: ReceivedMessage = { ...message, flags }
    addReceived(realm.unread, received, flags, realm.ownId)
    if (received.type === 'private') toFront(realm, conversationOf(received, realm.ownId))
    for (const list of realm.lists) list.receive(received)
  },
  update_message_flags: (realm, { op, flag, messages, all, message_details: details }) => {
    if (flag !== 'read') {
      for (const list of realm.lists) list.flag(messages, flag, op === 'add')
      return
    }
    if (op === 'add' && all) realm.unread.clear()
    else if (op === 'add') realm.unread.remove(messages)
    else
      for (const [id, detail] of Object.entries<UnreadDetail>(details ?? {}))
        realm.unread.add(Number(id), conversationOfDetail(detail, realm.ownId), detail.mentioned === true)
    for (const list of realm.lists) list.flag(op === 'add' && all ? null : messages, 'read', op === 'add')
  },
  delete_message: (realm, { message_ids: ids }) => {
    realm.unread.remove(ids)
    for (const list of realm.lists) list.remove(ids)
  },
  update_message: (realm, event) => {
    const { message_ids: ids, message_id: id, flags, stream_id: channelId, new_stream_id: newId, subject } = event
    if (event.content !== undefined && !event.rendering_only) realm.unread.setMentioned(id, isMentioned(flags))
    if (typeof event.rendered_content === 'string')
      for (const list of realm.lists) list.edit(id, event.rendered_content, event.edit_timestamp, event.is_me_message)
    if (channelId === undefined || (newId === undefined && subject === undefined)) return
    const moved = { kind: 'topic', channelId: newId ?? channelId, topic: subject ?? event.orig_subject } as const
    moveUnread(realm, ids, moved)
    for (const list of realm.lists) list.move(ids, moved)
  },
  reaction: (realm, { op, message_id: id, ...reaction }) => {
    for (const list of realm.lists) list.react(id, op === 'add', reaction as never)
  },
  submessage: (realm, { message_id: id, submessage_id, sender_id, msg_type, content }) => {
    for (const list of realm.lists) list.extend(id, { id: submessage_id, sender_id, msg_type, content })
  },
  realm: (realm, { op, property, value, data }) => {
    if (property === 'name') realm.name = value
    const changed = op === 'update_dict' ? data : { [property]: value }
    Object.assign(realm.organization, changed)
    for (const name of POLICIES) if (name in changed) Object.assign(realm.policies, { [name]: changed[name] })
  },
  realm_playgrounds: ({ organization }, { realm_playgrounds: all }) => {
    organization.playgrounds = all
  },
  default_streams: ({ organization }, { default_streams: all }) => {
    organization.default_streams = all
  },
  default_stream_groups: ({ organization }, { default_stream_groups: all }) => {
    organization.default_stream_groups = all
  },
  realm_emoji: ({ emoji }, { realm_emoji: all }) => {
    emoji.clear()
    for (const [id, one] of Object.entries<CustomEmoji>(all)) emoji.set(id, one)
  },
  user_group: (
    { groups },
    { op, group, group_id: id, data, user_ids: people = [], direct_subgroup_ids: below = [] },
  ) => {
    if (op === 'add') groups.set(group.id, group)
    if (op === 'remove') groups.delete(id)
    const known = groups.get(id)
    if (known === undefined) return
    if (op === 'update') groups.set(id, { ...known, ...data })
    const { members, direct_subgroup_ids: subgroups } = known
    if (op === 'add_members') groups.set(id, { ...known, members: [...members, ...people] })
    if (op === 'remove_members') groups.set(id, { ...known, members: without(members, people) })
    if (op === 'add_subgroups') groups.set(id, { ...known, direct_subgroup_ids: [...subgroups, ...below] })
    if (op === 'remove_subgroups') groups.set(id, { ...known, direct_subgroup_ids: without(subgroups, below) })
  },
  user_status: ({ statuses }, { user_id: id, status_text, emoji_name, emoji_code, reaction_type }) => {
    const given = Object.entries({ status_text, emoji_name, emoji_code, reaction_type })
    const changed = Object.fromEntries(given.filter(([, value]) => value !== undefined))
    statuses.set(id, { ...statuses.get(id), ...changed })
  },
  presence: (realm, { presences }) => takePresences(realm.presences, presences),
  typing: ({ typists, ownId }, { op, message_type, sender, recipients = [], stream_id: channelId, topic }) => {
    const people: number[] = recipients.map((one: { user_id: number }) => one.user_id)
    const conversation: ConversationRef =
      message_type === 'direct' ? directWith([sender.user_id, ...people], ownId) : { kind: 'topic', channelId, topic }
    typists[op === 'start' ? 'start' : 'stop'](keyOf(conversation), sender.user_id)
  },
  typing_edit_message: ({ typists }, { op, sender_id: id, message_id: messageId }) =>
    typists[op === 'start' ? 'start' : 'stop'](placeOfEdit(messageId), id),
  realm_user: ({ people, statuses }, { op, person }) => {
    const { user_id: id, new_email: email, ...changed } = person
    if (op === 'remove') {
      people.delete(id)
      statuses.delete(id)
    } else people.set(id, { ...people.get(id), user_id: id, ...changed, ...(email !== undefined && { email }) })
  },
  subscription: (realm, event) => {
    if (event.op === 'add') for (const one of event.subscriptions) realm.channels.set(one.stream_id, one)
    if (event.op === 'remove')
      dropChannels(
        realm,
        event.subscriptions.map((one: SubscribedChannel) => one.stream_id),
      )
    if (event.op === 'update') changeChannel(realm, event.stream_id, event.property, event.value)
  },
  stream: (realm, event) => {
    if (event.op === 'update') {
      const { stream_id: id, property, value } = event
      changeChannel(realm, id, property, value)
      if (property === 'invite_only')
        changeChannel(realm, id, 'history_public_to_subscribers', event.history_public_to_subscribers)
    }
    if (event.op !== 'delete') return
    const ids: number[] = event.stream_ids ?? []
    dropChannels(realm, ids)
    for (const [key, { channelId }] of realm.topicPolicies) if (ids.includes(channelId)) realm.topicPolicies.delete(key)
  },
  channel_folder: ({ folders }, { op, channel_folder: folder, channel_folder_id: id, data, order = [] }) => {
    if (op === 'add') folders.set(folder.id, folder)
    const known = folders.get(id)
    if (op === 'update' && known !== undefined) folders.set(id, { ...known, ...data })
    for (const [at, one] of order.entries()) {
      const folder = folders.get(one)
      if (folder !== undefined) folders.set(one, { ...folder, order: at })
    }
  },
  user_topic: ({ topicPolicies }, { stream_id: channelId, topic_name: topic, visibility_policy: policy }) => {
    const key = keyOf({ kind: 'topic', channelId, topic })
    if (policy === NO_POLICY) topicPolicies.delete(key)
    else topicPolicies.set(key, { channelId, topic, policy })
  },
  muted_users: ({ mutedUsers }, { muted_users: all }) => {
    mutedUsers.clear()
    for (const { id } of all) mutedUsers.add(id)
  },
  drafts: ({ drafts }, { op, drafts: added, draft, draft_id: id }) => {
    for (const one of op === 'add' ? added : op === 'update' ? [draft] : []) drafts.set(one.id, one)
    if (op === 'remove') drafts.delete(id)
  },
  user_settings: (realm, { property, value }) => {
    if (property in realm.settings) Object.assign(realm.settings, { [property]: value })
  },
}

interface UnreadDetail {
  type: 'stream' | 'private'
  mentioned?: boolean
  user_ids?: number[]
  stream_id?: number
  topic?: string
}

const conversationOfDetail = (
  { type, user_ids: ids, stream_id: id, topic }: UnreadDetail,
  ownId: number,
): ConversationRef =>
  type === 'stream' ? { kind: 'topic', channelId: defined(id), topic: defined(topic) } : directWith(ids ?? [], ownId)

const without = (all: readonly number[], gone: readonly number[]): number[] => all.filter((id) => !gone.includes(id))

function changeChannel({ channels }: RealmView, id: number, property: string, value: unknown): void {
  const channel = channels.get(id)
  if (channel !== undefined) channels.set(id, { ...channel, [property]: value })
}

/** Channels that the account has left, or may not see any more. */
function dropChannels({ channels, unread }: RealmView, ids: readonly number[]): void {
  for (const id of ids) channels.delete(id)
  unread.removeChannels(ids)
}

/** The server marks messages as read that leave the channels of the account. */
function moveUnread({ channels, unread }: RealmView, ids: readonly number[], to: ConversationRef): void {
  const isSubscribed = (one: ConversationRef | undefined) => one?.kind === 'topic' && channels.has(one.channelId)
  const left = isSubscribed(to) ? [] : ids.filter((id) => isSubscribed(unread.conversationOf(id)))
  unread.remove(left)
  unread.move(ids, to)
}

function toFront({ directs }: RealmView, conversation: ConversationRef): void {
  const at = directs.findIndex((one) => keyOf(one) === keyOf(conversation))
  if (at !== -1) directs.splice(at, 1)
  directs.unshift(conversation)
}
