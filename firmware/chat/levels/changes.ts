/**
 * The changes of each feature level up to 460, as rules for clients that declare an older one. Contract sections 8.1 and 8.3, newest first.
 * Where no rule can express the difference, the code checks the level itself: 474 in realm/objects/bot-events.ts, 372 in api/typing.ts,
 * 201 in realm/bots/webhook.ts.
 */

import { realmSetting, userDefault } from '../realm/model/read-settings.ts'
import type { Realm } from '../realm/model/realm.ts'
import { organizationOf } from '../realm/model/state.ts'
import { mutedTopics } from '../realm/objects/user-topics.ts'
import { placeholderObject } from '../realm/objects/user-view.ts'
import { linkifierObjects } from '../realm/organization/settings/linkifiers.ts'
import { accessOf } from '../realm/permissions/user-access.ts'
import { LATER_CHANGES } from './changes-from-461.ts'
import {
  capability,
  createPolicyOf,
  formatString,
  legacySetting,
  refuseNewNarrow,
  timedOut,
  topicPolicyOf,
  unlisted,
  urlTemplate,
  wildcardGroup,
  wildcardPolicyOf,
} from './conversions.ts'
import {
  ATTACHMENTS,
  allBut,
  answer,
  CHANNELS,
  EMOJI,
  EXPORTS,
  event,
  LINKIFIERS,
  MESSAGES,
  REALM,
  register,
  SCHEDULED,
  SERVER_SETTINGS,
  USER_SETTINGS,
  USERS,
} from './rule-targets.ts'
import {
  addField,
  defaultParameter,
  dropEvent,
  edit,
  editAnswer,
  type LevelChange,
  levelChange,
  mapField,
  mapParameter,
  redirectEndpoint,
  rejectValue,
  removeEndpoints,
  removeFields,
  removeParameters,
  renameErrorCode,
  renameField,
  renameParameter,
  replaceEvent,
  request,
} from './rules.ts'

const OWN_SETTINGS = ['PATCH /settings', 'PATCH /settings/notifications', 'PATCH /settings/display']
const SETTINGS = [...OWN_SETTINGS, 'PATCH /realm/user_settings_defaults']
const NEW_CHANNELS = ['POST /users/me/subscriptions', 'POST /channels/create']
const ANY_CHANNELS = ['PATCH /streams/:stream_id', ...NEW_CHANNELS]
const REPORTS = ['POST /messages/:message_id/report', 'POST /message/:message_id/report']
const TYPING_IN_EDITS = ['POST /messages/:message_id/typing', 'POST /message_edit_typing']
const BATCHES = ['POST /mark_all_as_read', 'POST /streams/:stream_id/delete_topic']
const PERMISSIONS = (kind: string) => register('server_supported_permission_settings', kind)

const FOLLOWED_TOPIC_SETTINGS = [
  'enable_followed_topic_email_notifications',
  'enable_followed_topic_push_notifications',
  'enable_followed_topic_wildcard_mentions_notify',
  'enable_followed_topic_desktop_notifications',
  'enable_followed_topic_audible_notifications',
]

const EXPORT_NUMBERS = { public: 1, full_with_consent: 2, full_without_consent: 3 } as const
const exportNumber = (word: string): number => EXPORT_NUMBERS[word as keyof typeof EXPORT_NUMBERS] ?? 1
const exportWord = (raw: string): string =>
  Object.entries(EXPORT_NUMBERS).find(([, number]) => String(number) === raw)?.[0] ?? raw

const keepsHistory = (realm: Realm): boolean =>
  realmSetting(organizationOf(realm.state), 'message_edit_history_visibility_policy') !== 'none'
const milliseconds = (seconds: number | null) => (seconds === null ? null : seconds * 1000)
const provider = (before: number, now: number) =>
  mapField('video_chat_provider', (n) => (n === now ? before : n), REALM)

export const LEVEL_CHANGES: readonly LevelChange[] = [
  ...LATER_CHANGES,
  levelChange(
    460,
    provider(1, 6),
    removeFields(['constructor_groups'], register('realm_available_video_chat_providers')),
    removeEndpoints('POST /calls/constructorgroups/create'),
    // Clients that declare no level get both forms of a partial result: contract 11.3.
    edit(
      BATCHES.flatMap((name) => answer(name)),
      (body) => {
        if (body.result === 'partially_completed') body.result = 'success'
        delete body.code
      },
    ),
  ),
  levelChange(459, removeParameters(['actions'], 'DELETE /users/:user_id')),
  levelChange(
    453,
    renameField({ gif_rating_policy: 'giphy_rating' }, REALM),
    renameField({ gif_rating_policy_options: 'gif_rating_options' }, register()),
    renameParameter('gif_rating_policy', 'giphy_rating', ['PATCH /realm']),
  ),
  levelChange(
    452,
    dropEvent('delete_message', (_, { cause }) => cause === 'retention'),
  ),
  levelChange(450, mapField('push_account_id', String, event('push_device'))),
  levelChange(
    449,
    mapField('export_type', exportNumber, EXPORTS),
    mapParameter('export_type', ['POST /export/realm'], exportWord),
  ),
  levelChange(
    447,
    removeParameters(['short_name'], 'PATCH /bots/:bot_id'),
    removeFields(['email'], answer('PATCH /bots/:bot_id')),
  ),
  levelChange(
    445,
    rejectValue('anchor', (raw) => /^"?date"?$/.test(raw), 'GET /messages', 'POST /messages/flags/narrow'),
    removeParameters(['anchor_date'], 'GET /messages', 'POST /messages/flags/narrow'),
  ),
  // A change for other users must never be mistaken for a change of the caller's own settings.
  levelChange(
    444,
    rejectValue('target_users', () => true, ...OWN_SETTINGS),
  ),
  levelChange(
    443,
    mapField('create_time', milliseconds, ATTACHMENTS),
    mapField(
      'date_sent',
      milliseconds,
      ATTACHMENTS.map((place) => ({ ...place, path: [...(place.path ?? []), 'messages', '*'] })),
    ),
  ),
  levelChange(
    442,
    removeFields(['tenor_api_key'], register()),
    renameField({ gif_rating_options: 'giphy_rating_options' }, register()),
  ),
  levelChange(
    439,
    replaceEvent('user_settings', ['update_display_settings', 'update_global_notifications'], legacySetting),
  ),
  levelChange(438, removeFields(['owner_full_content_access'], REALM)),
  levelChange(
    437,
    editAnswer(answer('GET /users', 'members'), (members, { realm, me, values }) => {
      const viewer = me()
      if (viewer === null || values.has('user_ids')) return
      const mayAccess = accessOf(realm, viewer)
      const hidden = [...realm.state.user.all()].filter((user) => !user.isSystemBot && !mayAccess(user))
      members.push(...hidden.map((user) => placeholderObject(realm, user)))
    }),
  ),
  levelChange(
    434,
    removeFields(['send_channel_events_messages'], REALM),
    removeParameters(['send_channel_events_messages'], 'PATCH /realm'),
  ),
  levelChange(
    428,
    replaceEvent('subscription', [], (event, { realm }) => {
      if (event.op !== 'peer_remove') return [event]
      const ids = event.stream_ids.filter((id: number) => realm.state.channel.get(id)?.isArchived !== true)
      return ids.length === 0 ? [] : [{ ...event, stream_ids: ids }]
    }),
  ),
  levelChange(
    427,
    mapField(
      'default_group_name',
      (name) => (name === 'channel_creator' ? 'stream_creator_or_nobody' : name),
      register('server_supported_permission_settings', 'stream', '*'),
    ),
  ),
  levelChange(
    426,
    addField('realm_is_zephyr_mirror_realm', 'realm_name', () => false, register()),
  ),
  levelChange(419, request(['POST /register'], capability('simplified_presence_events', false))),
  levelChange(418, dropEvent('channel_folder/reorder')),
  levelChange(
    416,
    removeFields(['welcome_message_custom_text'], REALM),
    removeParameters(['welcome_message_custom_text'], 'PATCH /realm', 'POST /invites', 'POST /invites/multiuse'),
    removeEndpoints('POST /realm/test_welcome_bot_custom_message'),
  ),
  levelChange(
    415,
    removeFields(['max_reminder_note_length'], register()),
    removeParameters(['note'], 'POST /reminders'),
  ),
  levelChange(
    410,
    removeFields(['max_channel_folder_name_length', 'max_channel_folder_description_length'], register()),
  ),
  levelChange(
    407,
    removeFields(
      ['can_delete_any_message_group', 'can_delete_own_message_group'],
      [...CHANNELS, ...PERMISSIONS('stream')],
    ),
    removeFields(['can_set_delete_message_policy_group'], [...REALM, ...PERMISSIONS('realm')]),
    removeParameters(['can_delete_any_message_group', 'can_delete_own_message_group'], ...ANY_CHANNELS),
    removeParameters(['can_set_delete_message_policy_group'], 'PATCH /realm'),
    removeEndpoints('POST /users/:user_id/status'),
  ),
  levelChange(
    406,
    removeFields(['push_devices'], register()),
    dropEvent('push_device'),
    removeEndpoints('POST /mobile_push/register'),
  ),
  levelChange(
    403,
    edit(register('realm_incoming_webhook_bots', '*'), (kind) => {
      if (kind.url_options !== undefined) kind.config_options = [...(kind.config_options ?? []), ...kind.url_options]
      delete kind.url_options
    }),
  ),
  levelChange(
    397,
    removeFields(['max_bulk_new_subscription_messages'], register()),
    removeFields(
      ['new_subscription_messages_sent'],
      [
        ...answer('POST /users/me/subscriptions'),
        ...answer('PATCH /users/me/subscriptions'),
        ...answer('POST /channels/create'),
      ],
    ),
    removeParameters(['send_new_subscription_messages'], ...NEW_CHANNELS),
  ),
  levelChange(
    392,
    replaceEvent('realm', [], (event) => {
      const { mandatory_topics: value, ...data } = event.data ?? {}
      if (value === undefined) return [event]
      return [
        { ...event, data },
        { type: 'realm', op: 'update', property: 'mandatory_topics', value },
      ]
    }),
    removeFields(['topics_policy'], [...REALM, ...CHANNELS]),
    removeFields(['can_set_topics_policy_group'], [...REALM, ...PERMISSIONS('realm')]),
    renameParameter('topics_policy', 'mandatory_topics', ['PATCH /realm'], (raw) =>
      raw === 'true' ? 'disable_empty_topic' : raw === 'false' ? 'allow_empty_topic' : raw,
    ),
    removeParameters(['can_set_topics_policy_group'], 'PATCH /realm'),
    removeParameters(['topics_policy'], ...ANY_CHANNELS),
  ),
  levelChange(384, removeParameters(['user_ids'], 'GET /users')),
  levelChange(382, removeEndpoints(...REPORTS)),
  levelChange(381, removeEndpoints('POST /reminders')),
  levelChange(379, removeParameters(['prev_content_sha256'], 'PATCH /messages/:message_id')),
  levelChange(378, request(['POST /register'], capability('archived_channels', false))),
  levelChange(
    377,
    dropEvent('subscription/peer_remove', (_, { cause }) => cause === 'deactivation'),
  ),
  // 372, the topic of typing notices: api/typing.ts
  levelChange(
    365,
    edit(MESSAGES, (message) => {
      const times = [message.last_edit_timestamp, message.last_moved_timestamp, message.edit_history?.[0]?.timestamp]
      const known = times.filter((time) => time !== undefined)
      if (known.length > 0) message.last_edit_timestamp = Math.max(...known)
      delete message.last_moved_timestamp
    }),
  ),
  levelChange(361, removeEndpoints('POST /messages/:message_id/typing')),
  levelChange(
    358,
    mapField('message_edit_history_visibility_policy', (_, realm) => keepsHistory(realm), REALM),
    renameField({ message_edit_history_visibility_policy: 'allow_edit_history' }, REALM),
    renameParameter('message_edit_history_visibility_policy', 'allow_edit_history', ['PATCH /realm'], (raw) =>
      raw === 'true' ? '"all"' : raw === 'false' ? '"none"' : raw,
    ),
  ),
  levelChange(
    356,
    renameParameter('include_all', 'include_all_active', ['GET /streams']),
    removeParameters(['include_can_access_content'], 'GET /streams'),
  ),
  levelChange(
    355,
    removeFields(
      ['ignored_because_not_subscribed_channels'],
      [...answer('POST /messages/flags'), ...answer('POST /messages/flags/narrow')],
    ),
  ),
  levelChange(
    353,
    provider(3, 5),
    removeFields(['zoom_server_to_server'], register('realm_available_video_chat_providers')),
  ),
  levelChange(
    352,
    replaceEvent('realm', [], (event, { realm }) =>
      event.data?.can_mention_many_users_group === undefined
        ? [event]
        : [event, { type: 'realm', op: 'update', property: 'wildcard_mention_policy', value: wildcardPolicyOf(realm) }],
    ),
    removeFields(['can_mention_many_users_group'], [...REALM, ...PERMISSIONS('realm')]),
    renameParameter('can_mention_many_users_group', 'wildcard_mention_policy', ['PATCH /realm'], wildcardGroup),
  ),
  levelChange(351, dropEvent('typing_edit_message'), removeEndpoints(...TYPING_IN_EDITS)),
  levelChange(
    316,
    addField(
      'realm_edit_topic_policy',
      'realm_can_move_messages_between_topics_group',
      (realm) => topicPolicyOf(realm, 'can_move_messages_between_topics_group'),
      register(),
    ),
  ),
  levelChange(
    310,
    addField(
      'realm_move_messages_between_streams_policy',
      'realm_can_move_messages_between_channels_group',
      (realm) => createPolicyOf(realm, 'can_move_messages_between_channels_group'),
      register(),
    ),
  ),
  levelChange(
    211,
    edit(
      BATCHES.flatMap((name) => answer(name)),
      (body) => {
        if (body.complete === false) Object.assign(body, { result: 'partially_completed', code: 'REQUEST_TIMEOUT' })
        delete body.complete
      },
    ),
  ),
  levelChange(
    204,
    removeFields(
      [
        'server_typing_started_wait_period_milliseconds',
        'server_typing_stopped_wait_period_milliseconds',
        'server_typing_started_expiry_period_milliseconds',
      ],
      register(),
    ),
  ),
  levelChange(200, removeParameters(['is_default_stream'], ...ANY_CHANNELS)),
  levelChange(
    192,
    dropEvent('stream/create', (event, { cause }) => cause === 'subscribed' && event.streams[0]?.invite_only === false),
  ),
  levelChange(
    189,
    removeFields(FOLLOWED_TOPIC_SETTINGS, USER_SETTINGS),
    removeParameters(FOLLOWED_TOPIC_SETTINGS, ...SETTINGS),
  ),
  levelChange(
    184,
    redirectEndpoint(
      'POST /scheduled_messages',
      'scheduled_message_id',
      'PATCH /scheduled_messages/:scheduled_message_id',
    ),
  ),
  levelChange(
    183,
    addField('realm_community_topic_editing_limit_seconds', 'realm_name', () => 259_200, register()),
  ),
  levelChange(182, removeFields(['id'], answer('POST /export/realm'))),
  levelChange(181, removeFields(['failed'], SCHEDULED)),
  {
    ...levelChange(
      180,
      rejectValue('stream_ids', (raw) => /^\s*\[\s*\]\s*$/.test(raw), 'POST /invites'),
    ),
    backported: [157, 158],
  },
  levelChange(
    179,
    removeFields(['scheduled_messages'], register()),
    dropEvent('scheduled_messages'),
    removeEndpoints('POST /scheduled_messages'),
  ),
  levelChange(
    177,
    request(
      ['POST /register', 'GET /messages', 'POST /messages/flags/narrow', 'GET /messages/matches_narrow'],
      refuseNewNarrow,
    ),
  ),
  levelChange(
    176,
    request(['POST /register'], capability('linkifier_url_template', true)),
    mapField('url_template', formatString, LINKIFIERS),
    renameField({ url_template: 'url_format_string' }, LINKIFIERS),
    replaceEvent('realm_linkifiers', ['realm_filters'], (event) => [
      event,
      {
        type: 'realm_filters',
        realm_filters: event.realm_linkifiers.map((one: Record<string, unknown>) => [
          one.pattern,
          one.url_format_string,
          one.id,
        ]),
      },
    ]),
    mapField(
      'realm_filters',
      (_, realm) =>
        linkifierObjects(realm).map(({ id, pattern, url_template }) => [pattern, formatString(url_template), id]),
      register(),
    ),
    renameParameter(
      'url_template',
      'url_format_string',
      ['POST /realm/filters', 'PATCH /realm/filters/:filter_id'],
      urlTemplate,
    ),
  ),
  levelChange(
    174,
    rejectValue('type', (raw) => raw === 'direct', 'POST /messages', 'POST /typing'),
  ),
  levelChange(172, renameErrorCode('MOVE_MESSAGES_TIME_LIMIT_EXCEEDED', 'BAD_REQUEST', 'PATCH /messages/:message_id')),
  levelChange(
    167,
    removeFields(
      ['ignored_parameters_unsupported'],
      allBut('PATCH /settings', 'PATCH /realm/user_settings_defaults', 'POST /users/me/subscriptions/properties'),
    ),
  ),
  levelChange(
    164,
    removeFields(['server_presence_ping_interval_seconds', 'server_presence_offline_threshold_seconds'], register()),
  ),
  levelChange(
    163,
    edit(USERS, (user) => {
      if (user.delivery_email === null) delete user.delivery_email
    }),
    replaceEvent('realm_user', [], (event) =>
      event.op === 'update' && event.person.delivery_email === null ? [] : [event],
    ),
    addField(
      'realm_email_address_visibility',
      'realm_name',
      (realm) => userDefault(organizationOf(realm.state), 'email_address_visibility'),
      register(),
    ),
    removeFields(['email_address_visibility'], USER_SETTINGS),
    removeParameters(['email_address_visibility'], ...SETTINGS),
  ),
  levelChange(
    162,
    removeFields(['move_messages_within_stream_limit_seconds', 'move_messages_between_streams_limit_seconds'], REALM),
    removeParameters(
      ['move_messages_within_stream_limit_seconds', 'move_messages_between_streams_limit_seconds'],
      'PATCH /realm',
    ),
  ),
  levelChange(
    161,
    removeParameters(['can_remove_subscribers_group', 'can_remove_subscribers_group_id'], ...ANY_CHANNELS),
  ),
  levelChange(160, removeEndpoints('POST /jwt/fetch_api_key')),
  levelChange(
    159,
    ...['realm_edit_topic_policy', 'realm_move_messages_between_streams_policy'].map((name) =>
      mapField(name, (number) => (number === 6 ? 2 : number), register()),
    ),
  ),
  levelChange(
    155,
    removeParameters(['include_anchor'], 'GET /messages', 'POST /messages/flags/narrow'),
    removeEndpoints('POST /messages/flags/narrow'),
  ),
  levelChange(
    154,
    edit(
      answer('POST /streams/:stream_id/delete_topic'),
      ({ result }) => void (result === 'partially_completed' && timedOut()),
    ),
  ),
  levelChange(
    153,
    edit(
      [
        ...answer('POST /mark_all_as_read'),
        ...answer('POST /mark_stream_as_read'),
        ...answer('POST /mark_topic_as_read'),
      ],
      ({ result }) => void (result === 'partially_completed' && timedOut()),
    ),
  ),
  levelChange(
    152,
    defaultParameter(
      'send_notification_to_old_thread',
      'true',
      (values) => values.has('stream_id'),
      'PATCH /messages/:message_id',
    ),
    request(['PATCH /messages/:message_id'], (values) => {
      if (values.has('stream_id')) return
      for (const name of ['send_notification_to_old_thread', 'send_notification_to_new_thread'])
        values.set(name, 'false')
    }),
  ),
  levelChange(140, removeFields(['server_emoji_data_url'], register())),
  levelChange(
    139,
    dropEvent('subscription/update', ({ property }) => property === 'is_muted'),
  ),
  levelChange(
    138,
    mapField('message_content_edit_limit_seconds', (seconds) => seconds ?? 0, REALM),
    mapParameter('message_content_edit_limit_seconds', ['PATCH /realm'], (raw) => (raw === '0' ? '"unlimited"' : raw)),
  ),
  levelChange(
    136,
    request(['PATCH /streams/:stream_id'], (values) => {
      if (values.get('is_private') !== 'true') values.delete('history_public_to_subscribers')
    }),
  ),
  levelChange(135, removeParameters(['deactivation_notification_comment'], 'DELETE /users/:user_id')),
  levelChange(
    134,
    request(['POST /register'], unlisted('user_topic')),
    editAnswer(register(), (body, { realm, me }) => {
      if (!('user_topics' in body)) return
      const user = me()
      delete body.user_topics
      body.muted_topics = user === null ? [] : mutedTopics(realm, user, false)
    }),
    dropEvent('user_topic'),
    dropEvent('stream/create', (_, { cause }) => cause === 'made_public'),
    dropEvent('subscription/peer_add', (_, { cause }) => cause === 'made_public'),
  ),
  levelChange(130, removeParameters(['role'], 'PATCH /bots/:bot_id')),
  levelChange(
    129,
    removeFields(['want_advertise_in_communities_directory'], REALM),
    removeParameters(['want_advertise_in_communities_directory'], 'PATCH /realm'),
  ),
  levelChange(121, removeFields(['message_details'], event('update_message_flags/remove'))),
  levelChange(
    120,
    removeFields(['message'], answer('GET /messages/:message_id')),
    removeParameters(['apply_markdown'], 'GET /messages/:message_id'),
  ),
  levelChange(119, removeFields(['other_user_id'], register('unread_msgs', 'pms', '*'))),
  levelChange(
    118,
    edit(
      MESSAGES.map((place) => ({ ...place, path: [...(place.path ?? []), 'edit_history', '*'] })),
      (entry) => {
        if (entry.prev_topic !== undefined) entry.prev_subject = entry.prev_topic
        for (const name of ['prev_topic', 'topic', 'stream']) delete entry[name]
      },
    ),
    removeFields(['stream'], answer('GET /messages/:message_id/history', 'message_history', '*')),
  ),
  levelChange(116, removeFields(['realm_web_public_access_enabled'], SERVER_SETTINGS)),
  levelChange(
    114,
    edit(event('update_message'), (body) => {
      if (body.rendering_only) for (const name of ['user_id', 'edit_timestamp']) delete body[name]
      delete body.rendering_only
    }),
  ),
  levelChange(
    113,
    edit(EMOJI, (emoji) => {
      if (emoji.still_url === null) delete emoji.still_url
    }),
  ),
  levelChange(
    112,
    edit(event('update_message'), (body) => {
      if (body.propagate_mode === undefined) delete body.stream_id
    }),
  ),
  levelChange(110, removeFields(['server_web_public_streams_enabled'], register())),
  levelChange(104, removeParameters(['string_id'], 'PATCH /realm')),
  levelChange(
    103,
    removeFields(['realm_create_web_public_stream_policy', 'can_create_web_public_streams'], register()),
  ),
]
