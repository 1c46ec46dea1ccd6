/** The unread messages of a register are those that the rows say, whatever was moved, deleted, read or kept before. Contract section 4.2.1. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ensureConversation, ensureTopic } from '../../../firmware/chat/realm/messages/location.ts'
import { isMuted, newestUnread } from '../../../firmware/chat/realm/messages/unread.ts'
import { unreadToJson } from '../../../firmware/chat/realm/messages/unread-json.ts'
import type { Channel, User } from '../../../firmware/chat/realm/model/records.ts'
import { addRun } from '../../../firmware/chat/realm/model/runs.ts'
import { topicName } from '../../../firmware/chat/realm/model/topic-names.ts'
import { setUserTopic } from '../../../firmware/chat/realm/objects/user-topics.ts'
import { visibilityOf } from '../../../firmware/chat/realm/permissions/visibility.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, iago, cordelia } = await chatSuite({ hamlet: 'member', iago: 'member', cordelia: 'guest' })
const { realm } = rig.chat
const { store } = realm
const all: Client[] = [rig.owner, hamlet, iago, cordelia]
const everybody: User[] = all.map(({ user }) => user)

const channels: Channel[] = [
  rig.channel('town', all),
  rig.channel('hall', all),
  rig.channel('kept', all, { isPrivate: true, historyPublicToSubscribers: false }),
  rig.channel('closed', [rig.owner, hamlet], { isPrivate: true }),
]
const conversations = realm.transaction((tx) =>
  [[hamlet, iago], [hamlet, cordelia, iago], [hamlet]].map((clients) =>
    ensureConversation(
      realm,
      tx,
      hamlet.user,
      clients.map(({ user }) => user.id),
    ),
  ),
)
const TOPICS = ['', 'a', 'B', 'with "quotes"', '日本語', 'ünder'] as const

let state = Number(process.env.COFFER_SEED ?? 1)
function below(limit: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
  return Math.floor((state / 2 ** 32) * limit)
}
const one = <T>(list: readonly T[]): T => list[below(list.length)]!

const same = { time: 1_700_000_000, bits: 0, client: 'test', content: 'x', html: '<p>x</p>', extra: '{}' }
const sent: number[] = []

function send(count: number): void {
  realm.transaction(() => {
    for (let n = 0; n < count; n++) {
      const isDirect = below(5) === 0
      const channel = one(channels)
      const recipient = isDirect ? one(conversations).recipientId : channel.recipientId
      const topic = isDirect ? 0 : ensureTopic(realm, channel, one(TOPICS))
      const ordinal = store.messages.nextOrdinal(recipient)
      const id = store.messages.add({ ...same, sender: one(everybody).id, recipient, topic, birth: recipient, ordinal })
      sent.push(id)
      if (below(40) === 0) store.flags.setMention(one(everybody).id, id, one([1, 2, 4, 8]))
    }
  })
}

function read(count: number): void {
  realm.transaction(() => {
    for (let n = 0; n < count; n++) {
      const row = store.messages.get(one(sent))
      if (row === undefined) continue
      const user = one(everybody)
      const runs = addRun(store.flags.runs(user.id, row.birth, 'read'), row.ordinal, row.ordinal + below(30))
      store.flags.setRuns(user.id, row.birth, 'read', runs)
    }
  })
}

function remove(): void {
  const id = one(sent)
  if (store.messages.get(id) === undefined) return
  realm.transaction(() => {
    store.messages.remove(id)
    store.flags.removeMessage(id)
  })
}

/** Some messages to another channel, with an arrival in private ones. */
function move(): void {
  const ids = Array.from({ length: 1 + below(20) }, () => one(sent)).filter(
    (id) => (store.messages.get(id)?.topic ?? 0) > 0,
  )
  if (ids.length === 0) return
  const channel = one(channels)
  realm.transaction(() => {
    const arrival = channel.isPrivate ? store.messages.nextOrdinal(channel.recipientId) : 0
    const topic = ensureTopic(realm, channel, one(TOPICS))
    store.messages.place(ids, { recipient: channel.recipientId, topic, extra: '{}', arrival })
    for (const id of ids) {
      const user = one(everybody)
      if (!visibilityOf(realm, user).received(store.messages.get(id)!)) store.flags.addHistory(user.id, id)
    }
  })
}

function mute(): void {
  realm.transaction((tx) =>
    setUserTopic(realm, tx, one(everybody).id, one(channels), one(TOPICS), one([0, 1, 2] as const)),
  )
}

/** Leaves a channel, or comes back. */
function subscribeOrNot(): void {
  const [{ id, recipientId }, user] = [one(channels), one(everybody)]
  const subscription = realm.state.everSubscribedTo.get(id).get(user.id)
  if (subscription === undefined) return
  const newest = store.messages.maxOrdinal(recipientId)
  const { isActive, intervals } = subscription
  const last = intervals.at(-1)!
  const after = isActive
    ? [...intervals.slice(0, -1), [last[0], newest] as const]
    : [...intervals, [newest + 1, null] as const]
  realm.transaction((tx) => tx.put('subscription', { ...subscription, isActive: !isActive, intervals: after }))
}

function archiveOrNot(): void {
  const { id } = one(channels)
  const channel = realm.state.channel.get(id)!
  realm.transaction((tx) => tx.put('channel', { ...channel, isArchived: !channel.isArchived }))
}

/** Without columns, ranges and texts: row by row. */
function expected(user: User, can: { archived_channels: boolean; empty_topic_name: boolean }, max: number) {
  const visibility = visibilityOf(realm, user)
  const readable = [...newestUnread(realm, user).filter(visibility.canRead)]
  const rows = readable.slice(0, max).reverse()
  const shown = rows.filter(
    ({ recipient }) => can.archived_channels || realm.state.channelByRecipient.get(recipient)?.isArchived !== true,
  )
  const groups = Map.groupBy(shown, ({ topic, recipient }) => (topic > 0 ? `topic ${topic}` : `place ${recipient}`))
  const answer = { count: 0, pms: [] as unknown[], streams: [] as unknown[], huddles: [] as unknown[] }
  for (const [{ topic, recipient }, ids] of [...groups.values()].map(
    (all) => [all[0]!, all.map(({ id }) => id)] as const,
  )) {
    const channel = realm.state.channelByRecipient.get(recipient)
    const name = store.topics.get(topic)?.name ?? ''
    if (channel === undefined || !isMuted(realm, user, channel, name)) answer.count += ids.length
    if (channel !== undefined) {
      const topic = topicName(name, can.empty_topic_name)
      answer.streams.push({ stream_id: channel.id, topic, unread_message_ids: ids })
      continue
    }
    const { userIds } = realm.state.conversation.get(recipient)!
    const other = userIds.find((id) => id !== user.id) ?? user.id
    if (userIds.length > 2) answer.huddles.push({ user_ids_string: userIds.join(','), unread_message_ids: ids })
    else answer.pms.push({ other_user_id: other, sender_id: other, unread_message_ids: ids })
  }
  const mentions = shown.map(({ id }) => id).filter((id) => (store.flags.mention(user.id, id) & 7) !== 0)
  return { ...answer, mentions, old_unreads_missing: readable.length > max }
}

const FORMS = [
  { archived_channels: true, empty_topic_name: true },
  { archived_channels: false, empty_topic_name: false },
]

function expectEqual(max?: number): void {
  for (const user of everybody)
    for (const form of FORMS) {
      const json = unreadToJson(realm, user, form as Parameters<typeof unreadToJson>[2], max)
      assert.deepEqual(JSON.parse(json.pieces.join('')), expected(user, form, max ?? 50_000))
    }
}

test('columns say what rows say, while messages are sent, read, moved and removed', () => {
  send(2000)
  for (let round = 0; round < 30; round++) {
    send(below(30))
    if (below(3) > 0) read(below(8))
    if (below(2) === 0) move()
    if (below(2) === 0) remove()
    if (below(4) === 0) mute()
    if (below(4) === 0) subscribeOrNot()
    if (below(6) === 0) archiveOrNot()
    expectEqual(round % 2 === 0 ? undefined : below(2500))
  }
})
