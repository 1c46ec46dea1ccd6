/** Texts that registers of a crowd share: each answer is as the realm is at its moment, whatever came before. Contract section 4.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { channelView, subscribersView, subscriptionView } from '../../../firmware/chat/realm/objects/channel-view.ts'
import { userFor } from '../../../firmware/chat/realm/objects/user-view.ts'
import { visibleChannels } from '../../../firmware/chat/realm/permissions/channel-find.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia, gertrude } = await chatSuite({ hamlet: 'member', ophelia: 'member', gertrude: 'guest' })
const yorick = rig.account('yorick')
const castle = rig.channel('castle', [hamlet, ophelia, gertrude])
const tower = rig.channel('tower', [hamlet], { dateCreated: 1_000_000_000 })
rig.channel('vault', [rig.owner], { isPrivate: true })

const FORMS = [
  { include_subscribers: 'true', client_gravatar: true, client_capabilities: { notification_settings_null: false } },
  { include_subscribers: 'partial', client_gravatar: false, client_capabilities: { notification_settings_null: true } },
  { include_subscribers: 'false', client_gravatar: true, client_capabilities: { notification_settings_null: false } },
] as const

/** The same sections as they were made before any text was shared: an object for each, and all of them written at once. */
function made({ user: { id } }: Client, form: (typeof FORMS)[number]) {
  const { realm } = rig.chat
  const me = realm.state.user.require(id)
  const options = { clientGravatar: form.client_gravatar, includeProfileData: true }
  const users = [...realm.state.user.all()].filter(({ isSystemBot }) => !isSystemBot)
  const usersOf = (isActive: boolean) =>
    users
      .filter((user) => user.isActive === isActive)
      .map((user) => {
        const { is_active, ...view } = userFor(realm, me, user, options)
        return view
      })
  const channels = visibleChannels(realm, me, false)
  const own = realm.state.subscriptionsOf.get(id)
  const nullable = { nullable: form.client_capabilities.notification_settings_null }
  const subscribed = (isActive: boolean) =>
    channels.flatMap((channel) => {
      const subscription = own.get(channel.id)
      if (subscription?.isActive !== isActive) return []
      return [subscriptionView(realm, me, channel, subscription, nullable, form.include_subscribers)]
    })
  return {
    realm_users: usersOf(true),
    realm_non_active_users: usersOf(false),
    streams: channels.map((channel) => channelView(realm, channel)),
    subscriptions: subscribed(true),
    unsubscribed: subscribed(false),
  }
}

async function compare(): Promise<void> {
  for (const form of FORMS)
    for (const client of [hamlet, ophelia, gertrude, rig.owner]) {
      const { snapshot } = await client.register(form)
      for (const [name, value] of Object.entries(made(client, form)))
        assert.equal(JSON.stringify(snapshot[name]), JSON.stringify(value), name)
      for (const { stream_id: id, subscribers, partial_subscribers } of snapshot.never_subscribed) {
        const view = subscribersView(rig.chat.realm, rig.chat.realm.state.channel.require(id), form.include_subscribers)
        assert.deepEqual(
          { subscribers, partial_subscribers },
          { subscribers: undefined, partial_subscribers: undefined, ...view },
        )
      }
    }
}

test('an answer is written as it would be without the others before it', compare)

test('each change of users, channels, subscriptions and groups is in the next answer', async () => {
  const changes: [string, () => Promise<unknown>][] = [
    ['a name', () => hamlet.patch('/settings', { full_name: 'Prince Hamlet' })],
    ['a setting of addresses', () => ophelia.patch('/settings', { email_address_visibility: 4 })],
    ['a role', () => rig.owner.patch(`/users/${ophelia.user.id}`, { role: 300 })],
    ['a description', () => rig.owner.patch(`/streams/${castle.id}`, { description: 'of Elsinore' })],
    [
      'a permission',
      () =>
        rig.owner.patch(`/streams/${castle.id}`, {
          can_send_message_group: { new: { direct_members: [hamlet.user.id], direct_subgroups: [] } },
        }),
    ],
    ['a subscription', () => ophelia.post('/users/me/subscriptions', { subscriptions: [{ name: 'tower' }] })],
    ['its end', () => hamlet.delete('/users/me/subscriptions', { subscriptions: ['tower'] })],
    ['a first message', () => hamlet.post('/messages', { type: 'channel', to: castle.id, topic: 'a', content: 'b' })],
    [
      'a message that wakes',
      () => ophelia.post('/messages', { type: 'channel', to: tower.id, topic: 'a', content: 'b' }),
    ],
    ['a new account', async () => rig.account('laertes')],
    ['a deactivated account', () => rig.owner.delete(`/users/${yorick.user.id}`)],
    ['an account that is back', () => rig.owner.post(`/users/${yorick.user.id}/reactivate`)],
    ['an archived channel', () => rig.owner.delete(`/streams/${castle.id}`)],
  ]
  for (const [name, change] of changes) {
    await compare()
    await change()
    await assert.doesNotReject(compare(), name)
  }
})

test('a channel that falls silent is told so', async () => {
  const [before] = (await ophelia.register()).snapshot.streams.filter(({ name }: { name: string }) => name === 'tower')
  assert.equal(before.is_recently_active, true)
  rig.advance(181 * 86_400)
  const [after] = (await ophelia.register()).snapshot.streams.filter(({ name }: { name: string }) => name === 'tower')
  assert.equal(after.is_recently_active, false)
  await compare()
})
