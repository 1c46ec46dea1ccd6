/** Part 2 of the history: fields of objects, and of the register answer. */

import { changesAbove, compile } from '../../../firmware/chat/levels/rewrite.ts'
import type { SystemGroupName } from '../../../firmware/chat/realm/model/roles.ts'
import {
  attachmentTimes,
  away,
  countOf,
  delivery,
  exportTypes,
  group,
  type Item,
  type Json,
  keys,
  message,
  registered,
  row,
  same,
  say,
  setsRemovers,
  unitOf,
  upload,
} from './probes.ts'

const FOLLOWED = [
  'email_notifications',
  'push_notifications',
  'wildcard_mentions_notify',
  'desktop_notifications',
  'audible_notifications',
].map((name) => `enable_followed_topic_${name}`)

export const FIELDS: readonly Item[] = [
  row(
    118,
    2,
    'edit_history entries of moves',
    async (ask) => keys((await message(ask, ask.moved)).edit_history[0]),
    'prev_stream prev_topic stream timestamp topic user_id',
    'prev_stream prev_subject timestamp user_id',
  ),
  row(
    365,
    2,
    'last_moved_timestamp',
    async (ask) => 'last_moved_timestamp' in (await message(ask, ask.moved)),
    true,
    false,
  ),
  row(
    365,
    2,
    'last_edit_timestamp',
    async (ask) => 'last_edit_timestamp' in (await message(ask, ask.resolved)),
    false,
    true,
  ),
  row(
    118,
    2,
    'stream of a snapshot',
    async (ask) => 'stream' in (await ask.get(`/messages/${ask.moved}/history`)).message_history.at(-1),
    true,
    false,
  ),
  row(
    443,
    2,
    'attachment: create_time, date_sent',
    attachmentTimes,
    ['seconds', 'seconds'],
    ['milliseconds', 'milliseconds'],
  ),
  row(
    443,
    2,
    'detached_uploads',
    async (ask) => {
      const id = await say(ask, ask.verona.id, 'files', `[a](${await upload(ask)})`)
      const { detached_uploads } = await ask.patch(`/messages/${id}`, { content: 'nothing' })
      return unitOf(detached_uploads[0].create_time)
    },
    'seconds',
    'milliseconds',
  ),
  row(
    407,
    2,
    'channel: delete groups',
    async (ask) =>
      countOf((await ask.get(`/streams/${ask.verona.id}`)).stream, [
        'can_delete_any_message_group',
        'can_delete_own_message_group',
      ]),
    2,
    0,
  ),
  row(
    392,
    2,
    'channel: topics_policy',
    async (ask) => 'topics_policy' in (await ask.snapshot()).subscriptions[0],
    true,
    false,
  ),
  row(161, 2, 'channel: can_remove_subscribers_group_id', setsRemovers, 'changed', 'ignored'),
  row(
    181,
    2,
    'scheduled message: failed',
    async (ask) => 'failed' in (await ask.snapshot()).scheduled_messages[0],
    true,
    false,
  ),
  row(
    163,
    2,
    'user: delivery_email',
    delivery(async (ask) => {
      const { members } = await ask.get('/users', {}, ask.hamlet)
      return members.find(({ user_id }: Json) => user_id === ask.cordelia.user.id)
    }),
    null,
    'absent',
  ),
  same(
    163,
    2,
    'user: avatar_url',
    async (ask) => {
      const { members } = await ask.get('/users', {}, ask.hamlet)
      return members
        .filter(({ user_id }: Json) => [ask.admin, ask.cordelia].some(({ user }) => user.id === user_id))
        .map(({ avatar_url }: Json) => avatar_url === null)
    },
    [true, false],
  ),
  row(
    163,
    2,
    'user setting email_address_visibility',
    async ({ snapshot }) => 'email_address_visibility' in (await snapshot()).user_settings,
    true,
    false,
  ),
  row(
    189,
    2,
    'settings of followed topics',
    async ({ snapshot }) => countOf((await snapshot()).user_settings, FOLLOWED),
    5,
    0,
  ),
  same(148, 2, 'away is the contrary of presence_enabled', away, false),
  row(
    138,
    2,
    'message_content_edit_limit_seconds',
    async ({ snapshot }) => (await snapshot()).realm_message_content_edit_limit_seconds,
    null,
    0,
  ),
  registered(
    162,
    2,
    'realm_move_messages_within_stream_limit_seconds',
    'realm_move_messages_between_streams_limit_seconds',
  ),
  row(
    159,
    2,
    'policies of moving: nobody',
    async ({ snapshot }) => {
      const { realm_edit_topic_policy, realm_move_messages_between_streams_policy } = await snapshot()
      return [realm_edit_topic_policy, realm_move_messages_between_streams_policy]
    },
    [undefined, undefined],
    [2, 2],
    [6, 6],
  ),
  registered(392, 2, 'realm_topics_policy'),
  registered(392, 2, 'realm_can_set_topics_policy_group'),
  registered(407, 2, 'realm_can_set_delete_message_policy_group'),
  registered(352, 2, 'realm_can_mention_many_users_group'),
  row(
    358,
    2,
    'message_edit_history_visibility_policy',
    async (ask) =>
      (
        await ask.events(['realm'], async () => {
          for (const policy of ['none', 'all'])
            await ask.owner.patch('/realm', { message_edit_history_visibility_policy: policy })
        })
      ).map(({ property, value }) => [property, value]),
    [
      ['message_edit_history_visibility_policy', 'none'],
      ['message_edit_history_visibility_policy', 'all'],
    ],
    [
      ['allow_edit_history', false],
      ['allow_edit_history', true],
    ],
  ),
  row(
    442,
    2,
    'ratings of GIFs are shared by pickers',
    async ({ snapshot }) => Object.keys(await snapshot()).filter((name) => name.endsWith('_options')),
    ['gif_rating_policy_options'],
    ['giphy_rating_options'],
    ['gif_rating_options'],
  ),
  row(
    453,
    2,
    'gif_rating_policy',
    async ({ snapshot }) => countOf(await snapshot(), ['realm_gif_rating_policy', 'gif_rating_policy_options']),
    2,
    0,
  ),
  registered(438, 2, 'realm_owner_full_content_access'),
  row(449, 2, 'exports that owners with full access ask for', exportTypes, ['public', 'full_without_consent'], [1, 3]),
  registered(416, 2, 'realm_welcome_message_custom_text'),
  registered(434, 2, 'realm_send_channel_events_messages'),
  same(
    195,
    2,
    'default_code_block_language',
    async ({ snapshot }) => (await snapshot()).realm_default_code_block_language,
    '',
  ),
  registered(129, 2, 'realm_want_advertise_in_communities_directory'),
  row(353, 2, 'video_chat_provider', async ({ snapshot }) => (await snapshot()).realm_video_chat_provider, 5, 3),
  row(
    176,
    2,
    'linkifier: url_template',
    async (ask) => (await ask.get('/realm/linkifiers')).linkifiers[0],
    { id: 1, pattern: '#(?P<id>[0-9]+)', url_template: 'https://example.com/100%25/{id}' },
    { id: 1, pattern: '#(?P<id>[0-9]+)', url_format_string: 'https://example.com/100%%25/%(id)s' },
  ),
  row(
    113,
    2,
    'custom emoji: still_url',
    async ({ snapshot }) => 'still_url' in Object.values<object>((await snapshot()).realm_emoji)[0]!,
    true,
    false,
  ),
  row(449, 2, 'export: export_type', exportTypes, ['public', 'full_without_consent'], [1, 3]),
  row(
    403,
    2,
    'incoming webhook bots: url_options',
    async ({ level }) => {
      // No kind that the chat has needs options: what a client would be told is told of one here.
      const body = { realm_incoming_webhook_bots: [{ config_options: ['a'], url_options: ['b'] }] }
      compile(level === null ? [] : changesAbove(level)).answers.get('POST /register')?.(body, {} as never)
      return body.realm_incoming_webhook_bots
    },
    [{ config_options: ['a'], url_options: ['b'] }],
    [{ config_options: ['a', 'b'] }],
  ),
  row(
    426,
    2,
    'realm_is_zephyr_mirror_realm',
    async ({ snapshot }) => (await snapshot()).realm_is_zephyr_mirror_realm,
    undefined,
    false,
  ),
  row(
    358,
    2,
    'realm_allow_edit_history',
    async ({ snapshot }) =>
      countOf(await snapshot(), ['realm_allow_edit_history', 'realm_message_edit_history_visibility_policy']),
    2,
    1,
  ),
  row(
    352,
    2,
    'realm_wildcard_mention_policy',
    async ({ snapshot }) =>
      countOf(await snapshot(), ['realm_wildcard_mention_policy', 'realm_can_mention_many_users_group']),
    2,
    1,
  ),
  row(
    134,
    2,
    'muted_topics',
    async ({ snapshot }) => (await snapshot()).muted_topics?.map(([channel, topic]: Json) => [channel, topic]),
    undefined,
    [['verona', 'noise']],
  ),
  row(
    183,
    2,
    'realm_community_topic_editing_limit_seconds',
    async ({ snapshot }) => (await snapshot()).realm_community_topic_editing_limit_seconds,
    undefined,
    259_200,
  ),
  row(
    176,
    2,
    'realm_filters',
    async ({ snapshot }) => (await snapshot()).realm_filters,
    [],
    [['#(?P<id>[0-9]+)', 'https://example.com/100%%25/%(id)s', 1]],
  ),
  row(
    163,
    2,
    'realm_email_address_visibility',
    async ({ snapshot }) => (await snapshot()).realm_email_address_visibility,
    undefined,
    1,
  ),
  row(
    352,
    2,
    'wildcard_mention_policy in events',
    async (ask) => {
      const change = (name: SystemGroupName) =>
        ask.owner.patch('/realm', { can_mention_many_users_group: { new: group(ask, name) } })
      const events = await ask.events(['realm'], () => change('role:members'))
      await change('role:administrators')
      return events.map(({ op, property, value, data }) => [op, property, value ?? keys(data)])
    },
    [['update_dict', 'default', 'can_mention_many_users_group']],
    [['update', 'wildcard_mention_policy', 2]],
  ),
  row(
    427,
    2,
    'channel_creator',
    async ({ snapshot }) =>
      (await snapshot()).server_supported_permission_settings.stream.can_administer_channel_group.default_group_name,
    'channel_creator',
    'stream_creator_or_nobody',
  ),
]
