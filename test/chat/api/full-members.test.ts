/** Members become full members by the waiting period, and clients are told. Contract sections 2.1 and 4.4 (V41, V42, V56). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Channel } from '../../../firmware/chat/realm/model/records.ts'
import type { RegisteredQueue } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const DAY_S = 86_400

const { rig, hamlet } = chatForEachTest({ hamlet: 'member' })
const fullMembers = () => rig.chat.realm.state.groupByName.get('role:fullmembers')!.id
const joinable = (): Channel =>
  rig.channel('for full members', [rig.owner], {
    isPrivate: true,
    groupSettings: { can_subscribe_group: fullMembers() },
  })

const EVENTS = {
  event_types: ['user_group', 'stream', 'subscription'],
  client_capabilities: { notification_settings_null: true },
}

// biome-ignore lint/suspicious/noExplicitAny: members of any event
const brief = ({ type, op, group_id, user_ids, streams, stream_ids }: any) =>
  type === 'user_group'
    ? [op, group_id, user_ids]
    : type === 'stream'
      ? [op, op === 'create' ? streams.map(({ name }: { name: string }) => name) : stream_ids]
      : [op, stream_ids, user_ids]
const told = async (queue: RegisteredQueue) => (await queue.events()).map(brief)

/** Hamlet has become a full member, who may see the channel. */
async function expectEntered(own: RegisteredQueue, others: RegisteredQueue, channelId: number): Promise<void> {
  const entered = ['add_members', fullMembers(), [hamlet.user.id]]
  assert.deepEqual(await told(own), [
    entered,
    ['create', ['for full members']],
    ['peer_add', [channelId], [rig.owner.user.id]],
  ])
  assert.deepEqual(await told(others), [entered])
}

test('a longer waiting period hides private channels that only full members may join, and a shorter one shows them', async () => {
  const { id } = joinable()
  const own = await hamlet.register(EVENTS)
  const others = await rig.owner.register(EVENTS)
  await rig.owner.patch('/realm', { waiting_period_threshold: 3 })
  const left = ['remove_members', fullMembers(), [hamlet.user.id]]
  assert.deepEqual(await told(own), [left, ['delete', [id]]])
  assert.deepEqual(await told(others), [left])
  await rig.owner.patch('/realm', { waiting_period_threshold: 0 })
  await expectEntered(own, others, id)
})

test('when the waiting period of a member is over, their clients and those of others are told once', async () => {
  await rig.owner.patch('/realm', { waiting_period_threshold: 3 })
  const { id } = joinable()
  rig.advance(DAY_S)
  const later = rig.account('osric').user.id
  const own = await hamlet.register(EVENTS)
  const others = await rig.owner.register(EVENTS)
  rig.advance(2 * DAY_S - 1)
  await rig.chat.publishFullMembers()
  assert.deepEqual([await told(own), await told(others)], [[], []])
  rig.advance(1)
  await rig.chat.publishFullMembers()
  await expectEntered(own, others, id)
  await rig.chat.publishFullMembers()
  assert.deepEqual([await told(own), await told(others)], [[], []])
  rig.advance(DAY_S)
  await rig.owner.patch('/realm', { waiting_period_threshold: 30 })
  assert.deepEqual(await told(others), [
    ['add_members', fullMembers(), [later]],
    ['remove_members', fullMembers(), [hamlet.user.id]],
    ['remove_members', fullMembers(), [later]],
  ])
  assert.ok(
    (await hamlet.get('/user_groups')).user_groups.every(
      ({ members, id }: { members: number[]; id: number }) => id !== fullMembers() || !members.includes(later),
    ),
  )
})

test('the end of a waiting period while the chat was stopped is told after the start', async () => {
  await rig.owner.patch('/realm', { waiting_period_threshold: 1 })
  const others = await rig.owner.register(EVENTS)
  rig.pause()
  rig.advance(DAY_S)
  rig.resume()
  await rig.chat.publishFullMembers()
  assert.deepEqual(await told(others), [['add_members', fullMembers(), [hamlet.user.id]]])
  rig.reopen()
  await rig.chat.publishFullMembers()
  assert.deepEqual(await told(others), [])
})
