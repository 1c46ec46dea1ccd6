/**
 * What each level has changed, as rules for those who declare an older one. Contract section 8.1, newest first. Where a rule
 * has no answer or event to change, the room itself asks for the level: 372 in api/typing.ts, 201 in realm/bots/webhook.ts.
 */

import { realmSetting, userDefault } from '../realm/model/read-settings.ts'
import type { Realm } from '../realm/model/realm.ts'
import { organizationOf } from '../realm/model/state.ts'
import { mutedTopics } from '../realm/objects/user-topics.ts'
import { placeholderObject } from '../realm/objects/user-view.ts'
import { linkifierObjects } from '../realm/organization/settings/linkifiers.ts'
import { accessOf } from '../realm/permissions/user-access.ts'
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
} from './surfaces.ts'
import {
  add,
  code,
  def,
  drop,
  edit,
  editAnswer,
  ev,
  type Gate,
  gate,
  map,
  mapParam,
  noEp,
  noev,
  noParam,
  noVal,
  other,
  ren,
  renParam,
  request,
} from './words.ts'

const SETTINGS_ROWS = ['E84', 'E88', 'E104']
const NEW_CHANNELS = ['E52', 'E60']
const ANY_CHANNELS = ['E44', ...NEW_CHANNELS]
const BATCHES = ['E20', 'E48']
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
const provider = (before: number, now: number) => map('video_chat_provider', (n) => (n === now ? before : n), REALM)

export const GATES: readonly Gate[] = [
  gate(
    460,
    provider(1, 6),
    drop(['constructor_groups'], register('realm_available_video_chat_providers')),
    noEp('POST /calls/constructorgroups/create'),
    // Both forms of a part that is done are for whoever declares nothing: contract 11.3.
    edit(
      BATCHES.flatMap((row) => answer(row)),
      (body) => {
        if (body.result === 'partially_completed') body.result = 'success'
        delete body.code
      },
    ),
  ),
  gate(459, noParam(['actions'], 'E73')),
  gate(
    453,
    ren({ gif_rating_policy: 'giphy_rating' }, REALM),
    ren({ gif_rating_policy_options: 'gif_rating_options' }, register()),
    renParam('gif_rating_policy', 'giphy_rating', ['E103']),
  ),
  gate(
    452,
    noev('delete_message', (_, { cause }) => cause === 'retention'),
  ),
  gate(450, map('push_account_id', String, event('push_device'))),
  gate(449, map('export_type', exportNumber, EXPORTS), mapParam('export_type', ['E121'], exportWord)),
  gate(447, noParam(['short_name'], 'E91'), drop(['email'], answer('E91'))),
  gate(
    445,
    noVal('anchor', (raw) => /^"?date"?$/.test(raw), 'E9', 'E19'),
    noParam(['anchor_date'], 'E9', 'E19'),
  ),
  // It must never be taken for a change of one's own.
  gate(
    444,
    noVal('target_users', () => true, 'E84', 'E88'),
  ),
  gate(
    443,
    map('create_time', milliseconds, ATTACHMENTS),
    map(
      'date_sent',
      milliseconds,
      ATTACHMENTS.map((place) => ({ ...place, path: [...(place.path ?? []), 'messages', '*'] })),
    ),
  ),
  gate(442, drop(['tenor_api_key'], register()), ren({ gif_rating_options: 'giphy_rating_options' }, register())),
  gate(439, ev('user_settings', ['update_display_settings', 'update_global_notifications'], legacySetting)),
  gate(438, drop(['owner_full_content_access'], REALM)),
  gate(
    437,
    editAnswer(answer('E67', 'members'), (members, { realm, me, values }) => {
      const viewer = me()
      if (viewer === null || values.has('user_ids')) return
      const mayAccess = accessOf(realm, viewer)
      const hidden = [...realm.state.user.all()].filter((user) => !user.isSystemBot && !mayAccess(user))
      members.push(...hidden.map((user) => placeholderObject(realm, user)))
    }),
  ),
  gate(434, drop(['send_channel_events_messages'], REALM), noParam(['send_channel_events_messages'], 'E103')),
  gate(
    428,
    ev('subscription', [], (event, { realm }) => {
      if (event.op !== 'peer_remove') return [event]
      const ids = event.stream_ids.filter((id: number) => realm.state.channel.get(id)?.isArchived !== true)
      return ids.length === 0 ? [] : [{ ...event, stream_ids: ids }]
    }),
  ),
  gate(
    427,
    map(
      'default_group_name',
      (name) => (name === 'channel_creator' ? 'stream_creator_or_nobody' : name),
      register('server_supported_permission_settings', 'stream', '*'),
    ),
  ),
  gate(
    426,
    add('realm_is_zephyr_mirror_realm', 'realm_name', () => false, register()),
  ),
  gate(419, request(['E6'], capability('simplified_presence_events', false))),
  gate(418, noev('channel_folder/reorder')),
  gate(
    416,
    drop(['welcome_message_custom_text'], REALM),
    noParam(['welcome_message_custom_text'], 'E103', 'E126', 'E127'),
    noEp('E119'),
  ),
  gate(415, drop(['max_reminder_note_length'], register()), noParam(['note'], 'E33')),
  gate(410, drop(['max_channel_folder_name_length', 'max_channel_folder_description_length'], register())),
  gate(
    407,
    drop(['can_delete_any_message_group', 'can_delete_own_message_group'], [...CHANNELS, ...PERMISSIONS('stream')]),
    drop(['can_set_delete_message_policy_group'], [...REALM, ...PERMISSIONS('realm')]),
    noParam(['can_delete_any_message_group', 'can_delete_own_message_group'], ...ANY_CHANNELS),
    noParam(['can_set_delete_message_policy_group'], 'E103'),
    noEp('E77'),
  ),
  gate(406, drop(['push_devices'], register()), noev('push_device'), noEp('E134')),
  gate(
    403,
    edit(register('realm_incoming_webhook_bots', '*'), (kind) => {
      if (kind.url_options !== undefined) kind.config_options = [...(kind.config_options ?? []), ...kind.url_options]
      delete kind.url_options
    }),
  ),
  gate(
    397,
    drop(['max_bulk_new_subscription_messages'], register()),
    drop(['new_subscription_messages_sent'], [...answer('E52'), ...answer('E53'), ...answer('E60')]),
    noParam(['send_new_subscription_messages'], ...NEW_CHANNELS),
  ),
  gate(
    392,
    ev('realm', [], (event) => {
      const { mandatory_topics: value, ...data } = event.data ?? {}
      if (value === undefined) return [event]
      return [
        { ...event, data },
        { type: 'realm', op: 'update', property: 'mandatory_topics', value },
      ]
    }),
    drop(['topics_policy'], [...REALM, ...CHANNELS]),
    drop(['can_set_topics_policy_group'], [...REALM, ...PERMISSIONS('realm')]),
    renParam('topics_policy', 'mandatory_topics', ['E103'], (raw) =>
      raw === 'true' ? 'disable_empty_topic' : raw === 'false' ? 'allow_empty_topic' : raw,
    ),
    noParam(['can_set_topics_policy_group'], 'E103'),
    noParam(['topics_policy'], ...ANY_CHANNELS),
  ),
  gate(384, noParam(['user_ids'], 'E67')),
  gate(382, noEp('E25')),
  gate(381, noEp('E33')),
  gate(379, noParam(['prev_content_sha256'], 'E12')),
  gate(378, request(['E6'], capability('archived_channels', false))),
  gate(
    377,
    noev('subscription/peer_remove', (_, { cause }) => cause === 'deactivation'),
  ),
  gate(
    365,
    edit(MESSAGES, (message) => {
      const times = [message.last_edit_timestamp, message.last_moved_timestamp, message.edit_history?.[0]?.timestamp]
      const known = times.filter((time) => time !== undefined)
      if (known.length > 0) message.last_edit_timestamp = Math.max(...known)
      delete message.last_moved_timestamp
    }),
  ),
  gate(361, noEp('POST /messages/:message_id/typing')),
  gate(
    358,
    map('message_edit_history_visibility_policy', (_, realm) => keepsHistory(realm), REALM),
    ren({ message_edit_history_visibility_policy: 'allow_edit_history' }, REALM),
    renParam('message_edit_history_visibility_policy', 'allow_edit_history', ['E103'], (raw) =>
      raw === 'true' ? '"all"' : raw === 'false' ? '"none"' : raw,
    ),
  ),
  gate(356, renParam('include_all', 'include_all_active', ['E42']), noParam(['include_can_access_content'], 'E42')),
  gate(355, drop(['ignored_because_not_subscribed_channels'], [...answer('E18'), ...answer('E19')])),
  gate(353, provider(3, 5), drop(['zoom_server_to_server'], register('realm_available_video_chat_providers'))),
  gate(
    352,
    ev('realm', [], (event, { realm }) =>
      event.data?.can_mention_many_users_group === undefined
        ? [event]
        : [event, { type: 'realm', op: 'update', property: 'wildcard_mention_policy', value: wildcardPolicyOf(realm) }],
    ),
    drop(['can_mention_many_users_group'], [...REALM, ...PERMISSIONS('realm')]),
    renParam('can_mention_many_users_group', 'wildcard_mention_policy', ['E103'], wildcardGroup),
  ),
  gate(351, noev('typing_edit_message'), noEp('E26')),
  gate(
    316,
    add(
      'realm_edit_topic_policy',
      'realm_can_move_messages_between_topics_group',
      (realm) => topicPolicyOf(realm, 'can_move_messages_between_topics_group'),
      register(),
    ),
  ),
  gate(
    310,
    add(
      'realm_move_messages_between_streams_policy',
      'realm_can_move_messages_between_channels_group',
      (realm) => createPolicyOf(realm, 'can_move_messages_between_channels_group'),
      register(),
    ),
  ),
  gate(
    211,
    edit(
      BATCHES.flatMap((row) => answer(row)),
      (body) => {
        if (body.complete === false) Object.assign(body, { result: 'partially_completed', code: 'REQUEST_TIMEOUT' })
        delete body.complete
      },
    ),
  ),
  gate(
    204,
    drop(
      [
        'server_typing_started_wait_period_milliseconds',
        'server_typing_stopped_wait_period_milliseconds',
        'server_typing_started_expiry_period_milliseconds',
      ],
      register(),
    ),
  ),
  gate(200, noParam(['is_default_stream'], ...ANY_CHANNELS)),
  gate(
    192,
    noev('stream/create', (event, { cause }) => cause === 'subscribed' && event.streams[0]?.invite_only === false),
  ),
  gate(189, drop(FOLLOWED_TOPIC_SETTINGS, USER_SETTINGS), noParam(FOLLOWED_TOPIC_SETTINGS, ...SETTINGS_ROWS)),
  gate(184, other('E29', 'scheduled_message_id', 'E31')),
  gate(
    183,
    add('realm_community_topic_editing_limit_seconds', 'realm_name', () => 259_200, register()),
  ),
  gate(182, drop(['id'], answer('E121'))),
  gate(181, drop(['failed'], SCHEDULED)),
  {
    ...gate(
      180,
      noVal('stream_ids', (raw) => /^\s*\[\s*\]\s*$/.test(raw), 'E126'),
    ),
    backported: [157, 158],
  },
  gate(179, drop(['scheduled_messages'], register()), noev('scheduled_messages'), noEp('E29')),
  gate(177, request(['E6', 'E9', 'E19', 'E24'], refuseNewNarrow)),
  gate(
    176,
    request(['E6'], capability('linkifier_url_template', true)),
    map('url_template', formatString, LINKIFIERS),
    ren({ url_template: 'url_format_string' }, LINKIFIERS),
    ev('realm_linkifiers', ['realm_filters'], (event) => [
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
    map(
      'realm_filters',
      (_, realm) =>
        linkifierObjects(realm).map(({ id, pattern, url_template }) => [pattern, formatString(url_template), id]),
      register(),
    ),
    renParam('url_template', 'url_format_string', ['E107', 'E108'], urlTemplate),
  ),
  gate(
    174,
    noVal('type', (raw) => raw === 'direct', 'E10', 'E27'),
  ),
  gate(172, code('MOVE_MESSAGES_TIME_LIMIT_EXCEEDED', 'BAD_REQUEST', 'E12')),
  gate(167, drop(['ignored_parameters_unsupported'], allBut('E84', 'E104', 'E55'))),
  gate(164, drop(['server_presence_ping_interval_seconds', 'server_presence_offline_threshold_seconds'], register())),
  gate(
    163,
    edit(USERS, (user) => {
      if (user.delivery_email === null) delete user.delivery_email
    }),
    ev('realm_user', [], (event) => (event.op === 'update' && event.person.delivery_email === null ? [] : [event])),
    add(
      'realm_email_address_visibility',
      'realm_name',
      (realm) => userDefault(organizationOf(realm.state), 'email_address_visibility'),
      register(),
    ),
    drop(['email_address_visibility'], USER_SETTINGS),
    noParam(['email_address_visibility'], ...SETTINGS_ROWS),
  ),
  gate(
    162,
    drop(['move_messages_within_stream_limit_seconds', 'move_messages_between_streams_limit_seconds'], REALM),
    noParam(['move_messages_within_stream_limit_seconds', 'move_messages_between_streams_limit_seconds'], 'E103'),
  ),
  gate(161, noParam(['can_remove_subscribers_group', 'can_remove_subscribers_group_id'], ...ANY_CHANNELS)),
  gate(160, noEp('E3')),
  gate(
    159,
    ...['realm_edit_topic_policy', 'realm_move_messages_between_streams_policy'].map((name) =>
      map(name, (number) => (number === 6 ? 2 : number), register()),
    ),
  ),
  gate(155, noParam(['include_anchor'], 'E9', 'E19'), noEp('E19')),
  gate(
    154,
    edit(answer('E48'), ({ result }) => void (result === 'partially_completed' && timedOut())),
  ),
  gate(
    153,
    edit(
      [...answer('E20'), ...answer('E21'), ...answer('E22')],
      ({ result }) => void (result === 'partially_completed' && timedOut()),
    ),
  ),
  gate(
    152,
    def('send_notification_to_old_thread', 'true', (values) => values.has('stream_id'), 'E12'),
    request(['E12'], (values) => {
      if (values.has('stream_id')) return
      for (const name of ['send_notification_to_old_thread', 'send_notification_to_new_thread'])
        values.set(name, 'false')
    }),
  ),
  gate(140, drop(['server_emoji_data_url'], register())),
  gate(
    139,
    noev('subscription/update', ({ property }) => property === 'is_muted'),
  ),
  gate(
    138,
    map('message_content_edit_limit_seconds', (seconds) => seconds ?? 0, REALM),
    mapParam('message_content_edit_limit_seconds', ['E103'], (raw) => (raw === '0' ? '"unlimited"' : raw)),
  ),
  gate(
    136,
    request(['E44'], (values) => {
      if (values.get('is_private') !== 'true') values.delete('history_public_to_subscribers')
    }),
  ),
  gate(135, noParam(['deactivation_notification_comment'], 'E73')),
  gate(
    134,
    request(['E6'], unlisted('user_topic')),
    editAnswer(register(), (body, { realm, me }) => {
      if (!('user_topics' in body)) return
      const user = me()
      delete body.user_topics
      body.muted_topics = user === null ? [] : mutedTopics(realm, user, false)
    }),
    noev('user_topic'),
    noev('stream/create', (_, { cause }) => cause === 'made_public'),
    noev('subscription/peer_add', (_, { cause }) => cause === 'made_public'),
  ),
  gate(130, noParam(['role'], 'E91')),
  gate(
    129,
    drop(['want_advertise_in_communities_directory'], REALM),
    noParam(['want_advertise_in_communities_directory'], 'E103'),
  ),
  gate(121, drop(['message_details'], event('update_message_flags/remove'))),
  gate(120, drop(['message'], answer('E11')), noParam(['apply_markdown'], 'E11')),
  gate(119, drop(['other_user_id'], register('unread_msgs', 'pms', '*'))),
  gate(
    118,
    edit(
      MESSAGES.map((place) => ({ ...place, path: [...(place.path ?? []), 'edit_history', '*'] })),
      (entry) => {
        if (entry.prev_topic !== undefined) entry.prev_subject = entry.prev_topic
        for (const name of ['prev_topic', 'topic', 'stream']) delete entry[name]
      },
    ),
    drop(['stream'], answer('E14', 'message_history', '*')),
  ),
  gate(116, drop(['realm_web_public_access_enabled'], SERVER_SETTINGS)),
  gate(
    114,
    edit(event('update_message'), (body) => {
      if (body.rendering_only) for (const name of ['user_id', 'edit_timestamp']) delete body[name]
      delete body.rendering_only
    }),
  ),
  gate(
    113,
    edit(EMOJI, (emoji) => {
      if (emoji.still_url === null) delete emoji.still_url
    }),
  ),
  gate(
    112,
    edit(event('update_message'), (body) => {
      if (body.propagate_mode === undefined) delete body.stream_id
    }),
  ),
  gate(110, drop(['server_web_public_streams_enabled'], register())),
  gate(104, noParam(['string_id'], 'E103')),
  gate(103, drop(['realm_create_web_public_stream_policy', 'can_create_web_public_streams'], register())),
]
