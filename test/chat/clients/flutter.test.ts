/**
 * The official app: its generated decoders, read from its sources, over the answers and events of the service. They are in no registry of
 * packages: ZULIP_FLUTTER names a checkout of its sources, and without it they are not run. Contract section 10.2.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { learnChannels, Random, step, type World } from '../model/operations.ts'
import { type Client, OWNER_PASSWORD } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'
import { type App, readApp } from './flutter.ts'

const SOURCES = process.env.ZULIP_FLUTTER ?? ''
const skip = SOURCES === '' && 'to run this: ZULIP_FLUTTER=directory of the sources of github.com/zulip/zulip-flutter'
const STEPS = 400

/** Decoders of thumbnails, of further means of sign-in, and of what comes through a relay for push: there are none. */
const NOT_REACHED =
  /^(?:ThumbnailFormat|ExternalAuthenticationMethod|\w*(?:Fcm|Apns|Notification|Notif|PushMessage)\w*)$/

/** As it registers. */
const REGISTRATION = {
  idle_queue_timeout: JSON.stringify('mobile'),
  apply_markdown: true,
  client_gravatar: false,
  slim_presence: true,
  client_capabilities: {
    notification_settings_null: true,
    bulk_message_deletion: true,
    user_avatar_url_field_optional: true,
    stream_typing_notifications: true,
    user_settings_object: true,
    include_deactivated_groups: true,
    empty_topic_name: true,
    individual_emoji_changes: true,
  },
}
/** As a version of it before levels 357 and 491. */
const FORMER = {
  ...REGISTRATION,
  client_capabilities: {
    ...REGISTRATION.client_capabilities,
    include_deactivated_groups: false,
    individual_emoji_changes: false,
  },
}

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' }, { heartbeatMs: () => 20 })
const picture = png(20, [[200, 0, 0]], () => new Uint8Array(20))

test('the app decodes every answer that it asks for, and every event', { skip }, async () => {
  const app = readApp(SOURCES)
  const { decoders } = app
  await furnish()
  const queues = [await hamlet.register(REGISTRATION), await hamlet.register(FORMER)]
  const { queue_id } = await hamlet.post('/register', { ...REGISTRATION, event_types: [] })
  const beats = await hamlet.get('/events', { queue_id, last_event_id: -1 })
  decoders.decode('GetEventsResult', beats)
  await act()
  await live()
  for (const queue of queues) {
    const { snapshot } = queue
    decoders.decode('InitialSnapshot', snapshot)
    for (const { type, field_data } of snapshot.custom_profile_fields) {
      const data = field_data === '' ? {} : JSON.parse(field_data)
      if (type === 3) for (const item of Object.values(data)) decoders.decode('CustomProfileFieldChoiceDataItem', item)
      if (type === 7) decoders.decode('CustomProfileFieldExternalAccountData', data)
    }
    const events = await queue.events()
    assert.ok(events.length > 100)
    for (const event of events) decodes(app, event)
  }
  for (const client of [hamlet, rig.owner]) await readAll(app, client)
  const unused = decoders.names.filter((name) => !decoders.used.has(name) && !NOT_REACHED.test(name))
  assert.deepEqual(unused, [])
})

function decodes(app: App, event: Record<string, unknown>): void {
  try {
    app.event(event)
  } catch (error) {
    throw new Error(`${(error as Error).message}: ${JSON.stringify(event)}`)
  }
}

/** Fills the organization, so that no list of a register answer is empty. */
async function furnish(): Promise<void> {
  const { owner } = rig
  changeOperatorSettings(rig.chat.realm, { ownerFullContentAccess: true })
  await owner.patch('/realm', { enable_read_receipts: true })
  await owner.upload('POST', '/realm/emoji/square', picture)
  const gone = rig.account('yorick')
  await owner.delete(`/users/${gone.user.id}`)
  for (const field of [
    { field_type: 1, name: 'Rank', hint: 'h', display_in_profile_summary: true },
    { field_type: 3, name: 'Side', field_data: JSON.stringify({ a: { text: 'A', order: '1' } }) },
    { field_type: 7, field_data: JSON.stringify({ subtype: 'github' }) },
  ])
    await owner.post('/realm/profile_fields', field)
  const [{ id }] = (await owner.get('/realm/profile_fields')).custom_fields
  await hamlet.patch('/users/me/profile_data', { data: [{ id, value: 'prince' }] })
  const { channel_folder_id } = await owner.post('/channel_folders/create', { name: 'First', description: '*d*' })
  for (const name of ['denmark', 'england'])
    await hamlet.post('/users/me/subscriptions', {
      subscriptions: [{ name, description: '*about* it' }],
      principals: [hamlet.user.id, ophelia.user.id, owner.user.id],
      can_send_message_group: {
        direct_members: [hamlet.user.id, ophelia.user.id, owner.user.id],
        direct_subgroups: [],
      },
    })
  const { id: denmark } = rig.chat.realm.state.channelByName.get('denmark')!
  await owner.patch(`/streams/${denmark}`, { folder_id: channel_folder_id })
  await hamlet.post('/saved_snippets', { title: 'T', content: 'C' })
  await hamlet.post('/register_client_device')
  await hamlet.post('/users/me/alert_words', { alert_words: ['ghost'] })
  await hamlet.post(`/users/me/muted_users/${gone.user.id}`)
  await hamlet.post('/user_topics', { stream_id: denmark, topic: 'rotten', visibility_policy: 3 })
  await ophelia.post('/users/me/presence', { status: 'active' })
  await ophelia.post('/users/me/status', { status_text: 'gone', emoji_name: 'car' })
  const send = (to: number | number[], content: string, topic = 'rotten') =>
    ophelia.post('/messages', { type: typeof to === 'number' ? 'channel' : 'direct', to, topic, content })
  await send(denmark, '@**Hamlet Test** state ghost')
  await send(denmark, 'no topic', '')
  await send([hamlet.user.id], 'my lord')
  const { id: both } = await send([hamlet.user.id, owner.user.id], 'both')
  await hamlet.post('/messages/flags', { messages: [both], op: 'add', flag: 'starred' })
  await ophelia.post(`/messages/${both}/reactions`, { emoji_name: 'square', reaction_type: 'realm_emoji' })
  const { id: poll } = await send(denmark, '/poll To be?\nyes\nno')
  const vote = { message_id: poll, msg_type: 'widget' }
  await hamlet.post('/submessage', { ...vote, content: '{"type":"vote","key":"canned,0","vote":1}' })
  await hamlet.post('/submessage', { ...vote, content: '{"type":"new_option","idx":2,"option":"maybe"}' })
  await ophelia.post('/submessage', { ...vote, content: '{"type":"question","question":"Or not?"}' })
  await ophelia.post('/bots', { full_name: 'Ghost', short_name: 'ghost' })
}

/** Something of every event that its decoders know. */
async function act(): Promise<void> {
  const { owner } = rig
  const { state } = rig.chat.realm
  const { id: channel } = state.channelByName.get('denmark')!
  await owner.upload('POST', '/realm/emoji/round', picture)
  await owner.delete('/realm/emoji/round')
  await hamlet.post('/users/me/alert_words', { alert_words: ['arras'] })
  for (const settings of [
    { emojiset: 'text', twenty_four_hour_time: true, starred_message_counts: false, timezone: 'Europe/Copenhagen' },
    { display_emoji_reaction_users: false, web_inbox_show_channel_folders: false, presence_enabled: false },
    { presence_enabled: true, email_address_visibility: 2, default_language: 'de' },
  ])
    await hamlet.patch('/settings', settings)
  const { device_id } = await hamlet.post('/register_client_device')
  const push = {
    push_key_id: 7,
    push_key: Buffer.from([0x31, ...new Uint8Array(32)]).toString('base64'),
    token_kind: 'fcm',
    token_id: 'AAAAAAAAAAA=',
    bouncer_public_key: 'AAAA',
    encrypted_push_registration: 'AAAA',
  }
  await hamlet.refused('PUSH_SERVICE_NOT_CONFIGURED', 'POST', '/mobile_push/register', { device_id, ...push })
  await hamlet.post('/remove_client_device', { device_id })
  await owner.post('/realm/profile_fields', { field_type: 8, name: 'Pronouns' })

  const { user_id } = await owner.post('/users', {
    email: 'l@example.com',
    full_name: 'Laer',
    password: 'a password of L',
  })
  await owner.patch(`/users/${user_id}`, { full_name: 'Laertes', role: ROLES.moderator, new_email: 'm@example.com' })
  const fields = (await owner.get('/realm/profile_fields')).custom_fields
  await owner.patch(`/users/${user_id}`, { profile_data: [{ id: fields[0].id, value: 'brother' }] })
  await owner.delete(`/users/${user_id}`)
  await hamlet.upload('POST', '/users/me/avatar', picture)
  const { user_id: bot } = await hamlet.post('/bots', { full_name: 'Spirit', short_name: 'spirit' })
  await owner.patch(`/bots/${bot}`, { bot_owner_id: ophelia.user.id })

  const group = async (name: string) =>
    (await owner.post('/user_groups/create', { name, description: 'd', members: [hamlet.user.id] })).group_id
  const [players, crew] = [await group('players'), await group('crew')]
  await owner.patch(`/user_groups/${players}`, { name: 'actors', description: 'e' })
  await owner.post(`/user_groups/${players}/members`, { add: [ophelia.user.id], delete: [hamlet.user.id] })
  await owner.post(`/user_groups/${players}/subgroups`, { add: [crew] })
  await owner.post(`/user_groups/${players}/subgroups`, { delete: [crew] })
  await owner.post(`/user_groups/${players}/deactivate`)

  const { saved_snippet_id: snippet } = await hamlet.post('/saved_snippets', { title: 'S', content: 'x' })
  await hamlet.patch(`/saved_snippets/${snippet}`, { title: 'R' })
  await hamlet.delete(`/saved_snippets/${snippet}`)

  const { channel_folder_id: folder } = await owner.post('/channel_folders/create', { name: 'G', description: '' })
  const folders = (await owner.get('/channel_folders')).channel_folders.map(({ id }: { id: number }) => id)
  await owner.patch('/channel_folders', { order: folders.reverse() })
  await owner.patch(`/channel_folders/${folder}`, { name: 'H', description: '*h*' })
  await owner.patch(`/channel_folders/${folder}`, { is_archived: true })

  const both = [hamlet.user.id, ophelia.user.id]
  await ophelia.post('/users/me/subscriptions', { subscriptions: [{ name: 'brook' }], principals: both })
  const { id: brook } = state.channelByName.get('brook')!
  const properties = { color: '#aabbcc', is_muted: true, pin_to_top: true, desktop_notifications: false }
  const subscription_data = Object.entries(properties).map(([property, value]) => ({
    stream_id: brook,
    property,
    value,
  }))
  await hamlet.post('/users/me/subscriptions/properties', { subscription_data })
  for (const change of [
    { new_name: 'river', description: '*deep*' },
    { topics_policy: 'disable_empty_topic', message_retention_days: 30 },
    { can_subscribe_group: { new: { direct_members: [hamlet.user.id], direct_subgroups: [] } } },
    { folder_id: folders.at(-1) },
    { is_private: true },
  ])
    await owner.patch(`/streams/${brook}`, change)

  rig.advance(1000)
  await ophelia.post('/users/me/presence', { status: 'active' })
  await ophelia.post('/users/me/status', { status_text: '', emoji_name: '' })
  await hamlet.post('/user_topics', { stream_id: channel, topic: 'flowers', visibility_policy: 1 })
  await hamlet.post('/user_topics', { stream_id: channel, topic: 'flowers', visibility_policy: 0 })
  const { user } = rig.account('osric')
  await hamlet.post(`/users/me/muted_users/${user.id}`)

  const to = { type: 'channel', to: channel, topic: 'flowers' }
  const { id } = await ophelia.post('/messages', { ...to, content: 'https://a.example rosemary' })
  const { id: direct } = await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'pansies' })
  await ophelia.patch(`/messages/${id}`, { content: 'for remembrance' })
  for (const flag of ['starred', 'read', 'collapsed', 'hide_link_previews'])
    for (const op of ['add', 'remove', 'add'])
      await hamlet.post('/messages/flags', { messages: [id, direct], op, flag })
  await ophelia.patch(`/messages/${id}`, { content: 'that is for remembrance' })
  await owner.patch(`/messages/${id}`, { topic: 'herbs', propagate_mode: 'change_all' })
  await owner.patch(`/messages/${id}`, { stream_id: state.channelByName.get('england')!.id })
  await ophelia.post(`/messages/${id}/reactions`, { emoji_name: 'car' })
  await ophelia.delete(`/messages/${id}/reactions`, { emoji_name: 'car' })
  const { id: poll } = await ophelia.post('/messages', { ...to, content: '/poll Not?' })
  await ophelia.post('/submessage', {
    message_id: poll,
    msg_type: 'widget',
    content: '{"type":"new_option","idx":1,"option":"o"}',
  })
  await ophelia.post('/typing', { op: 'start', type: 'direct', to: [hamlet.user.id] })
  await ophelia.post('/typing', { op: 'stop', type: 'stream', stream_id: channel, topic: 'x' })
  await owner.delete(`/messages/${id}`)
  await ophelia.delete(`/messages/${direct}`)
  await ophelia.delete('/users/me/subscriptions', { subscriptions: ['river'] })
  await hamlet.delete('/users/me/subscriptions', { subscriptions: ['river'] })
  await owner.delete(`/streams/${brook}`)
}

/** Random use by everybody. */
async function live(): Promise<void> {
  const clients = [rig.owner, hamlet, ophelia, rig.account('polonius', ROLES.guest)]
  const users = clients.map(({ user }) => user.id)
  const counts = { done: new Map(), refused: new Map() }
  const world: World = { random: new Random(5), clients, messages: [], channels: [], users, ...counts, log: [] }
  await learnChannels(world)
  for (let count = 0; count < STEPS; count++) {
    await step(world)
    rig.advance(3)
  }
}

async function readAll({ decoders }: App, client: Client): Promise<void> {
  const decode = (name: string, answer: unknown) => decoders.decode(name, answer)
  const { body: settings } = await rig.anonymous('GET', '/server_settings')
  decode('GetServerSettingsResult', settings)
  const credentials = { username: 'olivia@example.com', password: OWNER_PASSWORD }
  decode('FetchApiKeyResult', (await rig.anonymous('POST', '/fetch_api_key', credentials)).body)
  const { snapshot } = await client.register(REGISTRATION)
  decode('InitialSnapshot', snapshot)
  decode('SupportedPermissionSettings', snapshot.server_supported_permission_settings)
  const emoji = await rig.chat.api.request(new URL(snapshot.server_emoji_data_url, 'http://chat.example').href)
  decode('ServerEmojiData', await emoji.json())
  decode('GetOwnUserResult', await client.get('/users/me'))
  for (const apply_markdown of [true, false]) {
    const query = { anchor: 'newest', num_before: 1000, num_after: 0, apply_markdown, allow_empty_topic_name: true }
    const range = await client.get('/messages', query)
    decode('GetMessagesResult', range)
    for (const { id } of range.messages.slice(-5))
      decode('GetMessageResult', await client.get(`/messages/${id}`, { apply_markdown, allow_empty_topic_name: true }))
  }
  const search = [{ operator: 'search', operand: 'state' }]
  decode(
    'GetMessagesResult',
    await client.get('/messages', { anchor: 'newest', num_before: 9, num_after: 0, narrow: search }),
  )
  for (const { stream_id } of snapshot.subscriptions)
    decode(
      'GetChannelTopicsResult',
      await client.get(`/users/me/${stream_id}/topics`, { allow_empty_topic_name: true }),
    )
  const { id } = await client.post('/messages', { type: 'direct', to: [client.user.id], content: 'to be read' })
  decode('SendMessageResult', { id })
  decode('GetReadReceiptsResult', await client.get(`/messages/${id}/read_receipts`))
  decode('UpdateMessageResult', await client.patch(`/messages/${id}`, { content: 'edited' }))
  const flag = { messages: [id], op: 'add', flag: 'read' }
  decode('UpdateMessageFlagsResult', await client.post('/messages/flags', flag))
  const narrow = { anchor: 'oldest', num_before: 0, num_after: 9, narrow: [], op: 'add', flag: 'read' }
  decode('UpdateMessageFlagsForNarrowResult', await client.post('/messages/flags/narrow', narrow))
  const { body: upload } = await client.upload('POST', '/user_uploads', picture)
  decode('UploadFileResult', upload)
  const authorization = `Basic ${Buffer.from(`${client.user.email}:${client.key}`).toString('base64')}`
  const headers = { authorization, host: 'chat.example', 'user-agent': 'test/1.0' }
  const temporary = await rig.chat.api.request(`http://chat.example/api/v1${upload.url}`, { headers })
  decode('GetFileTemporaryUrlResult', await temporary.json())
  const presence = { status: 'active', new_user_input: true, last_update_id: -1, history_limit_days: 7 }
  decode('UpdatePresenceResult', await client.post('/users/me/presence', presence))
  decode('RegisterClientDeviceResult', await client.post('/register_client_device'))
  decode('CreateSavedSnippetResult', await client.post('/saved_snippets', { title: 'a', content: 'b' }))
}
