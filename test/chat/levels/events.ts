import {
  archiving,
  fresh,
  type Item,
  type Json,
  kinds,
  movesTooMuch,
  muting,
  newChannel,
  type Probe,
  row,
  same,
  say,
} from './probes.ts'
import type { Ask } from './rig.ts'

const sorted = (events: readonly Json[]): string[] => kinds(events).sort()

const DEVICE = { token_kind: 'fcm', push_key: 'AAAA', bouncer_public_key: 'AAAA', encrypted_push_registration: 'AAAA' }
const registersDevice: Probe = async (ask) => {
  const device = { ...DEVICE, push_account_id: 8 }
  const events = await ask.events(['push_device'], () => ask.owner.call('POST', '/mobile_push/register', device))
  return events.map(({ push_account_id }) => push_account_id)
}

const deletes: Probe = async (ask) => {
  const { owner, hamlet, cordelia } = ask
  const channel = newChannel(ask, { isPrivate: true }, [owner, hamlet])
  const id = await say(ask, channel.id, 'words')
  const heard: string[][] = []
  const listen = async (): Promise<void> => {
    const own = () => owner.delete(`/messages/${id}`)
    const others = async () => heard.push(kinds(await ask.events(['delete_message'], own, { by: cordelia })))
    heard.push(kinds(await ask.events(['delete_message'], others, { by: hamlet })))
  }
  await listen()
  return heard
}

const expires: Probe = async (ask) => {
  const channel = newChannel(ask, { messageRetentionDays: 1 })
  await say(ask, channel.id, 'words')
  ask.advance(2 * 86_400)
  return kinds(await ask.events(['delete_message'], () => ask.rig.chat.expireOld()))
}

const presence: Probe = async (ask) => {
  ask.advance(3600)
  const events = await ask.events(['presence'], () => ask.hamlet.post('/users/me/presence', { status: 'active' }))
  return 'presences' in events[0] ? 'modern' : 'legacy'
}

const reorders: Probe = async (ask) => {
  const { owner } = ask
  for (const word of ['one', 'other']) await owner.post('/channel_folders/create', { name: fresh(word) })
  const { channel_folders } = await owner.get('/channel_folders', { include_archived: true })
  const order = channel_folders.map(({ id }: Json) => id)
  return kinds(
    await ask.events(['channel_folder'], () => owner.patch('/channel_folders', { order: order.toReversed() })),
  )
}

const schedules: Probe = async (ask) => {
  const later = { type: 'direct', to: [ask.owner.user.id], content: 'later', scheduled_delivery_timestamp: 4e9 }
  return kinds(await ask.events(['scheduled_messages'], () => ask.owner.post('/scheduled_messages', later)))
}

const typesEdit: Probe = async (ask) => {
  const start = () => ask.owner.post(`/messages/${ask.own}/typing`, { op: 'start' })
  return kinds(await ask.events(['typing_edit_message'], start, { by: ask.hamlet }))
}

const edits = async (ask: Ask): Promise<Json> => {
  const [event] = await ask.events(['update_message'], () =>
    ask.owner.patch(`/messages/${ask.own}`, { content: fresh('words') }),
  )
  return event
}

const mark = (ask: Ask, op: 'add' | 'remove', messages = [ask.own]) =>
  ask.hamlet.post('/messages/flags', { messages, op, flag: 'read' })

const marksOne: Probe = async (ask) => {
  const other = await say(ask, ask.verona.id, 'words')
  await mark(ask, 'add')
  const marking = () => mark(ask, 'add', [ask.own, other])
  const [event] = await ask.events(['update_message_flags'], marking, { by: ask.hamlet })
  return event.messages.length
}

const unmarks: Probe = async (ask) => {
  await mark(ask, 'add')
  const [event] = await ask.events(['update_message_flags'], () => mark(ask, 'remove'), { by: ask.hamlet })
  return 'message_details' in event
}

const mutes: Probe = async (ask) => {
  const setTo = (visibility_policy: number) =>
    ask.owner.post('/user_topics', { stream_id: ask.verona.id, topic: 'chatter', visibility_policy })
  const events = await ask.events(null, () => setTo(1))
  await setTo(0)
  return kinds(events)
}

/** A channel of two becomes public, told to somebody else. */
const opens =
  (type: string): Probe =>
  async (ask) => {
    const { owner, hamlet, cordelia } = ask
    const channel = newChannel(ask, { isPrivate: true }, [owner, hamlet])
    const open = () => owner.patch(`/streams/${channel.id}`, { is_private: false })
    return sorted(await ask.events([type], open, { by: cordelia }))
  }

const admitsGuest: Probe = async (ask) => {
  const { name } = newChannel(ask)
  const principals = [ask.polonius.user.id]
  const subscribe = () => ask.owner.post('/users/me/subscriptions', { subscriptions: [{ name }], principals })
  return sorted(await ask.events(['stream', 'subscription'], subscribe, { by: ask.polonius }))
}

const deactivates =
  (isArchived: boolean): Probe =>
  async (ask) => {
    const person = ask.rig.account(fresh('person'))
    newChannel(ask, { isArchived }, [ask.owner, person])
    const events = await ask.events(['subscription'], () => ask.owner.delete(`/users/${person.user.id}`))
    return kinds(events)
  }

const orders: Probe = async (ask) => {
  const order = () => ask.owner.patch('/realm/linkifiers', { ordered_linkifier_ids: [1] })
  return kinds(await ask.events(['realm_filters', 'realm_linkifiers'], order))
}

/** A setting of how it looks, and one of notifications, by a client of before the object. */
const legacySettings: Probe = async (ask) => {
  const types = ['user_settings', 'update_display_settings', 'update_global_notifications']
  const change = async (value: boolean) => {
    await ask.hamlet.patch('/settings', { high_contrast_mode: value })
    await ask.hamlet.patch('/settings', { enable_sounds: !value })
  }
  const options = { by: ask.hamlet, can: { user_settings_object: false } }
  const events = await ask.events(types, () => change(true), options)
  await change(false)
  return events.map(({ type, property, setting_name, notification_name }) => [
    type,
    property ?? setting_name ?? notification_name,
  ])
}

const protectsPublic: Probe = (ask) =>
  ask.code('PATCH', `/streams/${newChannel(ask).id}`, { is_private: false, history_public_to_subscribers: false })

const PEER_REMOVE = ['subscription/peer_remove']

export const EVENTS: readonly Item[] = [
  same(457, 6, 'delete_message to those with access', deletes, [[], ['delete_message']]),
  row(452, 6, 'delete_message of retention', expires, ['delete_message'], []),
  row(406, 6, 'push_device', registersDevice, [8], [], ['8']),
  row(450, 6, 'push_device: push_account_id', registersDevice, [8], ['8']),
  row(419, 6, 'presence: presences', presence, 'modern', 'legacy'),
  row(418, 6, 'channel_folder reorder', reorders, ['channel_folder/reorder'], []),
  row(179, 6, 'scheduled_messages', schedules, ['scheduled_messages/add'], [], ['scheduled_messages/add']),
  row(351, 6, 'typing_edit_message', typesEdit, ['typing_edit_message/start'], []),
  row(114, 6, 'update_message: rendering_only', async (ask) => 'rendering_only' in (await edits(ask)), true, false),
  row(112, 6, 'update_message of an edit: stream_id', async (ask) => 'stream_id' in (await edits(ask)), true, false),
  same(155, 6, 'update_message_flags of what has changed', marksOne, 1),
  row(121, 6, 'update_message_flags: message_details', unmarks, true, false),
  row(134, 6, 'user_topic', mutes, ['user_topic'], ['muted_topics']),
  row(134, 6, 'peer_add to a channel that becomes public', opens('subscription'), ['subscription/peer_add'], []),
  row(
    192,
    6,
    'peer and channel events to guests',
    admitsGuest,
    ['stream/create', 'subscription/add'],
    ['subscription/add'],
  ),
  row(377, 6, 'peer_remove of deactivated accounts', deactivates(false), PEER_REMOVE, []),
  row(428, 6, 'peer_remove of archived channels', deactivates(true), PEER_REMOVE, []),
  row(139, 6, 'is_muted and in_home_view', muting, ['is_muted', 'in_home_view'], ['in_home_view']),
  row(134, 6, 'stream create of a channel that becomes public', opens('stream'), ['stream/create'], []),
  row(378, 6, 'archiving is an update', archiving, ['stream/update'], ['stream/delete']),
  row(176, 6, 'realm_linkifiers', orders, ['realm_linkifiers'], ['realm_linkifiers', 'realm_filters']),
  row(
    439,
    6,
    'update_display_settings, update_global_notifications',
    legacySettings,
    [
      ['user_settings', 'high_contrast_mode'],
      ['user_settings', 'enable_sounds'],
    ],
    [
      ['user_settings', 'high_contrast_mode'],
      ['update_display_settings', 'high_contrast_mode'],
      ['user_settings', 'enable_sounds'],
      ['update_global_notifications', 'enable_sounds'],
    ],
  ),
  row(172, 7, 'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED', movesTooMuch, 'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED', 'BAD_REQUEST'),
  row(136, 7, 'a public channel with protected history', protectsPublic, 'BAD_REQUEST', 'ok'),
]
