/** Parts 4 and 5 of the history: endpoints, their parameters and answers, and signing in. */

import { createHash } from 'node:crypto'
import { realmSetting } from '../../../firmware/chat/realm/model/read-settings.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { organizationOf } from '../../../firmware/chat/realm/model/state.ts'
import type { Client } from '../support/chat.ts'
import {
  attachmentTimes,
  away,
  changesChannel,
  countOf,
  deletesInTime,
  delivery,
  endpoint,
  exportTypes,
  fresh,
  fullChannel,
  group,
  hidden,
  type Item,
  type Json,
  jwt,
  keys,
  marksInTime,
  movesTooMuch,
  muting,
  newBot,
  newChannel,
  outOfTime,
  type Probe,
  parameters,
  registered,
  row,
  same,
  say,
  setsRemovers,
} from './probes.ts'
import type { Ask } from './rig.ts'

const DELETE_GROUPS = ['can_delete_any_message_group', 'can_delete_own_message_group']

const registers =
  (can: object | null, block: string, read: (answer: Json) => unknown): Probe =>
  async (ask) =>
    read(
      await ask.post('/register', {
        event_types: [],
        fetch_event_types: [block],
        ...(can !== null && { client_capabilities: { notification_settings_null: true, ...can } }),
      }),
    )

const subscribes = (values: (ask: Ask) => object) => (ask: Ask) =>
  ask.post('/users/me/subscriptions', { subscriptions: [{ name: fresh('channel') }], ...values(ask) })
const changes = (values: (ask: Ask) => object) => (ask: Ask) =>
  ask.patch(`/streams/${newChannel(ask).id}`, { ...values(ask) })
const update = (ask: Ask, name: 'role:members') => ({ new: group(ask, name) })

/** Whether the old topic has a notice of a move to another channel by a client that says nothing of notices. */
const tellsOldTopic: Probe = async (ask) => {
  const channel = newChannel(ask)
  const id = await say(ask, channel.id, 'old')
  await ask.patch(`/messages/${id}`, { stream_id: ask.verona.id })
  return (await ask.owner.get(`/users/me/${channel.id}/topics`)).topics.length > 0
}

const typesWithoutTopic: Probe = async (ask) => {
  const can = { notification_settings_null: true, stream_typing_notifications: true, empty_topic_name: true }
  const queue = await ask.owner.register({ event_types: ['typing'], fetch_event_types: [], client_capabilities: can })
  const values = { type: 'stream', op: 'start', stream_id: ask.verona.id, topic: '(no topic)' }
  await ask.post('/typing', values, ask.hamlet)
  return (await queue.events()).map(({ topic }) => topic)
}

const deactivates = (values: object) => async (ask: Ask) =>
  ask.delete(`/users/${ask.rig.account(fresh('person')).user.id}`, { ...values })

const dated: Probe = (ask) =>
  ask.code('GET', '/messages', { anchor: 'date', anchor_date: '2026-11-24', num_before: 1, num_after: 1 })

const range = { num_before: 0, num_after: 10, include_anchor: false, narrow: [] }

const narrowed =
  (narrow: unknown): Probe =>
  async (ask) => {
    const answer = await ask.code('GET', '/messages', { anchor: 'newest', num_before: 1, num_after: 1, narrow })
    return answer
  }

const botRole: Probe = async (ask) => {
  const { user } = await newBot(ask)
  await ask.patch(`/bots/${user.id}`, { role: ROLES.moderator })
  return ask.rig.chat.realm.state.user.get(user.id)!.role
}

const botMovesHouse: Probe = async (ask) => {
  const { user } = await newBot(ask)
  await ask.owner.post('/users/me/subscriptions', { subscriptions: [{ name: 'verona' }], principals: [user.id] })
  await ask.patch(`/bots/${user.id}`, { bot_owner_id: ask.hamlet.user.id })
  return (await ask.owner.get(`/users/${user.id}/subscriptions/${ask.verona.id}`)).is_subscribed
}

const trigger: Probe = async (ask) => {
  const short_name = fresh('bot')
  const bot = { bot_type: 3, payload_url: '"http://hooks.example.org/"', full_name: `Bot ${short_name}`, short_name }
  const { user_id } = await ask.post('/bots', bot)
  await ask.owner.post('/messages', { type: 'direct', to: [user_id], content: 'a question' })
  await ask.rig.chat.botsAnswered()
  return ask.heard.at(-1).trigger
}

const newestFirst: Probe = async (ask) => {
  const channel = fullChannel(ask)
  await outOfTime(ask, `/streams/${channel.id}/delete_topic`, { topic_name: 'many' })
  const { messages } = ask.rig.chat.realm.store
  return messages.newestOf(channel.recipientId)! - messages.oldestOf(channel.recipientId)! < 299
}

/** The right of a group's members to take others out of a channel, which is never more or less. */
const removesOthers: Probe = async (ask) => {
  const { owner, hamlet, cordelia } = ask
  const groupSettings = { can_remove_subscribers_group: group(ask, 'role:members') }
  const channel = newChannel(ask, { groupSettings }, [owner, hamlet, cordelia])
  const principals = [cordelia.user.id]
  return (await ask.delete('/users/me/subscriptions', { subscriptions: [channel.name], principals }, hamlet)).removed
    .length
}

const exported: Probe = async (ask) => {
  ask.advance(8 * 86_400) // so many are made in a week
  return keys(await ask.post('/export/realm'))
}

const exportsByNumber: Probe = async (ask) => {
  ask.advance(8 * 86_400)
  return ask.code('POST', '/export/realm', { export_type: 1 })
}

const invites = (values: object) => (ask: Ask) =>
  ask.post('/invites', { invitee_emails: `${fresh('person')}@example.com`, stream_ids: [ask.verona.id], ...values })
const invitesNowhere: Probe = (ask) =>
  ask.code('POST', '/invites', { invitee_emails: `${fresh('person')}@example.com`, stream_ids: [] })

const reminder = ({ own }: Ask, values: object = {}) => ({
  message_id: own,
  scheduled_delivery_timestamp: 4e9,
  ...values,
})

const scheduled = ({ owner }: Ask) => ({
  type: 'direct',
  to: [owner.user.id],
  content: 'later',
  scheduled_delivery_timestamp: 4e9,
})

const device = () => ({
  token_kind: 'fcm',
  push_account_id: 7,
  push_key: 'AAAA',
  bouncer_public_key: 'AAAA',
  encrypted_push_registration: 'AAAA',
})

const submessage: Probe = async (ask) => {
  const id = await say(ask, ask.closet.id, 'polls', '/poll Lunch?')
  const content = JSON.stringify({ type: 'vote', key: 'canned,0', vote: 1 })
  return ask.code('POST', '/submessage', { message_id: id, msg_type: 'widget', content }, ask.hamlet)
}

const reacts: Probe = async (ask) => {
  const path = `/messages/${hidden(ask)}/reactions`
  const added = await ask.code('POST', path, { emoji_name: 'smile' }, ask.hamlet)
  return [added, await ask.code('DELETE', path, { emoji_name: 'smile' }, ask.hamlet)]
}

const bulk: Probe = (ask) =>
  ask.code('PATCH', '/settings', { enter_sends: true, target_users: { user_ids: [ask.hamlet.user.id] } })

const refusedToAdministrators =
  (method: string, path: string, values: object): Probe =>
  (ask) =>
    ask.code(method, path, { ...values }, ask.admin)

const linkifier: Probe = async (ask) => {
  const word = fresh('word')
  const values = { pattern: `${word}(?P<id>[0-9]+)`, url_format_string: `https://example.com/${word}/%(id)s` }
  const code = await ask.code('POST', '/realm/filters', values)
  const last = (await ask.owner.get('/realm/linkifiers')).linkifiers.at(-1)
  if (code === 'ok') await ask.owner.delete(`/realm/filters/${last.id}`)
  return code === 'ok' ? last.url_template.replace(word, 'x') : code
}

const mandatory: Probe = async (ask) => {
  await ask.patch('/realm', { mandatory_topics: true })
  const policy = realmSetting(organizationOf(ask.rig.chat.realm.state), 'topics_policy')
  await ask.owner.patch('/realm', { topics_policy: 'allow_empty_topic' })
  return policy
}

const members = async (ask: Ask, by: Client, values: object = {}): Promise<Json[]> =>
  (await ask.get('/users', { ...values }, by)).members

export const ENDPOINTS: readonly Item[] = [
  registered(406, 4, 'push_devices'),
  registered(415, 4, 'max_reminder_note_length'),
  registered(410, 4, 'max_channel_folder_name_length', 'max_channel_folder_description_length'),
  registered(397, 4, 'max_bulk_new_subscription_messages'),
  registered(164, 4, 'server_presence_ping_interval_seconds', 'server_presence_offline_threshold_seconds'),
  registered(
    204,
    4,
    'server_typing_started_wait_period_milliseconds',
    'server_typing_stopped_wait_period_milliseconds',
    'server_typing_started_expiry_period_milliseconds',
  ),
  registered(140, 4, 'server_emoji_data_url'),
  registered(110, 4, 'server_web_public_streams_enabled'),
  registered(442, 4, 'tenor_api_key'),
  registered(134, 4, 'user_topics'),
  registered(179, 4, 'scheduled_messages'),
  row(
    119,
    4,
    'other_user_id of unread direct messages',
    async (ask) => 'other_user_id' in (await ask.snapshot()).unread_msgs.pms[0],
    true,
    false,
  ),
  row(
    419,
    4,
    'capability simplified_presence_events',
    registers({ simplified_presence_events: true }, 'presence', ({ presences }) => keys(presences).includes('@')),
    false,
    true,
  ),
  row(
    176,
    4,
    'capability linkifier_url_template',
    registers(null, 'realm_linkifiers', (answer) => answer.realm_linkifiers.length),
    0,
    1,
  ),
  row(
    378,
    4,
    'capability archived_channels',
    registers({ archived_channels: true }, 'stream', ({ streams }) =>
      streams.some(({ is_archived }: Json) => is_archived),
    ),
    true,
    false,
  ),
  row(139, 4, 'GET /events of muting', muting, ['is_muted', 'in_home_view'], ['in_home_view']),
  row(
    116,
    4,
    'GET /server_settings: realm_web_public_access_enabled',
    async (ask) => 'realm_web_public_access_enabled' in (await ask.get('/server_settings')),
    true,
    false,
  ),
  parameters(459, 4, ['actions'], deactivates({ actions: {} })),
  row(
    135,
    4,
    'deactivation_notification_comment',
    async (ask) => {
      const { user } = ask.rig.account(fresh('person'))
      return ask.code('DELETE', `/users/${user.id}`, { deactivation_notification_comment: 'x'.repeat(2001) })
    },
    'REQUEST_VARIABLE_INVALID',
    'ok',
  ),
  row(
    384,
    4,
    'user_ids',
    async (ask) => (await members(ask, ask.owner, { user_ids: [ask.owner.user.id] })).length === 1,
    true,
    false,
  ),
  row(
    437,
    4,
    'placeholders for limited guests',
    async (ask) => (await members(ask, ask.polonius)).some(({ full_name }) => full_name === 'Unknown user'),
    false,
    true,
  ),
  row(
    163,
    4,
    'GET /users/{id}: delivery_email',
    delivery(async (ask) => (await ask.get(`/users/${ask.cordelia.user.id}`, {}, ask.hamlet)).user),
    null,
    'absent',
  ),
  parameters(447, 4, ['short_name'], async (ask) =>
    ask.patch(`/bots/${(await newBot(ask)).user.id}`, { short_name: fresh('bot') }),
  ),
  row(130, 4, 'role of a bot', botRole, ROLES.moderator, ROLES.member),
  same(359, 4, 'a new owner leaves a bot its subscriptions', botMovesHouse, true),
  row(445, 4, 'anchor date', dated, 'ok', 'REQUEST_VARIABLE_INVALID'),
  row(
    155,
    4,
    'include_anchor',
    async (ask) => (await ask.get('/messages', { anchor: ask.own, ...range })).messages[0].id === ask.own,
    false,
    true,
  ),
  row(
    177,
    4,
    'narrow words dm, dm-including, is:dm',
    async (ask) => [
      await narrowed([['is', 'dm']])(ask),
      await narrowed([{ operator: 'dm', operand: [ask.hamlet.user.id] }])(ask),
      await narrowed([['dm-including', ask.hamlet.user.id]])(ask),
      await narrowed([['is', 'private']])(ask),
    ],
    ['ok', 'ok', 'ok', 'ok'],
    ['BAD_NARROW', 'BAD_NARROW', 'BAD_NARROW', 'ok'],
  ),
  row(
    120,
    4,
    'GET /messages/{id}: message',
    async (ask) => 'message' in (await ask.get(`/messages/${ask.own}`)),
    true,
    false,
  ),
  row(
    118,
    4,
    'GET /messages/{id}/history: stream',
    async (ask) =>
      countOf((await ask.get(`/messages/${ask.moved}/history`)).message_history.at(-1), ['stream', 'prev_stream']),
    2,
    1,
  ),
  same(
    354,
    4,
    'read receipts where a group may read',
    (ask) => ask.code('GET', `/messages/${hidden(ask)}/read_receipts`, {}, ask.hamlet),
    'ok',
  ),
  same(354, 4, 'reactions where a group may read', reacts, ['ok', 'ok']),
  row(
    379,
    4,
    'prev_content_sha256',
    async (ask) => {
      const prev_content_sha256 = createHash('sha256').update('something else').digest('hex')
      return ask.code('PATCH', `/messages/${ask.own}`, { content: fresh('words'), prev_content_sha256 })
    },
    'EXPECTATION_MISMATCH',
    'ok',
  ),
  row(152, 4, 'send_notification_to_old_thread', tellsOldTopic, false, true),
  row(172, 4, 'code of a move beyond its time', movesTooMuch, 'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED', 'BAD_REQUEST'),
  row(
    174,
    4,
    'POST /messages: direct',
    (ask) => ask.code('POST', '/messages', { type: 'direct', to: [ask.hamlet.user.id], content: 'words' }),
    'ok',
    'REQUEST_VARIABLE_INVALID',
  ),
  row(372, 4, 'POST /typing: (no topic)', typesWithoutTopic, [''], ['(no topic)']),
  row(
    174,
    4,
    'POST /typing: direct',
    (ask) => ask.code('POST', '/typing', { type: 'direct', op: 'start', to: [ask.hamlet.user.id] }),
    'ok',
    'REQUEST_VARIABLE_INVALID',
  ),
  endpoint(351, 4, 'typing while editing', '/message_edit_typing', ({ own }) => ({ message_id: own, op: 'start' })),
  endpoint(
    361,
    4,
    'typing while editing, by the path',
    ({ own }) => `/messages/${own}/typing`,
    () => ({ op: 'start' }),
  ),
  row(
    355,
    4,
    'ignored_because_not_subscribed_channels',
    async (ask) =>
      'ignored_because_not_subscribed_channels' in
      (await ask.post('/messages/flags', { messages: [ask.own], op: 'add', flag: 'read' })),
    true,
    false,
  ),
  endpoint(155, 4, 'POST /messages/flags/narrow', '/messages/flags/narrow', ({ own }) => ({
    ...range,
    anchor: own,
    op: 'add',
    flag: 'read',
  })),
  row(
    153,
    4,
    'mark_all_as_read: a part is done',
    marksInTime,
    '200 partially_completed complete: false',
    '400 error',
    '200 partially_completed',
  ),
  same(147, 4, 'delete_topic begins with the newest', newestFirst, true),
  row(
    154,
    4,
    'delete_topic: a part is done',
    deletesInTime,
    '200 partially_completed complete: false',
    '400 error',
    '200 partially_completed',
  ),
  row(
    356,
    4,
    'include_all',
    async (ask) => {
      const none = { include_public: false, include_subscribed: false }
      const streams = async (values: object) => (await ask.get('/streams', { ...none, ...values })).streams.length > 0
      return [
        await streams({ include_all: true }),
        await streams({ include_all_active: true }),
        await streams({ include_can_access_content: true }),
      ]
    },
    [true, true, true],
    [false, true, false],
  ),
  row(
    200,
    4,
    'PATCH /streams/{id}: is_default_stream',
    changesChannel(
      'is_default_stream',
      () => true,
      ({ isDefault }) => isDefault,
    ),
    'changed',
    'ignored',
  ),
  row(161, 4, 'PATCH /streams/{id}: can_remove_subscribers_group', setsRemovers, 'changed', 'ignored'),
  parameters(
    407,
    4,
    DELETE_GROUPS,
    changes((ask) => Object.fromEntries(DELETE_GROUPS.map((name) => [name, update(ask, 'role:members')]))),
  ),
  parameters(
    392,
    4,
    ['topics_policy'],
    changes(() => ({ topics_policy: 'disable_empty_topic' })),
  ),
  row(
    397,
    4,
    'send_new_subscription_messages, new_subscription_messages_sent',
    async (ask) => {
      const answer = await subscribes(() => ({ send_new_subscription_messages: false }))(ask)
      return [answer.new_subscription_messages_sent, answer.ignored_parameters_unsupported]
    },
    [false, undefined],
    [undefined, ['send_new_subscription_messages']],
  ),
  row(
    200,
    4,
    'POST /users/me/subscriptions: is_default_stream',
    async (ask) => {
      const name = fresh('channel')
      await ask.post('/users/me/subscriptions', { subscriptions: [{ name }], is_default_stream: true })
      return ask.rig.chat.realm.state.channelByName.get(name)!.isDefault
    },
    true,
    false,
  ),
  same(161, 4, 'DELETE /users/me/subscriptions by a group', removesOthers, 1),
  row(444, 4, 'target_users', bulk, 'ok', 'REQUEST_VARIABLE_INVALID'),
  parameters(189, 4, ['enable_followed_topic_audible_notifications'], (ask) =>
    ask.patch('/realm/user_settings_defaults', { enable_followed_topic_audible_notifications: true }),
  ),
  row(104, 4, 'string_id', (ask) => ask.code('PATCH', '/realm', { string_id: 'other' }), 'BAD_REQUEST', 'ok'),
  row(392, 4, 'mandatory_topics', mandatory, 'allow_empty_topic', 'disable_empty_topic'),
  same(
    143,
    4,
    'settings of the organization for owners',
    refusedToAdministrators('PATCH', '/realm', { invite_required: false }),
    'BAD_REQUEST',
  ),
  row(
    176,
    4,
    'POST /realm/filters: url_format_string',
    linkifier,
    'REQUEST_VARIABLE_MISSING',
    'https://example.com/x/{id}',
  ),
  same(
    143,
    4,
    'POST /realm/domains for owners',
    refusedToAdministrators('POST', '/realm/domains', { domain: 'example.net', allow_subdomains: false }),
    'BAD_REQUEST',
  ),
  row(
    113,
    4,
    'GET /realm/emoji: still_url',
    async (ask) => 'still_url' in Object.values<object>((await ask.get('/realm/emoji')).emoji)[0]!,
    true,
    false,
  ),
  endpoint(416, 4, 'POST /realm/test_welcome_bot_custom_message', '/realm/test_welcome_bot_custom_message', () => ({
    welcome_message_custom_text: 'Welcome',
  })),
  row(449, 4, 'POST /export/realm: export_type', exportsByNumber, 'REQUEST_VARIABLE_INVALID', 'ok'),
  row(182, 4, 'POST /export/realm: id', exported, 'id msg result', 'msg result'),
  row(449, 4, 'GET /export/realm: export_type', exportTypes, ['public', 'full_without_consent'], [1, 3]),
  row(443, 4, 'GET /attachments', attachmentTimes, ['seconds', 'seconds'], ['milliseconds', 'milliseconds']),
  parameters(416, 4, ['welcome_message_custom_text'], invites({ welcome_message_custom_text: 'Welcome' })),
  row(157, 4, 'POST /invites without channels, in an older release', invitesNowhere, 'ok', 'REQUEST_VARIABLE_INVALID'),
  row(180, 4, 'POST /invites without channels', invitesNowhere, 'ok', 'REQUEST_VARIABLE_INVALID'),
  endpoint(381, 4, 'POST /reminders', '/reminders', reminder),
  parameters(415, 4, ['note'], (ask) => ask.post('/reminders', reminder(ask, { note: 'soon' }))),
  endpoint(
    382,
    4,
    'POST /message/{id}/report',
    ({ own }) => `/message/${own}/report`,
    () => ({ report_type: 'spam' }),
    'BAD_REQUEST',
  ),
  endpoint(
    407,
    4,
    'POST /users/{id}/status',
    ({ hamlet }) => `/users/${hamlet.user.id}/status`,
    () => ({ status_text: fresh('away') }),
  ),
  same(148, 4, 'POST /users/me/status: away', away, false),
  endpoint(406, 4, 'POST /mobile_push/register', '/mobile_push/register', device, 'PUSH_SERVICE_NOT_CONFIGURED'),
  endpoint(179, 4, 'POST /scheduled_messages', '/scheduled_messages', scheduled),
  row(
    181,
    4,
    'GET /scheduled_messages: failed',
    async (ask) => 'failed' in (await ask.get('/scheduled_messages')).scheduled_messages[0],
    true,
    false,
  ),
  same(354, 4, 'POST /submessage where a group may read', submessage, 'ok'),
  row(201, 4, 'trigger of an outgoing webhook', trigger, 'direct_message', 'private_message'),
  row(160, 4, 'POST /jwt/fetch_api_key', jwt, 'BAD_REQUEST', 'NOT_FOUND'),
  row(
    167,
    4,
    'ignored_parameters_unsupported',
    async (ask) => (await ask.get('/users/me', { nonsense: 1 })).ignored_parameters_unsupported,
    ['nonsense'],
    undefined,
  ),
  row(160, 5, 'signing in by a token', jwt, 'BAD_REQUEST', 'NOT_FOUND'),
]
