// @test short slow
/** Work on many messages by one request, its time and what others wait meanwhile: contract rows E20, E21, E48, E73, sections 9, 11.3. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { threadMs } from '../../../firmware/base/batch-size.ts'
import type { Channel } from '../../../firmware/chat/realm/model/records.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { gaps, hasOrdinal } from '../../../firmware/chat/realm/model/runs.ts'
import { organizationOf } from '../../../firmware/chat/realm/model/state.ts'
import { ID_OF_ROW } from '../../../firmware/chat/store/words.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const MESSAGES = process.env.COFFER_SLOW === undefined ? 6000 : 100_000
const WAIT_MAX_MS = 50
const MESSAGES_A_TURN_MAX = 2000 // contract row E20

const { rig, hamlet, cordelia } = await chatSuite({ hamlet: 'member', cordelia: 'member' })
const channel = rig.channel('verona', [rig.owner, hamlet, cordelia])
const aside = rig.channel('venice', [rig.owner, hamlet])

/** As if they had been sent, every fourth one to the other channel. */
function fill(count: number, sender = rig.owner): void {
  const { realm } = rig.chat
  realm.transaction(() => {
    const topics = [channel, aside].map(
      ({ recipientId }) =>
        realm.store.topics.find(recipientId, 'plans')?.id ?? realm.store.topics.add(recipientId, 'plans', 'plans'),
    )
    for (let number = 0; number < count; number++) {
      const place = number % 4 === 3 ? 1 : 0
      const { recipientId: recipient } = [channel, aside][place]!
      realm.store.messages.add({
        sender: sender.user.id,
        recipient,
        topic: topics[place]!,
        time: Math.floor(rig.now() / 1000),
        birth: recipient,
        ordinal: realm.store.messages.nextOrdinal(recipient),
        bits: 0,
        client: 'test',
        content: `message ${number}`,
        html: `<p>message ${number}</p>`,
        extra: '{}',
      })
    }
  })
}

const indexed = (word: string): number[] =>
  rig.chat.realm.store
    .select<{ id: number }>(`SELECT ${ID_OF_ROW} AS id FROM words WHERE words MATCH ? ORDER BY rowid`, [
      `text : "${word}"`,
    ])
    .map(({ id }) => id)

/** Returns the result of `act`, and the longest time that it has blocked the event loop. */
async function watched<T>(act: () => Promise<T>): Promise<{ answer: T; longestMs: number }> {
  let longestMs = 0
  let isOver = false
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const before = threadMs()
      await new Promise((resolve) => setImmediate(resolve))
      longestMs = Math.max(longestMs, threadMs() - before)
    }
  }
  const watching = watch()
  const answer = await act()
  isOver = true
  await watching
  return { answer, longestMs }
}

/** Ids in both channels, ascending. A snapshot has only the newest. */
function unreadOf({ user }: Client): number[] {
  const { store } = rig.chat.realm
  return [channel, aside]
    .flatMap(({ recipientId }) => {
      const read = store.flags.runs(user.id, recipientId, 'read')
      const rows = store.messages.sentBetween(recipientId, 1, MESSAGES, MESSAGES)
      return rows.filter(({ ordinal }) => !hasOrdinal(read, ordinal)).map(({ id }) => id)
    })
    .sort((a, b) => a - b)
}

function unreadIn(userId: number, { recipientId }: Channel): number {
  const { state, store } = rig.chat.realm
  const newest = store.messages.maxOrdinal(recipientId)
  const subscription = [...state.subscriptionsOf.get(userId).values()].find(
    ({ channelId }) => state.channel.get(channelId)!.recipientId === recipientId,
  )
  const read = store.flags.runs(userId, recipientId, 'read')
  return (subscription?.intervals ?? [])
    .flatMap(([from, to]) => gaps(read, from, to ?? newest))
    .reduce((sum, [from, to]) => sum + to - from + 1, 0)
}

async function meanwhile<T>(done: () => unknown, act: () => Promise<T>, other: () => unknown): Promise<T> {
  const before = JSON.stringify(done())
  const acting = act()
  while (JSON.stringify(done()) === before) await new Promise((resolve) => setImmediate(resolve))
  await other()
  return acting
}

const outOfTime = <T>(done: () => unknown, act: () => Promise<T>): Promise<T> =>
  meanwhile(done, act, () => rig.advance(51))

function shutOut({ user }: Client, { id }: Channel): void {
  const { realm } = rig.chat
  realm.transaction((turn) => {
    turn.put('subscription', { ...realm.state.subscriptionsOf.get(user.id).get(id)!, isActive: false })
    turn.put('user', { ...user, role: ROLES.guest })
  })
}

const readBy = ({ user }: Client) => [...rig.chat.realm.store.flags.allRuns(user.id, 'read')]

describe('Long work', () => {
  it(`marks ${MESSAGES} messages read, in parts when its time is over, and others go on meanwhile (E20)`, async () => {
    fill(MESSAGES)
    const queue = await hamlet.register({ event_types: ['update_message_flags'] })
    const partly = await outOfTime(
      () => readBy(hamlet),
      () => hamlet.call('POST', '/mark_all_as_read'),
    )
    assert.deepEqual(partly.body, {
      result: 'partially_completed',
      msg: '',
      code: 'REQUEST_TIMEOUT',
      complete: false,
    })
    const left = unreadOf(hamlet)
    assert.ok(left.length > 0 && left.length < MESSAGES, `${left.length} are left`)
    const newest = rig.chat.realm.store.messages.maxId()
    const told = (await queue.events()).flatMap(({ messages, all }) => {
      assert.equal(all, false)
      return messages as number[]
    })
    assert.equal(told.length, MESSAGES - left.length)
    assert.ok(Math.min(...told) > left.at(-1)! && Math.max(...told) === newest, 'the newest first')
    const { answer, longestMs } = await watched(() => hamlet.post('/mark_all_as_read'))
    assert.deepEqual(answer, { result: 'success', msg: '', complete: true })
    assert.ok(longestMs < WAIT_MAX_MS, `others waited ${longestMs} ms`)
    assert.deepEqual(unreadOf(hamlet), [])
    const events = await queue.events()
    assert.deepEqual([events.at(-1).all, events.at(-1).messages], [true, []])
    assert.deepEqual((await hamlet.post('/mark_all_as_read')).complete, true)
  })

  it('marks a channel read and leaves the others (E21)', async () => {
    const before = unreadOf(rig.owner)
    const inAside = new Set(rig.chat.realm.store.messages.idsOf(aside.recipientId))
    const partly = await outOfTime(
      () => readBy(rig.owner),
      () => rig.owner.call('POST', '/mark_stream_as_read', { stream_id: channel.id }),
    )
    assert.equal(partly.body.result, 'partially_completed')
    const left = unreadOf(rig.owner)
    assert.ok(left.length < before.length)
    assert.equal(left.filter((id) => inAside.has(id)).length, inAside.size)
    const { longestMs } = await watched(() => rig.owner.post('/mark_stream_as_read', { stream_id: channel.id }))
    assert.ok(longestMs < WAIT_MAX_MS, `others waited ${longestMs} ms`)
    assert.deepEqual(unreadOf(rig.owner), [...inAside])
    await cordelia.refused('BAD_REQUEST', 'POST', '/mark_stream_as_read', { stream_id: 9999 })
    const secret = rig.channel('secret', [hamlet], { isPrivate: true })
    await cordelia.refused('BAD_REQUEST', 'POST', '/mark_stream_as_read', { stream_id: secret.id })
  })

  it('deletes a topic, in parts when its time is over, and goes on when it is asked again (E48)', async () => {
    const path = `/streams/${channel.id}/delete_topic`
    const values = { topic_name: 'Plans' }
    const ids = rig.chat.realm.store.messages.idsOf(channel.recipientId)
    const capabilities = { notification_settings_null: true, bulk_message_deletion: true }
    const queue = await cordelia.register({ event_types: ['delete_message'], client_capabilities: capabilities })
    await cordelia.refused('BAD_REQUEST', 'POST', path, values)
    const partly = await outOfTime(
      () => rig.chat.realm.store.messages.count(),
      () => rig.owner.call('POST', path, values),
    )
    assert.deepEqual(partly.body, {
      result: 'partially_completed',
      msg: '',
      code: 'REQUEST_TIMEOUT',
      complete: false,
    })
    const left = rig.chat.realm.store.messages.idsOf(channel.recipientId)
    assert.ok(left.length > 0 && left.length < ids.length, `${left.length} are left`)
    assert.deepEqual(left, ids.slice(0, left.length), 'the newest first')
    const { answer, longestMs } = await watched(() => rig.owner.post(path, values))
    assert.equal(answer.complete, true)
    assert.ok(longestMs < WAIT_MAX_MS, `others waited ${longestMs} ms`)
    assert.deepEqual(indexed('message'), rig.chat.realm.store.messages.idsOf(aside.recipientId), 'their words are gone')
    const events = await queue.events()
    assert.ok(events.length > 1)
    assert.deepEqual(
      events.flatMap(({ message_ids }) => message_ids).sort((a, b) => a - b),
      ids,
    )
    for (const { message_type, stream_id, topic, message_ids } of events) {
      assert.deepEqual([message_type, stream_id, topic], ['stream', channel.id, 'plans'])
      assert.deepEqual(
        message_ids,
        message_ids.toSorted((a: number, b: number) => a - b),
      )
    }
    await rig.owner.refused('BAD_REQUEST', 'POST', path, values)
    assert.equal(rig.chat.realm.state.channel.get(channel.id)!.firstMessageId, null)
  })

  it(`deletes with an account the ${MESSAGES} messages that it wrote, and others go on meanwhile (E73)`, async () => {
    const falstaff = rig.account('falstaff')
    const before = indexed('message')
    fill(MESSAGES, falstaff)
    assert.equal(indexed('message').length, before.length + MESSAGES)
    const { longestMs } = await watched(() =>
      rig.owner.delete(`/users/${falstaff.user.id}`, { actions: { delete_public_channel_messages: true } }),
    )
    assert.ok(longestMs < WAIT_MAX_MS, `others waited ${longestMs} ms`)
    assert.deepEqual(indexed('message'), before)
    assert.equal(rig.chat.realm.state.erasure.size, 0)
  })

  it('deletes the messages of a topic that the caller can read and may delete (E48)', async () => {
    const members = [rig.owner, hamlet]
    const secret = rig.channel('shut', members, { isPrivate: true, historyPublicToSubscribers: false })
    const say = async (content: string): Promise<number> =>
      (await hamlet.post('/messages', { type: 'stream', to: secret.id, topic: 'plans', content })).id
    const early = await say('before')
    const moderator = rig.account('moderator', ROLES.moderator)
    await rig.owner.post('/users/me/subscriptions', {
      subscriptions: [{ name: 'shut' }],
      principals: [moderator.user.id],
    })
    await say('after')
    const path = `/streams/${secret.id}/delete_topic`
    await moderator.refused('BAD_REQUEST', 'POST', path, { topic_name: 'plans' })
    rig.chat.realm.transaction((turn) => {
      const group = rig.chat.realm.state.groupByName.get('role:moderators')!.id
      const organization = organizationOf(rig.chat.realm.state)
      turn.put('organization', { ...organization, groupSettings: { can_delete_any_message_group: group } })
    })
    assert.equal((await moderator.post(path, { topic_name: 'plans' })).complete, true)
    assert.deepEqual(rig.chat.realm.store.messages.idsOf(secret.recipientId), [early])
    await cordelia.refused('BAD_REQUEST', 'POST', path, { topic_name: 'plans' })
    const unknown = await moderator.refused('BAD_REQUEST', 'POST', path, { topic_name: 'unknown' })
    await rig.owner.delete(`/streams/${secret.id}`)
    const archived = await rig.owner.refused('BAD_REQUEST', 'POST', path, { topic_name: 'plans' })
    assert.equal(archived.body.msg, unknown.body.msg.replace('unknown', 'plans'), 'as if there were none')
  })

  it(`marks what lies unread in a channel as read, some in a turn, before people leave it (E53, E54)`, async () => {
    const people = [hamlet, cordelia]
    const unread = (): number => people.reduce((sum, { user }) => sum + unreadIn(user.id, channel), 0)
    const leave = async (act: () => Promise<unknown>): Promise<void> => {
      let isOver = false
      const acting = act().finally(() => {
        isOver = true
      })
      let [before, most] = [unread(), 0]
      while (!isOver) {
        await new Promise((resolve) => setImmediate(resolve))
        const left = unread()
        most = Math.max(most, before - left)
        before = left
      }
      await acting
      assert.ok(most > 0 && most <= MESSAGES_A_TURN_MAX, `${most} in one turn`)
    }

    fill(MESSAGES)
    const elsewhere = unreadIn(hamlet.user.id, aside)
    const queue = await hamlet.register({ event_types: ['update_message_flags', 'subscription'] })
    const principals = people.map(({ user }) => user.id)
    await leave(() => rig.owner.delete('/users/me/subscriptions', { subscriptions: ['verona'], principals }))
    const events = await queue.events()
    const kinds = events.map(({ type, op }) => `${type} ${op}`)
    assert.ok(kinds.indexOf('subscription remove') > kinds.lastIndexOf('update_message_flags add'))
    assert.equal(events.flatMap(({ messages }) => messages ?? []).length, (MESSAGES / 4) * 3)
    assert.equal(unreadIn(hamlet.user.id, aside), elsewhere)

    await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name: 'verona' }] })
    fill(MESSAGES)
    await leave(() => hamlet.patch('/users/me/subscriptions', { delete: ['verona'] }))

    await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name: 'verona' }] })
    const gone = unread() // numbers of messages that were deleted
    fill(8)
    const refused = { subscriptions: ['verona'], principals: [hamlet.user.id] }
    await cordelia.refused('BAD_REQUEST', 'DELETE', '/users/me/subscriptions', refused)
    assert.equal(unread() - gone, 6, 'of whom nobody may remove nothing is marked')
  })

  it('ends where the caller loses what it takes, with what is done by then (E21, E22, E48)', async () => {
    const admin = rig.account('admin', ROLES.administrator)
    fill(MESSAGES)
    const left = (): number => rig.chat.realm.store.messages.idsOf(channel.recipientId).length
    const before = left()
    const deleted = await meanwhile(
      left,
      () => admin.call('POST', `/streams/${channel.id}/delete_topic`, { topic_name: 'plans' }),
      () => rig.owner.patch(`/users/${admin.user.id}`, { role: ROLES.member }),
    )
    assert.equal(deleted.body.msg, "You don't have permission to delete this topic")
    assert.ok(left() > 0 && left() < before, `${left()} are left`)

    for (const path of ['/mark_stream_as_read', '/mark_topic_as_read']) {
      const reader = rig.account(`reader${path.length}`)
      await reader.post('/users/me/subscriptions', { subscriptions: [{ name: 'venice' }] })
      fill(MESSAGES)
      const marked = await meanwhile(
        () => readBy(reader),
        () => reader.call('POST', path, { stream_id: aside.id, topic_name: 'plans' }),
        () => shutOut(reader, aside),
      )
      assert.equal(marked.body.msg, 'Invalid channel ID', path)
    }
  })
})
