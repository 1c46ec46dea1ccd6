/** What somebody may not read, for it came before him, is told him by nothing that is done to it. Contract 3.2.2, 7.1, V51. */

import assert from 'node:assert/strict'
import { afterEach, beforeEach, test } from 'node:test'
import type { Channel } from '../../../../firmware/chat/realm/records.ts'
import { type Client, openTestChat, type TestChat } from '../../support/chat.ts'

let rig: TestChat
let anna: Client
let ben: Client
let secret: Channel

beforeEach(async () => {
  rig = await openTestChat()
  ;[anna, ben] = [rig.account('anna'), rig.account('ben')]
  secret = rig.channel('secret', [rig.owner, anna], { isPrivate: true, historyPublicToSubscribers: false })
})

afterEach(() => rig.close())

async function send(sender: Client, to: number, topic: string, content: string): Promise<number> {
  return (await sender.post('/messages', { type: 'channel', to, topic, content })).id
}

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

test('who moves all of a topic that he can read moves the topic, for all that he is told', async () => {
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
  assert.equal((await anna.get(`/messages/${before}`)).message.subject, 't', 'what he does not read stays')
})

test('a topic of which somebody can read nothing is as one that there is not', async () => {
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
