/** Channels: rows E42, E43, E45, E46, E50 and the blocks stream, default_streams. Contract sections 2.3, 3.3, 7.1. */

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

interface Named {
  name: string
}
const names = (channels: Named[]) => channels.map(({ name }) => name)

const { rig, hamlet, cordelia, polonius } = await chatSuite({ hamlet: 'member', cordelia: 'member', polonius: 'guest' })
const ids: Record<string, number> = {}
before(async () => {
  await hamlet.post('/users/me/subscriptions', {
    subscriptions: [{ name: 'Verona', description: 'Where we  live\nand <die>' }, { name: 'Denmark' }],
  })
  await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name: 'secrets' }], invite_only: true })
  for (const name of ['Verona', 'Denmark', 'secrets'])
    ids[name] = (await hamlet.get('/get_stream_id', { stream: name })).stream_id
})

describe('Channels', () => {
  it('have every field of the set C (E43)', async () => {
    const { stream } = await hamlet.get(`/streams/${ids.Verona}`)
    const everyone = stream.can_send_message_group
    assert.equal(typeof everyone, 'number')
    assert.deepEqual(stream, {
      stream_id: ids.Verona,
      name: 'Verona',
      description: 'Where we  live and <die>',
      rendered_description: '<p>Where we  live and &lt;die&gt;</p>',
      date_created: Math.floor(Date.UTC(2026, 10, 24, 12) / 1000),
      creator_id: hamlet.user.id,
      invite_only: false,
      is_web_public: false,
      history_public_to_subscribers: true,
      is_archived: false,
      message_retention_days: null,
      topics_policy: 'inherit',
      folder_id: null,
      first_message_id: null,
      is_recently_active: true,
      stream_weekly_traffic: null,
      subscriber_count: 1,
      can_add_subscribers_group: stream.can_delete_any_message_group,
      can_administer_channel_group: { direct_members: [hamlet.user.id], direct_subgroups: [] },
      can_create_topic_group: everyone,
      can_delete_any_message_group: stream.can_delete_any_message_group,
      can_delete_own_message_group: stream.can_delete_any_message_group,
      can_move_messages_out_of_channel_group: stream.can_delete_any_message_group,
      can_move_messages_within_channel_group: stream.can_delete_any_message_group,
      can_remove_subscribers_group: stream.can_remove_subscribers_group,
      can_remove_subscribers_group_id: stream.can_remove_subscribers_group,
      can_resolve_topics_group: stream.can_delete_any_message_group,
      can_send_message_group: everyone,
      can_subscribe_group: stream.can_delete_any_message_group,
      stream_post_policy: 1,
      is_announcement_only: false,
    })
  })

  it('that are unknown or out of sight are one answer (E43, E45, E46, E49)', async () => {
    for (const path of [
      `/streams/${ids.secrets}`,
      `/streams/${ids.secrets}/members`,
      `/users/me/${ids.secrets}/topics`,
    ]) {
      const hidden = await cordelia.refused('BAD_REQUEST', 'GET', path)
      const unknown = await cordelia.refused('BAD_REQUEST', 'GET', path.replace(String(ids.secrets), '9999'))
      assert.deepEqual(hidden.body, unknown.body)
      assert.equal(hidden.status, unknown.status)
    }
    const hidden = await cordelia.refused('BAD_REQUEST', 'DELETE', `/streams/${ids.secrets}`)
    assert.deepEqual(hidden.body, (await cordelia.refused('BAD_REQUEST', 'DELETE', '/streams/9999')).body)
  })

  it('by name are found without case, and refused in one way (E50)', async () => {
    assert.equal((await cordelia.get('/get_stream_id', { stream: ' vERONA' })).stream_id, ids.Verona)
    const hidden = await cordelia.refused('STREAM_DOES_NOT_EXIST', 'GET', '/get_stream_id', { stream: 'secrets' })
    assert.equal(hidden.body.stream, 'secrets')
    await cordelia.refused('STREAM_DOES_NOT_EXIST', 'GET', '/get_stream_id', { stream: 'nowhere' })
    await polonius.refused('STREAM_DOES_NOT_EXIST', 'GET', '/get_stream_id', { stream: 'Verona' })
  })

  it('are listed by what is asked for, sorted by name (E42)', async () => {
    const list = async (client: Client, values: Record<string, boolean> = {}) =>
      names((await client.get('/streams', values)).streams)
    assert.deepEqual(await list(hamlet), ['Denmark', 'secrets', 'Verona'])
    assert.deepEqual(await list(cordelia), ['Denmark', 'Verona'])
    assert.deepEqual(await list(polonius), [])
    assert.deepEqual(await list(hamlet, { include_public: false }), ['Denmark', 'secrets', 'Verona'])
    assert.deepEqual(await list(cordelia, { include_public: false }), [])
    const onlyAll = { include_public: false, include_subscribed: false, include_all: true }
    assert.deepEqual(await list(rig.owner, onlyAll), ['Denmark', 'secrets', 'Verona'])
    assert.deepEqual(await list(cordelia, onlyAll), ['Denmark', 'Verona'])
    const onlyContent = { include_public: false, include_subscribed: false, include_can_access_content: true }
    assert.deepEqual(await list(rig.owner, onlyContent), ['Denmark', 'Verona'])
    const { streams } = await hamlet.get('/streams', { include_default: true })
    assert.deepEqual(new Set(streams.map((channel: { is_default: boolean }) => channel.is_default)), new Set([false]))
  })

  it('list their active subscribers (E46)', async () => {
    const { subscribers } = await cordelia.get(`/streams/${ids.Verona}/members`)
    assert.deepEqual(subscribers, [hamlet.user.id])
    assert.deepEqual((await rig.owner.get(`/streams/${ids.secrets}/members`)).subscribers, [hamlet.user.id])
  })

  it('can be archived by their administrators (E45)', async () => {
    await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name: 'old' }] })
    const { stream_id } = await hamlet.get('/get_stream_id', { stream: 'old' })
    await cordelia.refused('CANNOT_ADMINISTER_CHANNEL', 'DELETE', `/streams/${stream_id}`)
    const knowing = await cordelia.register({
      client_capabilities: { notification_settings_null: true, archived_channels: true },
      event_types: ['stream'],
    })
    const old = await cordelia.register({ event_types: ['stream'] })
    await hamlet.delete(`/streams/${stream_id}`)
    assert.deepEqual(
      (await knowing.events()).map(({ id: _, ...event }) => event),
      [{ type: 'stream', op: 'update', stream_id, name: 'old', property: 'is_archived', value: true }],
    )
    assert.deepEqual(
      (await old.events()).map(({ id: _, ...event }) => event),
      [{ type: 'stream', op: 'delete', stream_ids: [stream_id], streams: [{ stream_id }] }],
    )
    await hamlet.refused('BAD_REQUEST', 'DELETE', `/streams/${stream_id}`)
    assert.ok(!names((await hamlet.get('/streams')).streams).includes('old'))
    assert.ok(names((await hamlet.get('/streams', { exclude_archived: false })).streams).includes('old'))
    const without = await hamlet.register({ fetch_event_types: ['stream', 'subscription'] })
    assert.ok(!names([...without.snapshot.streams, ...without.snapshot.subscriptions]).includes('old'))
    const capabilities = { notification_settings_null: true, archived_channels: true }
    const having = await hamlet.register({ client_capabilities: capabilities })
    assert.ok(names(having.snapshot.streams).includes('old'))
    assert.ok(names(having.snapshot.subscriptions).includes('old'))
  })

  it('that are default are told to members, and leave the list when they are archived (E52, E45, V8)', async () => {
    const member = await cordelia.register({ event_types: ['default_streams'] })
    const guest = await polonius.register({ event_types: ['default_streams'] })
    await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name: 'news' }], is_default_stream: true })
    const { stream_id } = await hamlet.get('/get_stream_id', { stream: 'news' })
    assert.deepEqual(member.snapshot.realm_default_streams, [])
    assert.deepEqual((await cordelia.register()).snapshot.realm_default_streams, [stream_id])
    assert.deepEqual((await polonius.register()).snapshot.realm_default_streams, [])
    await rig.owner.delete(`/streams/${stream_id}`)
    assert.deepEqual(
      (await member.events()).map(({ default_streams }) => default_streams),
      [[stream_id], []],
    )
    assert.deepEqual(await guest.events(), [])
  })

  it('are in the snapshot as far as somebody sees them', async () => {
    assert.deepEqual(names((await polonius.register()).snapshot.streams), [])
    assert.deepEqual(names((await cordelia.register()).snapshot.streams), ['Denmark', 'Verona'])
    assert.deepEqual(names((await rig.owner.register()).snapshot.streams), ['Denmark', 'secrets', 'Verona'])
  })
})
