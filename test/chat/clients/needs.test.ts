/**
 * Members that published clients require, by name and type: contract section 10.2. The official app refuses an answer in
 * which one of these is missing or of another type, and the terminal client ends.
 */

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { z } from 'zod'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { chatSuite } from '../support/suite.ts'

const int = z.int()
const text = z.string()
const flag = z.boolean()
const byId = <T extends z.ZodType>(value: T) => z.record(z.string().regex(/^\d+$/), value)
const url = text.refine((value) => URL.canParse(value, 'https://chat.example'))

const emoji = {
  emoji_name: text,
  emoji_code: text,
  reaction_type: z.enum(['unicode_emoji', 'realm_emoji', 'zulip_extra_emoji']),
}

const user = z.object({
  user_id: int,
  delivery_email: text.nullable(),
  email: text,
  full_name: text.min(1),
  date_joined: z.iso.datetime({ offset: true }),
  is_bot: flag,
  bot_type: int.nullable(),
  bot_owner_id: int.nullable(),
  role: z.literal([100, 200, 300, 400, 600]),
  timezone: text,
  avatar_url: url.nullable(),
  avatar_version: int,
})

const group = z.object({
  id: int,
  name: text,
  description: text,
  members: z.array(int),
  direct_subgroup_ids: z.array(int),
  is_system_group: flag,
  deactivated: flag,
})

const channel = z.object({
  stream_id: int,
  name: text,
  description: text,
  rendered_description: text,
  date_created: int,
  first_message_id: int.nullable(),
  invite_only: flag,
  is_web_public: flag,
  is_archived: flag,
  history_public_to_subscribers: flag,
  message_retention_days: int.nullable(),
  stream_post_policy: z.literal([1, 2, 3, 4]),
  can_add_subscribers_group: z.union([int, z.object({ direct_members: z.array(int), direct_subgroups: z.array(int) })]),
  stream_weekly_traffic: int.nullable(),
  topics_policy: text,
})

const subscription = channel.extend({
  desktop_notifications: flag.nullable(),
  email_notifications: flag.nullable(),
  wildcard_mentions_notify: flag.nullable(),
  push_notifications: flag.nullable(),
  audible_notifications: flag.nullable(),
  pin_to_top: flag,
  is_muted: flag,
  color: text.regex(/^#[0-9a-f]{6}$/),
})

const status = z.object({ away: flag, status_text: text, ...emoji }).partial()

const unread = z.object({
  count: int,
  pms: z.array(z.object({ other_user_id: int, sender_id: int, unread_message_ids: z.array(int) })),
  streams: z.array(z.object({ stream_id: int, topic: text, unread_message_ids: z.array(int) })),
  huddles: z.array(z.object({ user_ids_string: text.regex(/^\d+(,\d+)+$/), unread_message_ids: z.array(int) })),
  mentions: z.array(int),
  old_unreads_missing: flag,
})

/** Members that the official app requires in the answer of E6. */
const appSnapshot = z.object({
  queue_id: text,
  last_event_id: int,
  zulip_feature_level: int.min(277),
  zulip_version: text,
  zulip_merge_base: text,
  alert_words: z.array(text),
  custom_profile_fields: z.array(z.object({ id: int, type: int, order: int, name: text })),
  max_stream_name_length: int,
  max_topic_length: int,
  server_presence_ping_interval_seconds: int,
  server_presence_offline_threshold_seconds: int,
  server_typing_started_expiry_period_milliseconds: int,
  server_typing_stopped_wait_period_milliseconds: int,
  server_typing_started_wait_period_milliseconds: int,
  muted_users: z.array(z.object({ id: int })),
  presences: byId(z.object({ active_timestamp: int, idle_timestamp: int }).partial()),
  realm_emoji: byId(z.object({ id: text, name: text, source_url: url, still_url: url.nullable(), deactivated: flag })),
  realm_user_groups: z.array(group),
  recent_private_conversations: z.array(z.object({ max_message_id: int, user_ids: z.array(int) })),
  saved_snippets: z.array(z.unknown()),
  subscriptions: z.array(subscription),
  channel_folders: z.array(z.unknown()),
  unread_msgs: unread,
  starred_messages: z.array(int),
  streams: z.array(channel),
  user_status: byId(status),
  user_settings: z.object({
    twenty_four_hour_time: flag.nullable(),
    starred_message_counts: flag,
    display_emoji_reaction_users: flag,
    emojiset: z.enum(['google', 'google-blob', 'twitter', 'text']),
    presence_enabled: flag,
  }),
  user_topics: z.array(
    z.object({ stream_id: int, topic_name: text, last_updated: int, visibility_policy: z.literal([1, 2, 3]) }),
  ),
  realm_can_delete_any_message_group: z.union([int, z.object({})]),
  realm_can_delete_own_message_group: z.union([int, z.object({})]),
  realm_message_content_delete_limit_seconds: int.nullable(),
  realm_wildcard_mention_policy: int,
  realm_mandatory_topics: flag,
  realm_name: text,
  realm_waiting_period_threshold: int,
  realm_allow_message_editing: flag,
  realm_message_content_edit_limit_seconds: int.nullable(),
  realm_enable_read_receipts: flag,
  realm_icon_url: url,
  realm_presence_disabled: flag,
  realm_default_external_accounts: z.record(text, z.object({ name: text, url_pattern: text })),
  realm_empty_topic_display_name: text,
  max_file_upload_size_mib: int,
  server_emoji_data_url: url,
  event_queue_longpoll_timeout_seconds: int,
  realm_users: z.array(user),
  realm_non_active_users: z.array(user),
  cross_realm_bots: z.array(user),
})

const serverSettings = z.object({
  authentication_methods: z.record(text, flag),
  zulip_feature_level: int,
  zulip_version: text,
  zulip_merge_base: text,
  push_notifications_enabled: flag,
  is_incompatible: flag,
  email_auth_enabled: flag,
  require_email_format_usernames: flag,
  realm_url: url,
  realm_uri: url,
  realm_name: text,
  realm_icon: url,
  realm_description: text,
  realm_web_public_access_enabled: flag,
  external_authentication_methods: z.array(
    z.object({ name: text, display_name: text, login_url: url, signup_url: url }),
  ),
})

/** As the app registers. */
const APP = {
  apply_markdown: true,
  client_gravatar: false,
  slim_presence: true,
  client_capabilities: {
    notification_settings_null: true,
    bulk_message_deletion: true,
    user_avatar_url_field_optional: false,
    stream_typing_notifications: true,
    user_settings_object: true,
    include_deactivated_groups: true,
    empty_topic_name: true,
    individual_emoji_changes: true,
  },
}

const sent = z.object({
  id: int,
  sender_id: int,
  sender_full_name: text,
  sender_email: text,
  sender_realm_str: text,
  client: text,
  content: text,
  content_type: z.literal('text/html'),
  is_me_message: flag,
  reactions: z.array(z.object({ ...emoji, user_id: int })),
  recipient_id: int,
  subject: text,
  timestamp: int,
  submessages: z.array(z.unknown()),
})
const message = z.discriminatedUnion('type', [
  sent.extend({ type: z.literal('stream'), stream_id: int, display_recipient: text }),
  sent.extend({
    type: z.literal('private'),
    display_recipient: z.array(z.object({ id: int, email: text, full_name: text })),
  }),
])

const event = z.object({ id: int, type: text })
const op = <const T extends string>(type: T, name: string, rest: z.ZodRawShape) =>
  event.extend({ type: z.literal(type), op: z.literal(name), ...rest })
const person = (changed: z.ZodRawShape) => z.strictObject({ user_id: int, ...changed })

/** The app's class of each event that what is done below causes. */
const EVENTS: Record<string, z.ZodType> = {
  alert_words: event.extend({ alert_words: z.array(text) }),
  'user_settings update': op('user_settings', 'update', { property: text, value: z.unknown() }),
  'realm_user add': op('realm_user', 'add', { person: user }),
  'realm_user update': op('realm_user', 'update', {
    person: z.union([
      person({ full_name: text }),
      person({
        avatar_url: url.nullable(),
        avatar_url_medium: url.nullable(),
        avatar_source: text,
        avatar_version: int,
      }),
      person({ timezone: text, email: text }),
      person({ bot_owner_id: int }),
      person({ role: int }),
      person({ delivery_email: text.nullable() }),
      person({ new_email: text }),
      person({ is_active: flag }),
    ]),
  }),
  'realm_bot add': op('realm_bot', 'add', { bot: z.object({ user_id: int }) }),
  'realm_bot update': op('realm_bot', 'update', { bot: z.object({ user_id: int }) }),
  'user_group add_members': op('user_group', 'add_members', { group_id: int, user_ids: z.array(int) }),
  'user_group remove_members': op('user_group', 'remove_members', { group_id: int, user_ids: z.array(int) }),
  user_status: event.extend({ user_id: int, ...status.shape }),
  muted_users: event.extend({ muted_users: z.array(z.object({ id: int })) }),
  presence: event.extend({
    user_id: int,
    server_timestamp: z.number(),
    presence: z.record(text, z.object({ status: text, timestamp: int })),
  }),
  'stream create': op('stream', 'create', { streams: z.array(channel) }),
  'stream update': op('stream', 'update', { stream_id: int, name: text, property: text, value: z.unknown() }),
  'subscription add': op('subscription', 'add', { subscriptions: z.array(subscription) }),
  'subscription remove': op('subscription', 'remove', { subscriptions: z.array(z.object({ stream_id: int })) }),
  'subscription update': op('subscription', 'update', { stream_id: int, property: text, value: z.unknown() }),
  'subscription peer_add': op('subscription', 'peer_add', { stream_ids: z.array(int), user_ids: z.array(int) }),
  'subscription peer_remove': op('subscription', 'peer_remove', { stream_ids: z.array(int), user_ids: z.array(int) }),
  user_topic: event.extend({
    stream_id: int,
    topic_name: text,
    last_updated: int,
    visibility_policy: z.literal([0, 1, 2, 3]),
  }),
  message: event.extend({ message, flags: z.array(text) }),
  update_message: event.extend({
    user_id: int.nullable(),
    rendering_only: flag,
    message_id: int,
    message_ids: z.array(int),
    flags: z.array(text),
    edit_timestamp: int,
  }),
  delete_message: event.extend({ message_ids: z.array(int), message_type: z.enum(['stream', 'private']) }),
  'update_message_flags add': op('update_message_flags', 'add', { flag: text, messages: z.array(int), all: flag }),
  'update_message_flags remove': op('update_message_flags', 'remove', { flag: text, messages: z.array(int) }),
  'reaction add': op('reaction', 'add', { ...emoji, user_id: int, message_id: int }),
  'reaction remove': op('reaction', 'remove', { ...emoji, user_id: int, message_id: int }),
  'typing start': op('typing', 'start', {
    message_type: z.enum(['direct', 'stream']),
    sender: z.object({ user_id: int }),
  }),
  onboarding_steps: event.extend({ onboarding_steps: z.array(z.object({ type: text, name: text })) }),
}

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })
rig.account('polonius', ROLES.guest)
const common = rig.channel('denmark', [hamlet, ophelia])
const gone = rig.account('yorick')
before(async () => {
  await rig.owner.delete(`/users/${gone.user.id}`)
  await ophelia.post('/bots', { full_name: 'Ghost', short_name: 'ghost' })
  await ophelia.post('/users/me/status', { status_text: 'gone', emoji_name: 'car' })
  await ophelia.post('/users/me/presence', { status: 'active' })
  await hamlet.post('/users/me/alert_words', { alert_words: ['ghost'] })
  await hamlet.post(`/users/me/muted_users/${gone.user.id}`)
  await hamlet.post('/user_topics', { stream_id: common.id, topic: 'rotten', visibility_policy: 3 })
  await ophelia.post('/messages', {
    type: 'channel',
    to: common.id,
    topic: 'rotten',
    content: '@**Hamlet Test** state',
  })
  await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'my lord' })
  await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id, rig.owner.user.id], content: 'both' })
})
const kept = { authorId: null, sourceUrl: '/user_avatars/2/emoji/skull.png', stillUrl: null }
rig.chat.realm.transaction((turn) => turn.put('realmEmoji', { id: 1, name: 'skull', isDeactivated: true, ...kept }))

function missing(schema: z.ZodType, value: unknown): string[] {
  const { error } = schema.safeParse(value)
  return (error?.issues ?? []).map(({ path, message }) => `${path.join('.')}: ${message}`)
}

describe('the official app', () => {
  it('finds every field that it needs in server_settings', async () => {
    const { body } = await rig.anonymous('GET', '/server_settings')
    assert.deepEqual(missing(serverSettings, body), [])
  })

  it('finds every field that it needs in its snapshot', async () => {
    const { snapshot } = await hamlet.register(APP)
    assert.deepEqual(missing(appSnapshot, snapshot), [])
    for (const list of ['subscriptions', 'streams', 'realm_non_active_users', 'user_topics', 'muted_users'])
      assert.ok(snapshot[list].length > 0, list)
    for (const list of ['pms', 'streams', 'huddles', 'mentions']) assert.ok(snapshot.unread_msgs[list].length > 0, list)
    assert.equal(Object.keys(snapshot.user_status).length, 1)
    assert.equal(Object.keys(snapshot.realm_emoji).length, 1)
  })

  it('understands every event', async () => {
    const queue = await hamlet.register(APP)
    await actions()
    const events = await queue.events()
    const seen = new Set<string>()
    for (const one of events) {
      const name = one.op === undefined ? one.type : `${one.type} ${one.op}`
      assert.ok(name in EVENTS, `${name}: ${JSON.stringify(one)}`)
      assert.deepEqual(missing(EVENTS[name]!, one), [], JSON.stringify(one))
      seen.add(name)
    }
    assert.deepEqual(
      Object.keys(EVENTS).filter((name) => !seen.has(name)),
      [],
    )
  })
})

async function actions(): Promise<void> {
  const { user } = rig.account('laertes')
  await rig.owner.patch(`/users/${user.id}`, { full_name: 'Laertes', role: 300, new_email: 'l@example.com' })
  await rig.owner.delete(`/users/${user.id}`)
  const { user_id: bot } = await hamlet.post('/bots', { full_name: 'Spirit', short_name: 'spirit' })
  await hamlet.delete(`/bots/${bot}`)
  await hamlet.patch('/settings', { timezone: 'Europe/Copenhagen', emojiset: 'text', email_address_visibility: 2 })
  await hamlet.delete('/users/me/avatar')
  await hamlet.post('/users/me/status', { status_text: 'mad', emoji_name: 'car' })
  await hamlet.post('/users/me/alert_words', { alert_words: ['arras'] })
  await hamlet.post('/users/me/onboarding_steps', { onboarding_step: 'intro_resolve_topic' })
  rig.advance(1000)
  await ophelia.post('/users/me/presence', { status: 'active' })
  await ophelia.post('/users/me/subscriptions', {
    subscriptions: [{ name: 'brook' }],
    principals: [hamlet.user.id, ophelia.user.id],
  })
  const brook = rig.chat.realm.state.channelByName.get('brook')!.id
  await hamlet.post('/users/me/subscriptions/properties', {
    subscription_data: [{ stream_id: brook, property: 'pin_to_top', value: true }],
  })
  const to = { type: 'channel', to: brook, topic: 'flowers' }
  const { id } = await ophelia.post('/messages', { ...to, content: 'rosemary' })
  await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'pansies' })
  await ophelia.patch(`/messages/${id}`, { content: 'for remembrance' })
  await ophelia.post(`/messages/${id}/reactions`, { emoji_name: 'car' })
  await ophelia.delete(`/messages/${id}/reactions`, { emoji_name: 'car' })
  await hamlet.post('/messages/flags', { messages: [id], op: 'add', flag: 'starred' })
  await hamlet.post('/messages/flags', { messages: [id], op: 'remove', flag: 'starred' })
  await ophelia.post('/typing', { op: 'start', type: 'direct', to: [hamlet.user.id] })
  await hamlet.post('/user_topics', { stream_id: brook, topic: 'flowers', visibility_policy: 1 })
  await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name: 'brook' }] })
  await ophelia.delete(`/messages/${id}`)
  await ophelia.delete('/users/me/subscriptions', { subscriptions: ['brook'] })
  await hamlet.delete('/users/me/subscriptions', { subscriptions: ['brook'] })
  const { id: muted } = rig.account('osric').user
  await hamlet.post(`/users/me/muted_users/${muted}`)
}

describe('the terminal client', () => {
  it('finds what it ends without, in the legacy forms', async () => {
    const { snapshot } = await hamlet.register({
      event_types: ['message', 'update_message', 'reaction', 'subscription', 'typing', 'update_message_flags'],
      fetch_event_types: [
        'realm',
        'presence',
        'subscription',
        'message',
        'starred_messages',
        'update_message_flags',
        'muted_topics',
        'realm_user',
        'realm_user_groups',
        'user_settings',
        'realm_emoji',
        'custom_profile_fields',
      ],
      client_gravatar: true,
      apply_markdown: true,
      include_subscribers: 'true',
    })
    const needed = z.object({
      zulip_version: text,
      max_message_id: int,
      user_id: int,
      email: text,
      full_name: text,
      realm_name: text,
      subscriptions: z.array(
        z.object({
          name: text,
          stream_id: int,
          color: text.regex(/^#[0-9a-f]{6}$/),
          description: text,
          pin_to_top: flag,
          is_muted: flag,
          desktop_notifications: flag,
          subscribers: z.array(int),
          message_retention_days: int.nullable(),
        }),
      ),
      realm_message_retention_days: int,
      muted_topics: z.array(z.tuple([text, text, int])),
      realm_user_groups: z.array(group),
      realm_emoji: byId(z.object({ deactivated: flag })),
      user_settings: z.object({
        send_private_typing_notifications: flag,
        twenty_four_hour_time: flag.nullable(),
        pm_content_in_desktop_notifications: flag,
      }),
      presences: z.record(
        z.email(),
        z.object({ aggregated: z.object({ client: text, status: text, timestamp: int }) }),
      ),
      realm_users: z.array(user),
      cross_realm_bots: z.array(user),
      custom_profile_fields: z.array(z.unknown()),
      unread_msgs: unread,
      starred_messages: z.array(int),
      realm_allow_message_editing: flag,
    })
    assert.deepEqual(missing(needed, snapshot), [])
    assert.ok(snapshot.realm_users.some(({ user_id }: { user_id: number }) => user_id === snapshot.user_id))
  })
})
