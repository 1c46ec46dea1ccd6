/** The account's view of its organization: the answer of POST /register, updated by events. Uses no DOM. */

import { type ConversationRef, conversationOf, directWith, keyOf } from './conversation.ts'
import type { MessageList } from './message-list.ts'
import type {
  CustomEmoji,
  DraftOfServer,
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
import { addReceived, createUnread, type Unread } from './unread.ts'

const NO_POLICY = 0
const MUTED = 1
const UNMUTED = 2
const FOLLOWED = 3

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
  readonly maxMessageLength: number
  readonly emptyTopicName: string
  readonly people: Map<number, Participant>
  readonly channels: Map<number, SubscribedChannel>
  readonly settings: OwnSettings
  readonly policies: Policies
  /** All settings of the organization, without the prefix `realm_` of their names. Contract section 2.6. */
  readonly organization: Record<string, unknown>
  readonly permissionBounds: PermissionBounds
  /** By user id. Users without a status are absent. */
  readonly statuses: Map<number, StatusOfUser>
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
    maxMessageLength: registered.max_message_length,
    emptyTopicName: registered.realm_empty_topic_display_name,
    people: new Map(
      [...realm_non_active_users.map((one) => ({ ...one, is_active: false })), ...cross_realm_bots, ...realm_users].map(
        (one) => [one.user_id, one],
      ),
    ),
    channels: new Map(registered.subscriptions.map((one) => [one.stream_id, one])),
    settings: registered.user_settings,
    policies: Object.fromEntries(POLICIES.map((name) => [name, registered[`realm_${name}`]])) as unknown as Policies,
    organization: settingsOf(registered),
    permissionBounds: registered.server_supported_permission_settings,
    statuses: new Map(Object.entries(registered.user_status).map(([id, status]) => [Number(id), status])),
    groups: new Map(registered.realm_user_groups.map((one) => [one.id, one])),
    emoji: new Map(Object.entries(registered.realm_emoji)),
    unread: createUnread(registered),
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

/** True for a muted topic, or a topic of a muted channel: no counter includes them. */
export function isMuted({ channels, topicPolicies }: RealmView, conversation: ConversationRef): boolean {
  if (conversation.kind === 'direct') return false
  const policy = topicPolicies.get(keyOf(conversation))?.policy
  if (policy === MUTED) return true
  return channels.get(conversation.channelId)?.is_muted === true && policy !== UNMUTED && policy !== FOLLOWED
}

export function applyEvent(realm: RealmView, event: QueueEvent): void {
  APPLY[event.type]?.(realm, event)
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
    const { message_ids: ids, message_id: id, stream_id: channelId, new_stream_id: newId, subject } = event
    if (typeof event.rendered_content === 'string')
      for (const list of realm.lists) list.edit(id, event.rendered_content, event.edit_timestamp, event.is_me_message)
    if (channelId === undefined || (newId === undefined && subject === undefined)) return
    const moved = { kind: 'topic', channelId: newId ?? channelId, topic: subject ?? event.orig_subject } as const
    realm.unread.move(ids, moved)
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
  realm_user: (realm, { person }) => {
    const before = realm.people.get(person.user_id)
    realm.people.set(person.user_id, { ...before, ...person })
  },
  subscription: (realm, event) => {
    if (event.op === 'add') for (const one of event.subscriptions) realm.channels.set(one.stream_id, one)
    if (event.op === 'remove') for (const { stream_id: id } of event.subscriptions) realm.channels.delete(id)
    if (event.op === 'update') changeChannel(realm, event.stream_id, event.property, event.value)
  },
  stream: (realm, event) => {
    if (event.op === 'update') changeChannel(realm, event.stream_id, event.property, event.value)
    if (event.op === 'delete') for (const id of event.stream_ids ?? []) realm.channels.delete(id)
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
  type === 'stream' ? { kind: 'topic', channelId: id!, topic: topic! } : directWith(ids ?? [], ownId)

const without = (all: readonly number[], gone: readonly number[]): number[] => all.filter((id) => !gone.includes(id))

function changeChannel({ channels }: RealmView, id: number, property: string, value: unknown): void {
  const channel = channels.get(id)
  if (channel !== undefined) channels.set(id, { ...channel, [property]: value })
}

function toFront({ directs }: RealmView, conversation: ConversationRef): void {
  const at = directs.findIndex((one) => keyOf(one) === keyOf(conversation))
  if (at !== -1) directs.splice(at, 1)
  directs.unshift(conversation)
}
