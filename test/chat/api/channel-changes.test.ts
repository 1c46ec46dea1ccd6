/** Changing channels: contract row E44, sections 7.1, 7.2 and 7.5, V41 to V43, V47; E47 and E60. */

import assert from 'node:assert/strict'
import { beforeEach, describe, it } from 'node:test'
import type { Channel } from '../../../firmware/chat/realm/model/records.ts'
import type { SystemGroupName } from '../../../firmware/chat/realm/model/roles.ts'
import { organizationOf } from '../../../firmware/chat/realm/model/state.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, admin, hamlet, cordelia, polonius } = await chatSuite({
  admin: 'administrator',
  hamlet: 'member',
  cordelia: 'member',
  polonius: 'guest',
})
const olivia = rig.owner
let channel: Channel
let count = 0
beforeEach(() => {
  channel = make()
})

const make = (values: Partial<Channel> = {}, members: Client[] = [hamlet, polonius]): Channel =>
  rig.channel(`channel ${count++}`, members, { creatorId: hamlet.user.id, ...values })

const idOf = (name: SystemGroupName): number => rig.chat.realm.state.groupByName.get(name)!.id
const now = ({ id }: Channel): Channel => rig.chat.realm.state.channel.get(id)!
const path = ({ id }: Channel): string => `/streams/${id}`
// biome-ignore lint/suspicious/noExplicitAny: events of any kind
const withoutIds = (events: any[]) => events.map(({ id: _, ...event }) => event)
const update = ({ id, name }: Channel, property: string, value: unknown, more = {}) => ({
  type: 'stream',
  op: 'update',
  stream_id: id,
  name,
  property,
  value,
  ...more,
})
const set = (settings: Record<string, boolean>): void =>
  rig.chat.realm.transaction((turn) => {
    const organization = organizationOf(rig.chat.realm.state)
    turn.put('organization', { ...organization, settings: { ...organization.settings, ...settings } })
  })

describe('PATCH /streams/:stream_id: a channel is changed', () => {
  it('in its privacy by those alone who may make such a channel (7.2)', async () => {
    const { realm } = rig.chat
    const organization = organizationOf(realm.state)
    const allow = (groupSettings: Record<string, number>): void =>
      realm.transaction((turn) => turn.put('organization', { ...organization, groupSettings }))
    const becomes = async (values: object): Promise<void> => {
      await hamlet.patch(path(channel), { ...values })
    }
    const refuse = async (values: object): Promise<void> => {
      const { body } = await hamlet.refused('BAD_REQUEST', 'PATCH', path(channel), { ...values })
      assert.equal(body.msg, 'Insufficient permission')
    }
    const nobody = idOf('role:nobody')
    allow({ can_create_private_channel_group: nobody })
    await refuse({ is_private: true })
    await becomes({ is_private: false, description: 'As it is' })
    allow({ can_create_public_channel_group: nobody })
    await becomes({ is_private: true })
    await refuse({ is_private: false })
    await becomes({ is_private: true, history_public_to_subscribers: true })
    allow({})
    await becomes({ is_private: false })
    realm.transaction((turn) => turn.put('organization', organization))
  })

  it('in name, description, policy, retention and folder, which everybody who sees it is told', async () => {
    const { channel_folder_id: folder } = await olivia.post('/channel_folders/create', { name: `folder ${count}` })
    const queue = await polonius.register({ event_types: ['stream', 'channel_folder'] })
    const outside = await cordelia.register({ event_types: ['stream'] })
    await hamlet.patch(path(channel), { new_name: ' Elsinore ', description: 'The  castle\nof *Denmark*' })
    await hamlet.patch(path(channel), { topics_policy: 'disable_empty_topic', folder_id: folder })
    await olivia.patch(path(channel), { message_retention_days: 30 })
    await olivia.patch(path(channel), { message_retention_days: 'realm_default', folder_id: null })
    await hamlet.patch(path(channel), { new_name: 'Elsinore', description: 'The  castle of *Denmark*' })
    const renamed = { ...channel, name: 'Elsinore' }
    const events = withoutIds(await queue.events())
    const changes = [
      update(channel, 'name', 'Elsinore'),
      update(channel, 'description', 'The  castle of *Denmark*', {
        rendered_description: '<p>The  castle of <em>Denmark</em></p>',
      }),
      update(renamed, 'topics_policy', 'disable_empty_topic'),
      update(renamed, 'folder_id', folder),
      update(renamed, 'message_retention_days', 30),
      update(renamed, 'message_retention_days', null),
      update(renamed, 'folder_id', null),
    ]
    assert.deepEqual(
      events.filter(({ type }) => type === 'stream'),
      changes,
    )
    assert.deepEqual(
      events.filter(({ type }) => type === 'channel_folder').map(({ op, channel_folder }) => [op, channel_folder.id]),
      [['add', folder]],
    )
    assert.deepEqual(withoutIds(await outside.events()), changes)
    const { stream } = await polonius.get(path(channel))
    assert.equal(stream.name, 'Elsinore')
    assert.equal(stream.topics_policy, 'disable_empty_topic')
    await hamlet.patch(path(channel), { new_name: 'ELSINORE' })
    const other = make()
    await hamlet.refused('BAD_REQUEST', 'PATCH', path(other), { new_name: 'elsinore' })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path(other), { new_name: ' ' })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path(other), { new_name: 'x'.repeat(61) })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path(other), { description: 'x'.repeat(1025) })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path(other), { folder_id: 9999 })
    rig.reopen()
    assert.equal(now(channel).name, 'ELSINORE')
  })

  it('can be changed by its administrators; some changes need more rights', async () => {
    await cordelia.refused('CANNOT_ADMINISTER_CHANNEL', 'PATCH', path(channel), { new_name: 'mine' })
    await polonius.refused('CANNOT_ADMINISTER_CHANNEL', 'PATCH', path(channel), { new_name: 'mine' })
    await polonius.refused('BAD_REQUEST', 'PATCH', path(make({}, [])), { new_name: 'mine' })
    await admin.patch(path(channel), { new_name: `theirs ${count}` })
    for (const values of [{ message_retention_days: 5 }, { is_default_stream: true }])
      assert.equal((await hamlet.refused('BAD_REQUEST', 'PATCH', path(channel), values)).status, 403)
    assert.equal(
      (await admin.refused('BAD_REQUEST', 'PATCH', path(channel), { message_retention_days: 5 })).status,
      403,
    )
    const moderators = { new: idOf('role:moderators') }
    for (const name of ['can_delete_any_message_group', 'can_delete_own_message_group']) {
      assert.equal((await hamlet.refused('BAD_REQUEST', 'PATCH', path(channel), { [name]: moderators })).status, 403)
      await admin.patch(path(channel), { [name]: moderators })
    }
    await olivia.patch(path(channel), { message_retention_days: 'unlimited' })
    assert.equal(now(channel).messageRetentionDays, -1)
  })

  it('that is private only in what gives no access, by administrators who cannot read it', async () => {
    const secret = make({ isPrivate: true, historyPublicToSubscribers: false }, [hamlet])
    await admin.patch(path(secret), { description: 'hidden' })
    for (const values of [
      { is_private: false },
      { history_public_to_subscribers: true },
      { can_subscribe_group: { new: idOf('role:members') } },
    ]) {
      const { body } = await admin.refused('BAD_REQUEST', 'PATCH', path(secret), values)
      assert.equal(body.msg, 'Channel content access is required.')
    }
    const hidden = await cordelia.refused('BAD_REQUEST', 'PATCH', path(secret), { new_name: 'x' })
    assert.deepEqual(hidden.body, (await cordelia.refused('BAD_REQUEST', 'PATCH', '/streams/9999', {})).body)
  })

  it('from public to private and back: who loses it is told that it is gone, who gains it all that it has', async () => {
    const [inside, outside] = await Promise.all(
      [hamlet, cordelia].map((client) => client.register({ event_types: ['stream', 'subscription'] })),
    )
    const { id } = channel
    await hamlet.patch(path(channel), { is_private: true })
    assert.equal(now(channel).historyPublicToSubscribers, false)
    await hamlet.patch(path(channel), { history_public_to_subscribers: true })
    await hamlet.patch(path(channel), { is_private: false })
    const access = (isPrivate: boolean, history: boolean) =>
      update(channel, 'invite_only', isPrivate, { history_public_to_subscribers: history, is_web_public: false })
    assert.deepEqual(withoutIds(await inside!.events()), [access(true, false), access(true, true), access(false, true)])
    const [gone, created, peers, ...rest] = withoutIds(await outside!.events())
    assert.deepEqual(gone, { type: 'stream', op: 'delete', stream_ids: [id], streams: [{ stream_id: id }] })
    assert.deepEqual([created.op, created.streams[0].stream_id, created.streams[0].invite_only], ['create', id, false])
    const user_ids = [hamlet.user.id, polonius.user.id].sort((a, b) => a - b)
    assert.deepEqual(peers, { type: 'subscription', op: 'peer_add', stream_ids: [id], user_ids })
    assert.deepEqual(rest, [])
  })

  it('in no way that contradicts itself', async () => {
    const refuse = (values: Record<string, unknown>) => olivia.refused('BAD_REQUEST', 'PATCH', path(channel), values)
    await refuse({ history_public_to_subscribers: false })
    await refuse({ is_private: true, is_web_public: true })
    await refuse({ is_web_public: true }) // spectators are not let in
    await refuse({ is_private: true, is_default_stream: true })
    await refuse({ is_archived: false })
    set({ enable_spectator_access: true })
    assert.equal((await hamlet.refused('BAD_REQUEST', 'PATCH', path(channel), { is_web_public: true })).status, 403)
    await olivia.patch(path(channel), { is_web_public: true })
    await olivia.patch(path(channel), { is_private: true })
    assert.equal(now(channel).isWebPublic, false)
    set({ enable_spectator_access: false })
  })

  it('to one for the empty topic alone where it has no other', async () => {
    const only = { topics_policy: 'empty_topic_only' }
    const { id } = await hamlet.post('/messages', { type: 'stream', to: channel.id, topic: 'plans', content: 'x' })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path(channel), only)
    await olivia.delete(`/messages/${id}`)
    await hamlet.post('/messages', { type: 'stream', to: channel.id, topic: '', content: 'x' })
    await hamlet.patch(path(channel), only)
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'PATCH', path(channel), { topics_policy: 'other' })
  })

  it('to a default channel and back, and archived out of that list', async () => {
    const queue = await cordelia.register({ event_types: ['default_streams'] })
    await admin.patch(path(channel), { is_default_stream: true })
    await admin.refused('BAD_REQUEST', 'PATCH', path(channel), { is_private: true })
    await admin.patch(path(channel), { is_default_stream: false })
    await admin.patch(path(channel), { is_default_stream: true })
    await hamlet.patch(path(channel), { is_archived: true })
    assert.deepEqual(
      (await queue.events()).map(({ default_streams }) => default_streams),
      [[channel.id], [], [channel.id], []],
    )
    await admin.refused('BAD_REQUEST', 'PATCH', path(channel), { is_default_stream: true })
  })

  it('back from the archive, with what lies unread there for clients that knew nothing of it (388)', async () => {
    const { id } = await olivia.post('/messages', { type: 'stream', to: channel.id, topic: 'plans', content: 'x' })
    await hamlet.patch(path(channel), { is_archived: true })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path(channel), { is_archived: true })
    const capabilities = { notification_settings_null: true, archived_channels: true }
    const event_types = ['stream', 'subscription', 'update_message_flags']
    const knowing = await hamlet.register({ client_capabilities: capabilities, event_types })
    const [old, other] = await Promise.all([hamlet, cordelia].map((client) => client.register({ event_types })))
    await hamlet.patch(path(channel), { is_archived: false })
    assert.deepEqual(withoutIds(await knowing.events()), [update(channel, 'is_archived', false)])
    const [created, added, unread] = withoutIds(await old!.events())
    assert.deepEqual([created.op, created.streams[0].is_archived], ['create', false])
    assert.deepEqual([added.op, added.subscriptions[0].stream_id], ['add', channel.id])
    assert.deepEqual([unread.op, unread.flag, unread.messages], ['remove', 'read', [id]])
    assert.deepEqual(
      withoutIds(await other!.events()).map(({ op }) => op),
      ['create', 'peer_add'],
    )
  })

  it('post a notice in the channel if the organization wants it (434)', async () => {
    const noticed = async (values: Record<string, unknown>): Promise<string[]> => {
      const before = rig.chat.realm.store.messages.maxId()
      await hamlet.patch(path(channel), values)
      const newer = [...rig.chat.realm.store.messages.idsOf(channel.recipientId)].filter((id) => id > before)
      return newer.map((id) => rig.chat.realm.store.messages.get(id)!.content)
    }
    assert.deepEqual(await noticed({ new_name: 'quiet' }), [])
    set({ send_channel_events_messages: true })
    const who = `@_**Hamlet Test|${hamlet.user.id}**`
    assert.deepEqual(await noticed({ new_name: 'loud' }), [`${who} renamed channel **quiet** to **loud**.`])
    assert.match(
      (await noticed({ description: 'new' }))[0]!,
      /changed the description[\s\S]*No description[\s\S]*\nnew\n/,
    )
    assert.deepEqual(await noticed({ is_private: true }), [
      `${who} changed the access permissions for this channel from **Public** to **Private, protected history**.`,
    ])
    assert.deepEqual(await noticed({ is_archived: true }), ['Channel #**loud** has been archived.'])
    assert.deepEqual(await noticed({ new_name: 'silent' }), [])
    assert.deepEqual(await noticed({ is_archived: false }), [`${who} has unarchived this channel.`])
    set({ send_channel_events_messages: false })
  })
})

describe('PATCH /streams/:stream_id: groups of a channel', () => {
  it('are told when they change, with what follows from them', async () => {
    const queue = await cordelia.register({ event_types: ['stream'] })
    const group = { direct_members: [cordelia.user.id], direct_subgroups: [idOf('role:moderators')] }
    await hamlet.patch(path(channel), { can_resolve_topics_group: { new: group } })
    await hamlet.patch(path(channel), { can_send_message_group: { new: idOf('role:administrators') } })
    await hamlet.patch(path(channel), { can_remove_subscribers_group: { new: idOf('role:moderators') } })
    await hamlet.patch(path(channel), { can_remove_subscribers_group_id: idOf('role:fullmembers') })
    await hamlet.patch(path(channel), { can_remove_subscribers_group: { new: group } })
    await hamlet.patch(path(channel), { can_remove_subscribers_group: { new: group } })
    assert.deepEqual(withoutIds(await queue.events()), [
      update(channel, 'can_resolve_topics_group', group),
      update(channel, 'can_send_message_group', idOf('role:administrators')),
      update(channel, 'stream_post_policy', 2),
      update(channel, 'is_announcement_only', true),
      update(channel, 'can_remove_subscribers_group', idOf('role:moderators')),
      update(channel, 'can_remove_subscribers_group_id', idOf('role:moderators')),
      update(channel, 'can_remove_subscribers_group', idOf('role:fullmembers')),
      update(channel, 'can_remove_subscribers_group_id', idOf('role:fullmembers')),
      update(channel, 'can_remove_subscribers_group', group),
    ])
    await hamlet.refused('REQUEST_CONFUSING_VAR', 'PATCH', path(channel), {
      can_remove_subscribers_group: { new: 1 },
      can_remove_subscribers_group_id: 1,
    })
  })

  it('show a private channel to whom they name, and hide it', async () => {
    const secret = make({ isPrivate: true }, [hamlet])
    for (const name of ['can_administer_channel_group', 'can_add_subscribers_group', 'can_subscribe_group']) {
      const queue = await cordelia.register({ event_types: ['stream'] })
      const people = [hamlet, cordelia].map(({ user }) => user.id)
      await hamlet.patch(path(secret), { [name]: { new: { direct_members: people, direct_subgroups: [] } } })
      await cordelia.get(path(secret))
      await hamlet.patch(path(secret), { [name]: { new: { direct_members: [hamlet.user.id], direct_subgroups: [] } } })
      assert.deepEqual(
        (await queue.events()).map(({ op }) => op),
        ['create', 'delete'],
        name,
      )
    }
  })
})

describe('GET /streams/:stream_id/email_address: the address of a channel', () => {
  it('is given to readers, a different one to each; no mail arrives there', async () => {
    const address = `/streams/${channel.id}/email_address`
    const { email } = await hamlet.get(address)
    assert.match(email, /^channel-\d+\.[0-9a-f]{32}@coffer\.invalid$/)
    assert.equal((await hamlet.get(address)).email, email)
    assert.notEqual((await cordelia.get(address)).email, email)
    const gateway = rig.chat.realm.state.userByEmail.get('emailgateway@coffer.invalid')!
    assert.notEqual((await hamlet.get(address, { sender_id: gateway.id })).email, email)
    await hamlet.refused('BAD_REQUEST', 'GET', address, { sender_id: cordelia.user.id })
    await hamlet.refused('BAD_REQUEST', 'GET', address, { sender_id: 9999 })
    const secret = make({ isPrivate: true }, [hamlet])
    await admin.refused('BAD_REQUEST', 'GET', `/streams/${secret.id}/email_address`)
  })
})

describe('POST /channels/create: a channel is made alone', () => {
  it('with its settings and subscribers, and its name is nobody else’s', async () => {
    const { channel_folder_id: folder } = await olivia.post('/channel_folders/create', { name: `folder ${count}` })
    const queue = await cordelia.register({ event_types: ['stream', 'subscription', 'message'] })
    const { id, new_subscription_messages_sent } = await hamlet.post('/channels/create', {
      name: 'Rosencrantz',
      description: 'and *Guildenstern*',
      subscribers: [hamlet.user.id, cordelia.user.id],
      invite_only: true,
      folder_id: folder,
      can_send_message_group: { direct_members: [cordelia.user.id], direct_subgroups: [] },
    })
    assert.equal(new_subscription_messages_sent, true)
    const { stream } = await cordelia.get(`/streams/${id}`)
    assert.equal(stream.folder_id, folder)
    assert.equal(stream.rendered_description, '<p>and <em>Guildenstern</em></p>')
    assert.deepEqual((await cordelia.get(`/streams/${id}/members`)).subscribers, [hamlet.user.id, cordelia.user.id])
    const events = (await queue.events()).map(({ type, op }) => [type, op])
    assert.deepEqual(events.slice(0, 2), [
      ['stream', 'create'],
      ['subscription', 'add'],
    ])
    assert.equal(events.at(-1)![0], 'message')
    const { body, status } = await hamlet.refused('CHANNEL_ALREADY_EXISTS', 'POST', '/channels/create', {
      name: ' ROSENCRANTZ',
      description: '',
      subscribers: [],
    })
    assert.deepEqual([status, body.channel_name], [409, 'ROSENCRANTZ'])
    const empty = await hamlet.post('/channels/create', { name: 'nobody there', description: '', subscribers: [] })
    assert.deepEqual((await hamlet.get(`/streams/${empty.id}/members`)).subscribers, [])
  })

  it('needs the right to create a channel of its kind', async () => {
    const values = { name: 'not mine', description: '', subscribers: [] }
    assert.equal((await polonius.refused('BAD_REQUEST', 'POST', '/channels/create', values)).status, 403)
    const refuse = (more: Record<string, unknown>) =>
      hamlet.refused('BAD_REQUEST', 'POST', '/channels/create', { ...values, ...more })
    assert.equal((await refuse({ is_default_stream: true })).status, 403)
    assert.equal((await refuse({ message_retention_days: 3 })).status, 403)
    await refuse({ folder_id: 9999 })
    await refuse({ subscribers: [9999] })
    await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/channels/create', { name: 'x' })
    assert.equal(rig.chat.realm.state.channelByName.get('not mine'), undefined)
  })
})
