/** How many ids the events of one change tell: contract section 9.1. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MutableCollection } from '../../../../firmware/chat/realm/model/collection.ts'
import type { Subscription } from '../../../../firmware/chat/realm/model/records.ts'
import { chatSuite } from '../../support/suite.ts'

const IDS_MAX = 1_000_000
const SUBSCRIBERS = 20_000
const FAR = 1_000_000 // ids that nobody has

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

test('accounts with a queue come to a large channel in several requests, others in one', async () => {
  const channel = rig.channel('large', [hamlet])
  const subscriptions = rig.chat.realm.state.subscription as MutableCollection<Subscription>
  const template = [...subscriptions.all()].find(({ channelId }) => channelId === channel.id)!
  for (let n = 1; n < SUBSCRIBERS; n++) subscriptions.set(`${FAR + n}:${channel.id}`, { ...template, userId: FAR + n })
  const most = IDS_MAX / SUBSCRIBERS
  const subscribe = (people: readonly { user: { id: number } }[]) =>
    rig.owner.call('POST', '/users/me/subscriptions', {
      subscriptions: [{ name: 'large' }],
      principals: people.map(({ user }) => user.id),
      send_new_subscription_messages: false,
    })

  const online = Array.from({ length: most + 1 }, (_, n) => rig.account(`online${n}`))
  for (const account of online)
    await account.register({ event_types: ['subscription'], fetch_event_types: ['alert_words'] })
  const { status, body } = await subscribe(online)
  assert.deepEqual([status, body.msg], [400, 'Too many subscriptions at once'])
  assert.equal((await hamlet.get(`/users/${online[0]!.user.id}/subscriptions/${channel.id}`)).is_subscribed, false)
  assert.equal((await subscribe(online.slice(0, most))).status, 200)

  const offline = Array.from({ length: most + 1 }, (_, n) => rig.account(`offline${n}`))
  assert.equal((await subscribe(offline)).status, 200)
})
