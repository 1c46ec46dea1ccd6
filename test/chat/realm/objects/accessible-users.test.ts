/** Guests who see only whom they meet: a change of a channel looks at the accounts concerned, within a budget. Level 232. */

import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import type { MutableCollection } from '../../../../firmware/chat/realm/model/collection.ts'
import type { Subscription, User } from '../../../../firmware/chat/realm/model/records.ts'
import { ROLES } from '../../../../firmware/chat/realm/model/roles.ts'
import { openTestChat, type TestChat } from '../../support/chat.ts'

const GUESTS = 300
const CHANNELS = 20
const FAR = 1_000_000

async function openWithLimitedGuests(): Promise<TestChat> {
  const rig = await openTestChat()
  const { id } = rig.chat.realm.state.groupByName.get('role:members')!
  await rig.owner.patch('/realm', { can_access_all_users_group: { new: id } })
  return rig
}

const set = <T>(collection: unknown, key: number | string, record: T) =>
  (collection as MutableCollection<T>).set(key, record)

async function fillWithGuests(rig: TestChat, guests: number, channels: number): Promise<{ ids: number[] }> {
  const { state, events } = rig.chat.realm
  const guest = rig.account('guest', ROLES.guest)
  const { id: modelChannel } = rig.channel('model', [guest])
  const subscription = state.subscriptionsOf.get(guest.user.id).get(modelChannel)!
  const ids = Array.from({ length: guests }, (_, n) => FAR + n)
  for (const id of ids) {
    const email = `g${id}@example.com`
    set<User>(state.user, id, { ...guest.user, id, email, deliveryEmail: email, fullName: `Guest ${id}` })
    const own = { userId: id, shape: {}, eventTypes: new Set(), allPublicStreams: false, narrow: [] }
    events.register({ ...own, clientName: 'test', lifespanMs: 1e9 } as never)
  }
  const channelIds = Array.from({ length: channels }, (_, n) => (n === 0 ? modelChannel : rig.channel(`c${n}`, []).id))
  for (const channelId of channelIds)
    for (const userId of ids)
      set<Subscription>(state.subscription, `${userId},${channelId}`, { ...subscription, userId, channelId })
  return { ids }
}

test('who comes to a channel is looked for among its guests, not everybody they know among everybody', async (t) => {
  const rig = await openWithLimitedGuests()
  t.after(rig.close)
  const { state } = rig.chat.realm
  const { ids } = await fillWithGuests(rig, GUESTS, CHANNELS)
  const newcomer = rig.account('newcomer')
  let looks = 0
  const find = state.subscribersOf.get
  const subscribersOf = mock.method(state.subscribersOf, 'get', (id: number) => {
    return new Proxy(find(id), {
      get(target, name) {
        if (name === 'has') looks++
        if (name === 'keys') looks += target.size
        const member = Reflect.get(target, name, target)
        return typeof member === 'function' ? member.bind(target) : member
      },
    })
  })
  await rig.owner.post('/users/me/subscriptions', {
    subscriptions: [{ name: 'model' }],
    principals: [newcomer.user.id],
    send_new_subscription_messages: false,
  })
  subscribersOf.mock.restore()
  assert.ok(looks >= GUESTS)
  assert.ok(looks <= 3 * GUESTS * CHANNELS, `${looks} looks`)
  for (const id of ids) assert.ok(rig.chat.realm.events.hasQueue(id), 'each was told')
})

test('beyond the budget of one change the queues of further guests end, so that their clients begin anew', async (t) => {
  const rig = await openWithLimitedGuests()
  t.after(rig.close)
  const { state, events } = rig.chat.realm
  const { ids } = await fillWithGuests(rig, 400, 10)
  const newcomers = Array.from({ length: 1000 }, (_, n) => FAR + 10_000 + n)
  for (const id of newcomers) {
    const email = `n${id}@example.com`
    set<User>(state.user, id, {
      ...rig.owner.user,
      id,
      role: ROLES.member,
      email,
      deliveryEmail: email,
      fullName: `N ${id}`,
    })
  }
  await rig.owner.post('/users/me/subscriptions', {
    subscriptions: [{ name: 'model' }],
    principals: newcomers,
    send_new_subscription_messages: false,
  })
  const told = ids.filter((id) => events.hasQueue(id)).length
  assert.ok(told > 100 && told < 250, `${told} guests have their queues`)
})
