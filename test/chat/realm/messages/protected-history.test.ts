/** No action on a message reveals it to subscribers who came after it. Contract 3.2.2, 7.1, V51. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { Channel } from '../../../../firmware/chat/realm/model/records.ts'
import type { Client } from '../../support/chat.ts'
import { chatForEachTest } from '../../support/suite.ts'

const { rig, anna, ben } = chatForEachTest({ anna: 'member', ben: 'member' })
let secret: Channel
beforeEach(() => {
  secret = rig.channel('secret', [rig.owner, anna], { isPrivate: true, historyPublicToSubscribers: false })
})

async function send(sender: Client, to: number, topic: string, content: string): Promise<number> {
  return (await sender.post('/messages', { type: 'channel', to, topic, content })).id
}

const reads = async (client: Client, id: number): Promise<boolean> =>
  (await client.call('GET', `/messages/${id}`)).status === 200

const move = (id: number, { id: stream_id }: Channel) =>
  anna.patch(`/messages/${id}`, { stream_id, propagate_mode: 'change_all', send_notification_to_new_thread: false })

const join = (client: Client) =>
  rig.owner.post('/users/me/subscriptions', {
    subscriptions: [{ name: 'secret' }],
    principals: [client.user.id],
    send_new_subscription_messages: false,
  })

test('a move tells of what is edited with it only those who may read that', async () => {
  const before = await send(anna, secret.id, 't', 'old words')
  await join(ben)
  const after = await send(anna, secret.id, 't', 'later')
  const [bens, owners] = [await ben.register(), await rig.owner.register()]
  const values = { topic: 'u', propagate_mode: 'change_all', send_notification_to_new_thread: false }
  await anna.patch(`/messages/${before}`, { ...values, content: 'old words, amended' })
  const told = (await bens.events()).filter(({ type }) => type === 'update_message')
  assert.deepEqual(
    told.map(({ message_id, message_ids, subject }) => ({ message_id, message_ids, subject })),
    [{ message_id: after, message_ids: [after], subject: 'u' }],
  )
  assert.doesNotMatch(JSON.stringify(told), /old words/)
  const [whole] = (await owners.events()).filter(({ type }) => type === 'update_message')
  assert.deepEqual(
    [whole.message_id, whole.message_ids, whole.content],
    [before, [before, after], 'old words, amended'],
  )
})

test('a user who moves all readable messages of a topic moves the topic, as far as they can tell', async () => {
  const before = await send(anna, secret.id, 't', 'old')
  await join(ben)
  const after = await send(anna, secret.id, 't', 'later')
  await anna.post('/user_topics', { stream_id: secret.id, topic: 't', visibility_policy: 3 })
  const queue = await ben.register({ apply_markdown: true })
  await ben.patch(`/messages/${after}`, { topic: 'u', propagate_mode: 'change_all' })
  const [notice] = (await queue.events()).filter(({ type }) => type === 'message')
  assert.match(notice.message.content, /^<p>This topic was moved here from /)
  const { snapshot } = await anna.register()
  assert.deepEqual(
    snapshot.user_topics.map(({ topic_name, visibility_policy }: Record<string, unknown>) => [
      topic_name,
      visibility_policy,
    ]),
    [['u', 3]],
  )
  assert.equal((await anna.get(`/messages/${before}`)).message.subject, 't', 'an unreadable message stays')
})

test('a topic without readable messages looks like one that does not exist', async () => {
  await send(anna, secret.id, 'board meets buyer', 'old')
  await join(ben)
  const { group } = rig.chat.realm.state
  const members = [...group.all()].find(({ name }) => name === 'role:members')!.id
  await rig.owner.patch('/realm', { can_delete_any_message_group: { new: members } })
  const answers = async (topic_name: string) => {
    const values = { stream_id: secret.id, topic_name }
    const marked = await ben.call('POST', '/mark_topic_as_read', values)
    const deleted = await ben.call('POST', `/streams/${secret.id}/delete_topic`, values)
    return [marked, deleted].map(({ status, body }) => [status, body.msg.replace(topic_name, 'it')])
  }
  const none = [400, "No such topic 'it'"]
  for (const topic of ['nowhere', 'board meets buyer']) assert.deepEqual(await answers(topic), [none, none], topic)
  await send(anna, secret.id, 'board meets buyer', 'later')
  assert.deepEqual(
    (await answers('board meets buyer')).map(([status]) => status),
    [200, 200],
  )
})

test('subscribers of the channel to which a message is moved can read it from then on', async () => {
  const open = rig.channel('open', [anna])
  await join(ben)
  const id = await send(anna, open.id, 't', 'moved')
  const queue = await ben.register()
  await move(id, secret)
  const [told] = (await queue.events()).filter(({ type }) => type === 'update_message')
  assert.deepEqual([told.message_ids, told.new_stream_id, told.flags], [[id], secret.id, ['read', 'historical']])
  for (const client of [rig.owner, anna, ben]) assert(await reads(client, id), client.user.fullName)
  assert.deepEqual((await ben.get(`/users/me/${secret.id}/topics`)).topics, [{ name: 't', max_id: id }])
  await anna.patch(`/messages/${id}`, { content: 'amended' })
  assert.equal((await queue.events())[0].content, 'amended')
  await ben.post('/messages/flags', { messages: [id], op: 'add', flag: 'starred' })
  assert.deepEqual((await ben.get(`/messages/${id}`)).message.flags.sort(), ['historical', 'read', 'starred'])
  await rig.owner.delete(`/messages/${id}`)
  assert((await queue.events()).some(({ type }) => type === 'delete_message'))
})

test('a message that a move has hidden does not come back to later subscribers', async () => {
  const cara = rig.account('cara')
  const open = rig.channel('open', [anna, cara])
  const shared = rig.channel('shared', [anna], { isPrivate: true, creatorId: anna.user.id })
  const [id, other] = [await send(anna, open.id, 't', 'harmless'), await send(anna, open.id, 'u', 'harmless')]
  await move(id, secret)
  await move(other, shared)
  await anna.patch(`/messages/${id}`, { content: 'said before she came' })
  await join(cara)
  assert.equal(await reads(cara, id), false)
  assert.deepEqual((await cara.get(`/users/me/${secret.id}/topics`)).topics, [])
  assert.equal((await cara.register()).snapshot.unread_msgs.count, 0)
  await anna.patch(`/streams/${shared.id}`, { is_private: true, history_public_to_subscribers: false })
  await anna.post('/users/me/subscriptions', { subscriptions: [{ name: 'shared' }], principals: [cara.user.id] })
  assert.equal(await reads(cara, other), false, 'nor where history is protected since')
  await move(id, open)
  assert(await reads(cara, id), 'but where she may read all')
  await move(id, secret)
  assert(await reads(cara, id), 'and where she is subscribed by now')
})

test('users who may read a channel without a subscription keep the messages they had, and no others', async () => {
  const dora = rig.account('dora')
  const open = rig.channel('open', [anna, dora])
  const doras = { direct_members: [dora.user.id], direct_subgroups: [] }
  await rig.owner.patch(`/streams/${secret.id}`, { can_subscribe_group: { new: doras } })
  const [mine, others] = [await send(anna, open.id, 't', 'hers'), await send(anna, secret.id, 'u', 'not hers')]
  await move(mine, secret)
  assert.deepEqual([await reads(dora, mine), await reads(dora, others)], [true, false])
  const queue = await dora.register()
  await anna.patch(`/messages/${mine}`, { content: 'amended' })
  assert.equal((await queue.events())[0].content, 'amended')
  await dora.patch(`/messages/${mine}`, { topic: 'v', propagate_mode: 'change_all' })
  assert(await reads(dora, mine))
})

test('of messages moved together each goes to whom it reached where they lay', async () => {
  const cellar = rig.channel('cellar', [anna, ben], { isPrivate: true, historyPublicToSubscribers: false })
  const open = rig.channel('open', [anna, rig.owner])
  const first = await send(anna, secret.id, 't', 'before')
  await join(ben)
  const moved = await send(anna, open.id, 't', 'moved in')
  await move(moved, secret)
  const last = await send(anna, secret.id, 't', 'after')
  const queue = await rig.owner.register({
    client_capabilities: { notification_settings_null: true, bulk_message_deletion: true },
  })
  const bens = await ben.register()
  await anna.patch(`/messages/${first}`, { topic: 'u', propagate_mode: 'change_all' })
  const seen = (await bens.events()).find(({ type }) => type === 'update_message')
  assert.deepEqual(seen.message_ids, [moved, last])
  await move(first, cellar)
  const [lost] = (await queue.events()).filter(({ type }) => type === 'delete_message')
  assert.deepEqual(lost.message_ids.slice(0, 3), [first, moved, last])
  for (const id of [first, moved, last]) assert(await reads(ben, id))
  for (const id of [first, moved, last]) assert.equal(await reads(rig.owner, id), false)
})
