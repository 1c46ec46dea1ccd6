/** How often a snapshot, and events of a channel, read groups that are nested deeply: not once for each channel or account. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { MutableCollection } from '../../../firmware/chat/realm/model/collection.ts'
import type { Channel, Group, User } from '../../../firmware/chat/realm/model/records.ts'
import { viewersOf } from '../../../firmware/chat/realm/permissions/channel-find.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, me, other } = await chatSuite({ me: 'member', other: 'member' })

const LAYERS = 15
const GROUPS_OF_LAYER = 20
const PEOPLE = 1000
const CHANNELS = 500
const FAR = 1_000_000

test('groups are read a few times, however many channels, settings and accounts ask about them', async () => {
  const { state } = rig.chat.realm
  const { id } = rig.channel('model', [rig.owner])
  const set = <T>(collection: unknown, key: number, record: T) => (collection as MutableCollection<T>).set(key, record)
  for (let n = 0; n < PEOPLE; n++) {
    const email = `p${n}@example.com`
    set<User>(state.user, FAR + n, { ...me.user, id: FAR + n, email, deliveryEmail: email, fullName: `Person ${n}` })
  }

  let reads = 0
  const counted = (ids: number[]): number[] =>
    new Proxy(ids, {
      get(target, name, receiver) {
        if (typeof name === 'string' && /^\d+$/.test(name)) reads++
        return Reflect.get(target, name, receiver)
      },
    })
  const groupId = (layer: number, n: number): number => FAR + layer * GROUPS_OF_LAYER + n
  const model: Group = { ...state.groupByName.get('role:members')!, isSystem: false, groupSettings: {} }
  let written = 0
  for (let layer = 0; layer < LAYERS; layer++)
    for (let n = 0; n < GROUPS_OF_LAYER; n++) {
      const isLast = layer === LAYERS - 1
      const subgroups = isLast ? [] : Array.from({ length: GROUPS_OF_LAYER }, (_, at) => groupId(layer + 1, at))
      const members = isLast ? Array.from({ length: PEOPLE / GROUPS_OF_LAYER }, (_, at) => FAR + n + at * 20) : []
      written += subgroups.length + members.length
      const own = {
        id: groupId(layer, n),
        name: `g${layer}x${n}`,
        members: counted(members),
        subgroups: counted(subgroups),
      }
      set<Group>(state.group, own.id, { ...model, ...own })
    }
  const channel = state.channel.get(id)!
  for (let n = 0; n < CHANNELS; n++) {
    const groupSettings = {
      can_subscribe_group: groupId(0, n % GROUPS_OF_LAYER),
      can_add_subscribers_group: { direct_members: [], direct_subgroups: [groupId(1, n % GROUPS_OF_LAYER)] },
      can_administer_channel_group: groupId(2, n % GROUPS_OF_LAYER),
    }
    const own = { id: FAR + n, recipientId: FAR + n, name: `c${n}`, isPrivate: true, groupSettings }
    set<Channel>(state.channel, own.id, { ...channel, ...own })
  }
  const organization = state.organization.get(2)!
  const groupSettings = {
    ...organization.groupSettings,
    can_create_public_channel_group: groupId(0, 0),
    can_create_private_channel_group: groupId(0, 1),
    can_mention_many_users_group: groupId(0, 2),
  }
  set(state.organization, 2, { ...organization, groupSettings })

  const expectReads = async (act: () => unknown, times: number): Promise<void> => {
    reads = 0
    await act()
    assert.ok(reads > 0)
    assert.ok(reads <= times * written, `${reads} reads of ${written} ids in groups`)
  }
  // The list of all groups and three policies that groups decide read them once each, writing them once or twice more.
  await expectReads(() => me.register(), 8)
  await expectReads(() => other.register(), 8)
  for (const user of state.user.all()) if (user.id >= FAR) rig.chat.realm.events.register(queueOf(user.id))
  await expectReads(() => assert.equal(viewersOf(rig.chat.realm, state.channel.get(FAR)!).length, PEOPLE), 3)
})

const queueOf = (userId: number): never =>
  ({
    userId,
    shape: {},
    eventTypes: null,
    allPublicStreams: false,
    narrow: [],
    clientName: 'test',
    lifespanMs: 1e6,
  }) as never
