/** Subscriptions: rows E51 to E55, E58, E59; events V41, V42, V44 to V47; block subscription. Contract 3.3, 4.4, 7.1. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const PATH = '/users/me/subscriptions'

const { rig, hamlet, cordelia, polonius } = await chatSuite({ hamlet: 'member', cordelia: 'member', polonius: 'guest' })

let count = 0
async function makeChannel(
  options: Record<string, unknown> = {},
  creator = hamlet,
): Promise<{ name: string; id: number }> {
  const name = `channel ${++count}`
  await creator.post(PATH, { subscriptions: [{ name }], ...options })
  return { name, id: (await creator.get('/get_stream_id', { stream: name })).stream_id }
}

const without = (name: string) => (event: Record<string, unknown>) => {
  const { [name]: _, id: __, ...rest } = event
  return rest
}

describe('Subscribing (E52)', () => {
  it('makes the channel where there is none, and answers by user id', async () => {
    const first = await hamlet.post(PATH, { subscriptions: [{ name: ' Elsinore ' }] })
    assert.deepEqual(first.subscribed, { [hamlet.user.id]: ['Elsinore'] })
    assert.deepEqual(first.already_subscribed, {})
    assert.equal(first.unauthorized, undefined)
    const again = await hamlet.post(PATH, { subscriptions: [{ name: 'ELSINORE' }, { name: 'elsinore' }] })
    assert.deepEqual(again.subscribed, {})
    assert.deepEqual(again.already_subscribed, { [hamlet.user.id]: ['Elsinore'] })
  })

  it('subscribes others by id or by address', async () => {
    const { name } = await makeChannel()
    const byId = await hamlet.post(PATH, { subscriptions: [{ name }], principals: [cordelia.user.id] })
    assert.deepEqual(byId.subscribed, { [cordelia.user.id]: [name] })
    const byAddress = await hamlet.post(PATH, { subscriptions: [{ name }], principals: ['polonius@example.com'] })
    assert.deepEqual(byAddress.subscribed, { [polonius.user.id]: [name] })
    await hamlet.refused('BAD_REQUEST', 'POST', PATH, { subscriptions: [{ name }], principals: [9999] })
    await hamlet.refused('BAD_REQUEST', 'POST', PATH, { subscriptions: [{ name }], principals: ['x@example.com'] })
  })

  it('refuses to add others where the caller has no right to', async () => {
    const { name } = await makeChannel()
    await polonius.refused('BAD_REQUEST', 'POST', PATH, { subscriptions: [{ name }], principals: [cordelia.user.id] })
    await hamlet.post(PATH, { subscriptions: [{ name }], principals: [polonius.user.id] })
    const answer = await polonius.refused('UNAUTHORIZED_PRINCIPAL', 'POST', PATH, {
      subscriptions: [{ name }],
      principals: [cordelia.user.id],
    })
    assert.equal(answer.status, 403)
    assert.equal(answer.body.principal, 'cordelia@example.com')
  })

  it('to a private channel is refused, or listed where the caller says so', async () => {
    const { name } = await makeChannel({ invite_only: true })
    const open = await makeChannel()
    const subscriptions = [{ name }, { name: open.name }]
    await cordelia.refused('BAD_REQUEST', 'POST', PATH, { subscriptions })
    assert.deepEqual(
      (await cordelia.get(PATH)).subscriptions.map(({ name }: { name: string }) => name).includes(open.name),
      false,
    )
    const answer = await cordelia.post(PATH, { subscriptions, authorization_errors_fatal: false })
    assert.deepEqual(answer.unauthorized, [name])
    assert.deepEqual(answer.subscribed, { [cordelia.user.id]: [open.name] })
  })

  it('to a private channel is open to members of can_subscribe_group', async () => {
    const group = { direct_members: [cordelia.user.id], direct_subgroups: [] }
    const { name } = await makeChannel({ invite_only: true, can_subscribe_group: group })
    const answer = await cordelia.post(PATH, { subscriptions: [{ name }] })
    assert.deepEqual(answer.subscribed, { [cordelia.user.id]: [name] })
  })

  const REFUSED: readonly [why: string, values: Record<string, unknown>, code?: string][] = [
    ['a name without characters', { subscriptions: [{ name: '  ' }] }],
    ['a name of 61 characters', { subscriptions: [{ name: 'x'.repeat(61) }] }],
    ['a name with a line break', { subscriptions: [{ name: 'a\nb' }] }, 'REQUEST_VARIABLE_INVALID'],
    ['a description of 1025 characters', { subscriptions: [{ name: 'n', description: 'x'.repeat(1025) }] }],
    ['a private default channel', { subscriptions: [{ name: 'n' }], invite_only: true, is_default_stream: true }],
    [
      'a public channel with protected history',
      { subscriptions: [{ name: 'n' }], history_public_to_subscribers: false },
    ],
    ['a web-public channel without spectators', { subscriptions: [{ name: 'n' }], is_web_public: true }],
    ['a folder that there is not', { subscriptions: [{ name: 'n' }], folder_id: 1 }],
    ['a default channel of a member', { subscriptions: [{ name: 'n' }], is_default_stream: true }],
    ['a retention by another than an owner', { subscriptions: [{ name: 'n' }], message_retention_days: 30 }],
    ['a group that there is not', { subscriptions: [{ name: 'n' }], can_send_message_group: 9999 }],
    [
      'a member that there is not',
      { subscriptions: [{ name: 'n' }], can_send_message_group: { direct_members: [9999], direct_subgroups: [] } },
    ],
    [
      'a policy that there is not',
      { subscriptions: [{ name: 'n' }], topics_policy: 'none' },
      'REQUEST_VARIABLE_INVALID',
    ],
    [
      'both names of one setting',
      { subscriptions: [{ name: 'n' }], can_remove_subscribers_group: 1, can_remove_subscribers_group_id: 1 },
      'REQUEST_CONFUSING_VAR',
    ],
  ]
  for (const [why, values, code = 'BAD_REQUEST'] of REFUSED) {
    it(`refuses ${why}, and makes nothing`, async () => {
      await hamlet.refused(code, 'POST', PATH, values)
      await hamlet.refused('STREAM_DOES_NOT_EXIST', 'GET', '/get_stream_id', { stream: 'n' })
    })
  }

  it('of a guest makes no channel, and delete groups need a right of their own', async () => {
    await polonius.refused('BAD_REQUEST', 'POST', PATH, { subscriptions: [{ name: 'n' }] })
    const { can_send_message_group: everyone } = (await hamlet.get(`/streams/${(await makeChannel()).id}`)).stream
    const values = { subscriptions: [{ name: 'n' }], can_delete_any_message_group: everyone }
    await hamlet.refused('BAD_REQUEST', 'POST', PATH, values)
    await rig.owner.post(PATH, {
      ...values,
      subscriptions: [{ name: 'deletable' }],
      message_retention_days: 'unlimited',
    })
    const { stream_id } = await rig.owner.get('/get_stream_id', { stream: 'deletable' })
    const { stream } = await rig.owner.get(`/streams/${stream_id}`)
    assert.equal(stream.can_delete_any_message_group, everyone)
    assert.equal(stream.message_retention_days, -1)
  })

  it('sends a message to users whom another user has subscribed, unless they disabled it', async () => {
    const [first, second] = [await makeChannel(), await makeChannel({ invite_only: true })]
    const subscriptions = [{ name: first.name }, { name: second.name }]
    const queue = await cordelia.register({ event_types: ['message'], apply_markdown: false })
    const answer = await hamlet.post(PATH, { subscriptions, principals: [cordelia.user.id, hamlet.user.id] })
    assert.equal(answer.new_subscription_messages_sent, true)
    const [{ message }, ...rest] = await queue.events()
    assert.deepEqual([message.type, message.sender_full_name, rest], ['private', 'Notification Bot', []])
    assert.equal(
      message.content,
      `@_**Hamlet Test|${hamlet.user.id}** subscribed you to the following channels:\n\n* #**${first.name}**\n* **${second.name}**`,
    )
    const { name } = await makeChannel()
    const silent = { subscriptions: [{ name }], principals: [cordelia.user.id], send_new_subscription_messages: false }
    assert.equal((await hamlet.post(PATH, silent)).new_subscription_messages_sent, false)
    const many = Array.from({ length: 101 }, (_, number) => ({ name: `bulk ${number}` }))
    const bulk = await hamlet.post(PATH, { subscriptions: many, principals: [cordelia.user.id] })
    assert.equal(bulk.new_subscription_messages_sent, false)
    assert.deepEqual(await queue.events(), [])
  })

  it('announces a new channel where the organization wants it', async () => {
    const { realm } = rig.chat
    const organization = realm.state.organization.get(2)!
    const news = await makeChannel()
    const settings = { ...organization.settings, new_stream_announcements_stream_id: news.id }
    realm.transaction((turn) => turn.put('organization', { ...organization, settings }))
    const queue = await hamlet.register({ event_types: ['message'] })
    const announced = await makeChannel({ announce: true })
    await makeChannel({ announce: true, invite_only: true })
    realm.transaction((turn) => turn.put('organization', organization))
    const events = await queue.events()
    assert.equal(events.length, 1)
    assert.deepEqual([events[0].message.stream_id, events[0].message.subject], [news.id, 'new channels'])
    assert.ok(events[0].message.content.includes(announced.name))
  })

  it('tells members of a public channel, and of its subscribers (V41, V44, V47)', async () => {
    const mine = await hamlet.register({ event_types: ['stream', 'subscription'] })
    const others = await cordelia.register({ event_types: ['stream', 'subscription'] })
    const guests = await polonius.register({ event_types: ['stream', 'subscription'] })
    const { name, id } = await makeChannel()
    const [created, added, ...rest] = await mine.events()
    assert.deepEqual([created.op, created.streams[0].stream_id, rest], ['create', id, []])
    assert.deepEqual([added.op, added.subscriptions.length], ['add', 1])
    const [subscription] = added.subscriptions
    assert.deepEqual([subscription.name, subscription.subscribers], [name, [hamlet.user.id]])
    assert.match(subscription.color, /^#[0-9a-f]{6}$/)
    const seen = await others.events()
    assert.equal(seen[0].op, 'create')
    assert.deepEqual(seen.slice(1).map(without('x')), [
      { type: 'subscription', op: 'peer_add', stream_ids: [id], user_ids: [hamlet.user.id] },
    ])
    assert.deepEqual(await guests.events(), [])

    await hamlet.post(PATH, { subscriptions: [{ name }], principals: [polonius.user.id, cordelia.user.id] })
    assert.deepEqual(
      (await guests.events()).map(({ type, op }) => `${type} ${op}`),
      ['stream create', 'subscription add'], // which says who else is there
    )
    assert.deepEqual((await mine.events()).map(without('x')), [
      { type: 'subscription', op: 'peer_add', stream_ids: [id], user_ids: [polonius.user.id, cordelia.user.id] },
    ])
  })

  it('tells nobody else of a private channel but administrators', async () => {
    const administrator = await rig.owner.register({ event_types: ['stream', 'subscription'] })
    const member = await cordelia.register({ event_types: ['stream', 'subscription'] })
    await makeChannel({ invite_only: true })
    assert.deepEqual(
      (await administrator.events()).map(({ op }) => op),
      ['create', 'peer_add'],
    )
    assert.deepEqual(await member.events(), [])
  })
})

describe('Unsubscribing (E54)', () => {
  it('oneself is told to all who know of the channel (V45, V47)', async () => {
    const { name, id } = await makeChannel()
    await hamlet.post(PATH, { subscriptions: [{ name }], principals: [cordelia.user.id] })
    const mine = await cordelia.register({ event_types: ['stream', 'subscription'] })
    const others = await hamlet.register({ event_types: ['stream', 'subscription'] })
    const answer = await cordelia.delete(PATH, { subscriptions: [name.toUpperCase()] })
    assert.deepEqual([answer.removed, answer.not_removed], [[name], []])
    assert.deepEqual((await mine.events()).map(without('x')), [
      { type: 'subscription', op: 'remove', subscriptions: [{ stream_id: id, name }] },
    ])
    assert.deepEqual((await others.events()).map(without('x')), [
      { type: 'subscription', op: 'peer_remove', stream_ids: [id], user_ids: [cordelia.user.id] },
    ])
    const again = await cordelia.delete(PATH, { subscriptions: [name] })
    assert.deepEqual([again.removed, again.not_removed], [[], [name]])
  })

  it('from a private channel takes it out of sight (V42)', async () => {
    const { name, id } = await makeChannel({ invite_only: true })
    await hamlet.post(PATH, { subscriptions: [{ name }], principals: [cordelia.user.id] })
    const mine = await cordelia.register({ event_types: ['stream', 'subscription'] })
    await cordelia.delete(PATH, { subscriptions: [name] })
    assert.deepEqual(
      (await mine.events()).map(({ type, op }) => `${type} ${op}`),
      ['subscription remove', 'stream delete'],
    )
    await cordelia.refused('BAD_REQUEST', 'GET', `/streams/${id}`)
    await cordelia.refused('STREAM_DOES_NOT_EXIST', 'DELETE', PATH, { subscriptions: [name] })
  })

  it('others needs a right', async () => {
    const { name } = await makeChannel()
    await hamlet.post(PATH, { subscriptions: [{ name }], principals: [cordelia.user.id, polonius.user.id] })
    const values = { subscriptions: [name], principals: [polonius.user.id] }
    await cordelia.refused('BAD_REQUEST', 'DELETE', PATH, values)
    assert.deepEqual((await hamlet.delete(PATH, values)).removed, [name]) // Hamlet administers it
    await hamlet.post(PATH, { subscriptions: [{ name }], principals: [polonius.user.id] })
    assert.deepEqual((await rig.owner.delete(PATH, values)).removed, [name])
  })

  it('of a channel that there is not ends it all', async () => {
    const { name } = await makeChannel()
    const answer = await hamlet.refused('STREAM_DOES_NOT_EXIST', 'DELETE', PATH, { subscriptions: [name, 'nowhere'] })
    assert.equal(answer.body.stream, 'nowhere')
    const { subscriptions } = await hamlet.get(PATH)
    assert.ok(subscriptions.some((subscription: { name: string }) => subscription.name === name))
  })
})

describe('One call for both (E53)', () => {
  it('is refused as a whole: nothing is marked as read for leaving', async () => {
    const left = await makeChannel()
    const secret = await makeChannel({ invite_only: true })
    await cordelia.post(PATH, { subscriptions: [{ name: left.name }] })
    await hamlet.post('/messages', { type: 'channel', to: left.id, topic: 'parting', content: 'sweet sorrow' })
    const queue = await cordelia.register()
    const { count: unread } = queue.snapshot.unread_msgs
    for (const add of [
      [{ name: 'new' }, { name: secret.name }],
      [{ name: 'new', color: 'no color' }],
      [{ name: 'new', description: 'x'.repeat(1025) }],
    ])
      await cordelia.refused('BAD_REQUEST', 'PATCH', PATH, { add, delete: [left.name] })
    await cordelia.refused('STREAM_DOES_NOT_EXIST', 'PATCH', PATH, {
      add: [{ name: 'new' }],
      delete: ['none', left.name],
    })
    assert.deepEqual(await queue.events(), [])
    const { snapshot } = await cordelia.register()
    assert.equal(snapshot.unread_msgs.count, unread)
    assert.deepEqual(snapshot.subscriptions, queue.snapshot.subscriptions)
    assert.deepEqual(snapshot.streams, queue.snapshot.streams)
  })

  it('adds and removes', async () => {
    const { name } = await makeChannel()
    const answer = await cordelia.patch(PATH, { add: [{ name, color: '#ABCDEF' }] })
    assert.deepEqual(answer.subscribed, { [cordelia.user.id]: [name] })
    const own = (await cordelia.get(PATH)).subscriptions.find((one: { name: string }) => one.name === name)
    assert.equal(own.color, '#abcdef')
    const removed = await cordelia.patch(PATH, { delete: [name] })
    assert.deepEqual([removed.removed, removed.not_removed], [[name], []])
    await cordelia.refused('BAD_REQUEST', 'PATCH', PATH, {})
    await cordelia.refused('BAD_REQUEST', 'PATCH', PATH, { add: [{ name, color: 'red' }] })
  })
})

describe('What a subscriber sets (E55)', () => {
  it('is sent to the clients of the user only, muting twice (V46)', async () => {
    const { id } = await makeChannel()
    const mine = await hamlet.register({ event_types: ['subscription'] })
    const others = await cordelia.register({ event_types: ['subscription'] })
    await hamlet.post(`${PATH}/properties`, {
      subscription_data: [
        { stream_id: id, property: 'is_muted', value: true },
        { stream_id: id, property: 'color', value: '#f00' },
        { stream_id: id, property: 'pin_to_top', value: true },
        { stream_id: id, property: 'push_notifications', value: true },
        { stream_id: id, property: 'in_home_view', value: false },
      ],
    })
    assert.deepEqual(
      (await mine.events()).map(({ op, stream_id, property, value }) => [op, stream_id, property, value]),
      [
        ['update', id, 'is_muted', true],
        ['update', id, 'in_home_view', false],
        ['update', id, 'color', '#ff0000'],
        ['update', id, 'pin_to_top', true],
        ['update', id, 'push_notifications', true],
      ],
    )
    assert.deepEqual(await others.events(), [])
    const { snapshot } = await hamlet.register()
    const subscription = snapshot.subscriptions.find((one: { stream_id: number }) => one.stream_id === id)
    const { color, is_muted, in_home_view, pin_to_top, push_notifications, email_notifications } = subscription
    assert.deepEqual(
      { color, is_muted, in_home_view, pin_to_top, push_notifications, email_notifications },
      {
        color: '#ff0000',
        is_muted: true,
        in_home_view: false,
        pin_to_top: true,
        push_notifications: true,
        email_notifications: false,
      },
    )
  })

  it('is null where it is inherited, for clients that know that', async () => {
    const { id } = await makeChannel()
    const { snapshot } = await hamlet.register({ client_capabilities: { notification_settings_null: true } })
    const subscription = snapshot.subscriptions.find((one: { stream_id: number }) => one.stream_id === id)
    assert.deepEqual([subscription.email_notifications, subscription.wildcard_mentions_notify], [null, null])
  })

  it('is all or nothing, and only for subscribed channels', async () => {
    const { id } = await makeChannel()
    const pin = { stream_id: id, property: 'pin_to_top', value: true }
    await cordelia.refused('BAD_REQUEST', 'POST', `${PATH}/properties`, { subscription_data: [pin] })
    for (const bad of [
      { stream_id: 9999, property: 'pin_to_top', value: true },
      { stream_id: id, property: 'color', value: 'red' },
      { stream_id: id, property: 'color', value: true },
      { stream_id: id, property: 'is_muted', value: 'yes' },
    ]) {
      await hamlet.refused('BAD_REQUEST', 'POST', `${PATH}/properties`, { subscription_data: [pin, bad] })
    }
    const unknown = { subscription_data: [{ stream_id: id, property: 'flavour', value: true }] }
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', `${PATH}/properties`, unknown)
    const own = (await hamlet.get(PATH)).subscriptions.find((one: { stream_id: number }) => one.stream_id === id)
    assert.equal(own.pin_to_top, false)
  })
})

describe('Lists of subscriptions', () => {
  it('have subscribers where they are asked for (E51)', async () => {
    const { id } = await makeChannel()
    const find = async (include_subscribers?: string) =>
      (await hamlet.get(PATH, { include_subscribers })).subscriptions.find(
        (one: { stream_id: number }) => one.stream_id === id,
      )
    assert.equal((await find()).subscribers, undefined)
    assert.deepEqual((await find('true')).subscribers, [hamlet.user.id])
    assert.deepEqual((await find('partial')).subscribers, [hamlet.user.id])
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'GET', PATH, { include_subscribers: 'some' })
  })

  it('of others have the channels that the caller sees (E58, E59)', async () => {
    const open = await makeChannel()
    const secret = await makeChannel({ invite_only: true })
    const isSubscribed = async (id: number) =>
      (await cordelia.get(`/users/${hamlet.user.id}/subscriptions/${id}`)).is_subscribed
    assert.equal(await isSubscribed(open.id), true)
    assert.equal((await hamlet.get(`/users/${cordelia.user.id}/subscriptions/${open.id}`)).is_subscribed, false)
    await cordelia.refused('BAD_REQUEST', 'GET', `/users/${hamlet.user.id}/subscriptions/${secret.id}`)
    await cordelia.refused('BAD_REQUEST', 'GET', `/users/9999/subscriptions/${open.id}`)
    const { subscribed_channel_ids } = await cordelia.get(`/users/${hamlet.user.id}/channels`)
    assert.ok(subscribed_channel_ids.includes(open.id) && !subscribed_channel_ids.includes(secret.id))
    await cordelia.refused('BAD_REQUEST', 'GET', '/users/9999/channels')
  })

  it('of the snapshot have each visible channel once', async () => {
    const left = await makeChannel()
    await hamlet.delete(PATH, { subscriptions: [left.name] })
    const never = await makeChannel({}, cordelia)
    const { snapshot } = await hamlet.register({ include_subscribers: 'true' })
    const ids = (list: { stream_id: number }[]) => list.map(({ stream_id }) => stream_id)
    assert.ok(ids(snapshot.unsubscribed).includes(left.id))
    assert.ok(ids(snapshot.never_subscribed).includes(never.id))
    const all = [...snapshot.subscriptions, ...snapshot.unsubscribed, ...snapshot.never_subscribed]
    assert.deepEqual(ids(all).sort(), ids(snapshot.streams).sort())
    assert.ok(all.every(({ subscribers }) => Array.isArray(subscribers)))
  })

  it('survive a restart', async () => {
    const before = await hamlet.get(PATH, { include_subscribers: 'true' })
    rig.reopen()
    assert.deepEqual(await hamlet.get(PATH, { include_subscribers: 'true' }), before)
  })
})

describe('A user who leaves a channel', () => {
  it('has no unread messages there any more, and their clients hear of it (V52)', async () => {
    const { name, id } = await makeChannel()
    await cordelia.post(PATH, { subscriptions: [{ name }] })
    const sent = await hamlet.post('/messages', { type: 'stream', to: id, topic: 't', content: 'x' })
    const queue = await cordelia.register({ event_types: ['update_message_flags', 'subscription'] })
    await cordelia.delete(PATH, { subscriptions: [name] })
    assert.deepEqual(
      (await queue.events()).map(({ type, op, messages }) => [type, op, messages]),
      [
        ['update_message_flags', 'add', [sent.id]],
        ['subscription', 'remove', undefined],
      ],
    )
    const { snapshot } = await cordelia.register()
    assert.ok(!snapshot.unread_msgs.streams.some(({ stream_id }: { stream_id: number }) => stream_id === id))
  })
})
