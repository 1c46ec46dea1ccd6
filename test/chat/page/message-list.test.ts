/** Lists of messages while events come: firmware/chat-page/model, against a real chat, without a browser. */

import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { defined } from '../../../firmware/base/defined.ts'
import { conversationOf } from '../../../firmware/chat-page/model/conversation.ts'
import { createMessageList, type ListSource, NEWEST, sourceOf } from '../../../firmware/chat-page/model/message-list.ts'
import { applyEvent, createRealmView } from '../../../firmware/chat-page/model/realm.ts'
import { recentConversations } from '../../../firmware/chat-page/model/recent.ts'
import type { QueueEvent } from '../../../firmware/chat-page/model/types.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })
const channel = rig.channel('general', [hamlet, ophelia])
const { signal } = new AbortController()
const EVERYTHING: ListSource = { key: 'all', conversation: null, narrow: [], holds: () => true }

const realFetch = globalThis.fetch
afterEach(() => {
  globalThis.fetch = realFetch
})

/** Calls of the page go to the chat of this file. `meanwhile` runs between an answer and its arrival. */
function answer(meanwhile: () => Promise<unknown> = async () => {}): void {
  globalThis.fetch = async (input) => {
    const url = new URL(String(input), 'https://chat')
    const body = await hamlet.get(url.pathname.replace('/api/v1', ''), Object.fromEntries(url.searchParams))
    await meanwhile()
    return new Response(JSON.stringify(body), { headers: { 'content-type': 'application/json' } })
  }
}

async function open() {
  const queue = await hamlet.register({
    client_capabilities: { notification_settings_null: true, empty_topic_name: true, bulk_message_deletion: true },
  })
  const realm = createRealmView(queue.snapshot)
  const read = async () => {
    for (const event of (await queue.events()) as QueueEvent[]) applyEvent(realm, event)
  }
  return { realm, read }
}

const send = async (topic: string, content = 'x'): Promise<number> =>
  (await ophelia.post('/messages', { type: 'stream', to: channel.id, topic, content })).id
const topicOf = (topic: string) => sourceOf({ kind: 'topic', channelId: channel.id, topic }, hamlet.user.id)

test('changes whose events come before the answer to the fetch are in the list, once', async () => {
  const { realm, read } = await open()
  const [edited, deleted, moved] = [await send('late'), await send('late'), await send('late')]
  await read()
  const list = createMessageList(topicOf('late'), hamlet.user.id, () => {})
  realm.lists.add(list)
  answer(async () => {
    await send('late', 'written meanwhile')
    await ophelia.patch(`/messages/${edited}`, { content: 'edited meanwhile' })
    await rig.owner.delete(`/messages/${deleted}`)
    await rig.owner.patch(`/messages/${moved}`, { topic: 'elsewhere', propagate_mode: 'change_one' })
    await ophelia.post(`/messages/${edited}/reactions`, { emoji_name: 'tada' })
    await read()
  })
  await list.open(null, signal)
  assert.deepEqual(
    list.messages.map(({ content, reactions }) => [content.replace(/<[^>]*>/g, ''), reactions.length]),
    [
      ['edited meanwhile', 1],
      ['written meanwhile', 0],
    ],
  )
  assert.equal(list.hasNewest, true)
})

test('a message that comes while the newest page is fetched is not lost', async () => {
  const { realm, read } = await open()
  const first = await send('pages')
  for (let n = 0; n < 80; n++) await send('pages')
  await read()
  const list = createMessageList(topicOf('pages'), hamlet.user.id, () => {})
  realm.lists.add(list)
  answer()
  await list.open(first, signal)
  assert.deepEqual([list.messages.length, list.hasNewest], [51, false])
  let id = 0
  answer(async () => {
    id = await send('pages', 'the newest')
    await read()
  })
  await list.fetchNewer(signal)
  assert.deepEqual([list.messages.length, list.messages.at(-1)?.id, list.hasNewest], [82, id, true])
})

const idsOf = (list: { messages: readonly { id: number }[] }) => list.messages.map(({ id }) => id)

test('messages that are moved into an open conversation are fetched, in their order', async () => {
  const { realm, read } = await open()
  const first = await send('target')
  const [early, later] = [await send('source'), await send('source')]
  const last = await send('target')
  const newest = await send('source')
  await read()
  const list = createMessageList(topicOf('target'), hamlet.user.id, () => {})
  realm.lists.add(list)
  answer()
  await list.open(NEWEST, signal)
  assert.deepEqual([idsOf(list), list.hasNewest], [[first, last], true])
  for (const id of [newest, early, later]) {
    await rig.owner.patch(`/messages/${id}`, { topic: 'target', send_notification_to_new_thread: false })
    await read()
    if (id === newest) await list.fetchNewer(signal)
  }
  await send('target', 'not before those that lack')
  await read()
  await list.fetchNewer(signal)
  assert.deepEqual(idsOf(list).slice(0, 5), [first, early, later, last, newest])
  assert.deepEqual([list.messages.length, list.hasNewest, list.movedTo], [6, true, null])
})

test('a list knows where its last messages were moved to', async () => {
  const { realm, read } = await open()
  const ids = [await send('follow'), await send('follow')]
  await read()
  const list = createMessageList(topicOf('follow'), hamlet.user.id, () => {})
  realm.lists.add(list)
  answer()
  await list.open(null, signal)
  await rig.owner.patch(`/messages/${ids[0]}`, { topic: 'first' })
  await read()
  assert.deepEqual([idsOf(list), list.movedTo], [[ids[1]], null])
  await rig.owner.patch(`/messages/${ids[1]}`, { topic: '✔ follow', propagate_mode: 'change_all' })
  await read()
  assert.deepEqual([idsOf(list), list.movedTo], [[], { kind: 'topic', channelId: channel.id, topic: '✔ follow' }])
})

test('a page is added in portions, with what happens between them', async () => {
  const ids: number[] = []
  for (let n = 0; n < 30; n++) ids.push(await send('portions'))
  const sizes: number[] = []
  const list = createMessageList(
    topicOf('portions'),
    hamlet.user.id,
    () => {
      sizes.push(list.messages.length)
      if (list.messages.length !== 7) return
      // Neither of them is in the list yet.
      list.remove([defined(ids[1])])
      list.edit(defined(ids[2]), 'edited meanwhile', 1, false)
    },
    { ...{ firstEachSide: 1, page: 9, portion: 4, max: 50, elements: Number.POSITIVE_INFINITY } },
  )
  answer()
  await list.open(ids[11] ?? null, signal)
  sizes.length = 0
  await list.fetchOlder(signal)
  await list.fetchNewer(signal)
  assert.deepEqual(sizes, [7, 11, 11, 15, 19, 20])
  assert.deepEqual(
    list.messages.map(({ id }) => id),
    ids.slice(2, 22),
  )
  assert.equal(list.messages[0]?.content, 'edited meanwhile')
})

test('recent conversations follow what is sent, moved and deleted', async () => {
  const { realm, read } = await open()
  const list = createMessageList(EVERYTHING, hamlet.user.id, () => {}, {
    ...{ firstEachSide: 5, page: 5, portion: 5, max: 50, elements: Number.POSITIVE_INFINITY },
  })
  realm.lists.add(list)
  answer()
  await send('one')
  const two = await send('two')
  await hamlet.post('/messages', { type: 'stream', to: channel.id, topic: 'one', content: 'y' })
  await read()
  await list.open(NEWEST, signal)
  const names = () =>
    recentConversations(list.messages, hamlet.user.id).map(({ newest, senderIds }) => [newest.subject, ...senderIds])
  const [me, other] = [hamlet.user.id, ophelia.user.id]
  assert.deepEqual(names().slice(0, 2), [
    ['one', me, other],
    ['two', other],
  ])
  await hamlet.post('/messages', { type: 'direct', to: [other], content: 'z' })
  await read()
  const [newest] = recentConversations(list.messages, me)
  assert.deepEqual(newest?.conversation, { kind: 'direct', userIds: [other] })
  await rig.owner.patch(`/messages/${two}`, {
    ...{ topic: 'three', propagate_mode: 'change_one', send_notification_to_new_thread: false },
  })
  await read()
  assert.deepEqual(names()[2], ['three', other])
  await rig.owner.delete(`/messages/${two}`)
  await read()
  assert.equal(
    recentConversations(list.messages, me).some(({ newest }) => ['two', 'three'].includes(newest.subject)),
    false,
  )
  assert.deepEqual(conversationOf(list.messages[0] ?? assert.fail(), me).kind, 'topic')
})
