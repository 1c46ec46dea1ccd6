/** Scheduled messages and reminders: contract rows E29 to E35, V37, V40. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { SYSTEM_BOTS } from '../../../firmware/chat/realm/objects/organization.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

const BOT = SYSTEM_BOTS[0].email

const seconds = () => Math.floor(rig.now() / 1000)

async function pass(time: number): Promise<void> {
  rig.advance(time)
  await rig.chat.deliverDue()
}

// biome-ignore lint/suspicious/noExplicitAny: members of any event
const told = async (queue: { events(): Promise<any[]> }) => (await queue.events()).map(({ id, ...event }) => event)

/** Texts of direct messages with the Notification Bot, newest last. */
async function noticesTo(client: Client): Promise<string[]> {
  const { messages } = await client.get('/messages', {
    anchor: 'newest',
    num_before: 10,
    num_after: 0,
    narrow: [{ operator: 'dm', operand: [BOT] }],
    apply_markdown: false,
  })
  return messages.map(({ content }: { content: string }) => content)
}

describe('/scheduled_messages: scheduled messages', () => {
  it('to a channel and to people are listed, told to the sender alone, and sent once when it is time', async () => {
    const channel = rig.channel('castle', [hamlet, ophelia])
    const queue = await hamlet.register({ event_types: ['scheduled_messages', 'message'] })
    const hers = await ophelia.register({ event_types: ['scheduled_messages', 'message'] })
    const later = seconds() + 100
    const first = await hamlet.post('/scheduled_messages', {
      type: 'channel',
      to: channel.id,
      topic: ' night ',
      content: '**Who** is there?  ',
      scheduled_delivery_timestamp: later,
    })
    const second = await hamlet.post('/scheduled_messages', {
      type: 'direct',
      to: [ophelia.user.email],
      content: 'my lady',
      scheduled_delivery_timestamp: later - 50,
    })
    const toChannel = {
      scheduled_message_id: first.scheduled_message_id,
      type: 'stream',
      to: channel.id,
      topic: 'night',
      content: '**Who** is there?',
      rendered_content: '<p><strong>Who</strong> is there?</p>',
      scheduled_delivery_timestamp: later,
      failed: false,
    }
    const toOphelia = {
      scheduled_message_id: second.scheduled_message_id,
      type: 'private',
      to: [ophelia.user.id],
      content: 'my lady',
      rendered_content: '<p>my lady</p>',
      scheduled_delivery_timestamp: later - 50,
      failed: false,
    }
    assert.deepEqual((await hamlet.get('/scheduled_messages')).scheduled_messages, [toOphelia, toChannel])
    assert.deepEqual((await hamlet.register()).snapshot.scheduled_messages, [toOphelia, toChannel])
    assert.deepEqual((await ophelia.get('/scheduled_messages')).scheduled_messages, [])
    const type = 'scheduled_messages'
    assert.deepEqual(await told(queue), [
      { type, op: 'add', scheduled_messages: [toChannel] },
      { type, op: 'add', scheduled_messages: [toOphelia] },
    ])

    await pass(49)
    assert.deepEqual(await told(queue), [])
    await pass(1)
    const [message, removed, ...rest] = await told(queue)
    assert.deepEqual([message.message.content, message.message.timestamp], ['my lady', later - 50])
    assert.deepEqual(
      [removed, rest],
      [{ type, op: 'remove', scheduled_message_id: toOphelia.scheduled_message_id }, []],
    )
    rig.reopen()
    await pass(60)
    await pass(60)
    const all = await told(hers)
    assert.deepEqual(
      all.filter((event) => event.type === 'message').map(({ message }) => [message.content, message.subject]),
      [
        ['my lady', ''],
        ['**Who** is there?', 'night'],
      ],
    )
    assert.deepEqual((await hamlet.get('/scheduled_messages')).scheduled_messages, [])
  })

  it('are changed, to another place too, and taken back', async () => {
    const channel = rig.channel('court', [hamlet])
    const time = seconds() + 1000
    const { scheduled_message_id: id } = await hamlet.post('/scheduled_messages', {
      type: 'direct',
      to: [ophelia.user.id],
      content: 'x',
      scheduled_delivery_timestamp: time,
    })
    const queue = await hamlet.register({ event_types: ['scheduled_messages'] })
    const path = `/scheduled_messages/${id}`
    await hamlet.refused('BAD_REQUEST', 'PATCH', path, { type: 'channel' })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path, { type: 'channel', to: channel.id })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path, { scheduled_delivery_timestamp: seconds() })
    await hamlet.refused('BAD_REQUEST', 'PATCH', path, { content: ' ' })
    await hamlet.patch(path, { type: 'stream', to: channel.id, topic: 'play', content: 'y' })
    await hamlet.patch(path, { scheduled_delivery_timestamp: time + 1 })
    const [, update] = await told(queue)
    const { to, topic, content, scheduled_delivery_timestamp } = update.scheduled_message
    assert.deepEqual([update.op, to, topic, content], ['update', channel.id, 'play', 'y'])
    assert.equal(scheduled_delivery_timestamp, time + 1)
    for (const method of ['PATCH', 'DELETE'])
      assert.equal((await ophelia.refused('BAD_REQUEST', method, path, { content: 'z' })).status, 404)
    await hamlet.delete(path)
    assert.deepEqual(await told(queue), [{ type: 'scheduled_messages', op: 'remove', scheduled_message_id: id }])
    assert.equal((await hamlet.refused('BAD_REQUEST', 'DELETE', path)).status, 404)
  })

  it('are refused where sending would be, and for a time that has been', async () => {
    const secret = rig.channel('council', [ophelia], { isPrivate: true })
    const refuse = (code: string, values: Record<string, unknown>) =>
      hamlet.refused(code, 'POST', '/scheduled_messages', {
        type: 'direct',
        to: [ophelia.user.id],
        content: 'x',
        scheduled_delivery_timestamp: seconds() + 10,
        ...values,
      })
    await refuse('BAD_REQUEST', { scheduled_delivery_timestamp: seconds() })
    await refuse('BAD_REQUEST', { content: ' ' })
    await refuse('BAD_REQUEST', { to: [9999] })
    await refuse('STREAM_DOES_NOT_EXIST', { type: 'channel', to: secret.id })
    await refuse('REQUEST_VARIABLE_INVALID', { type: 'fax' })
    assert.deepEqual((await hamlet.get('/scheduled_messages')).scheduled_messages, [])
  })

  it('of senders without the right to send are kept as failed, with a notice to the sender, until they get another time', async () => {
    const channel = rig.channel('grave', [hamlet, ophelia])
    const { scheduled_message_id: id } = await hamlet.post('/scheduled_messages', {
      type: 'channel',
      to: channel.id,
      topic: 't',
      content: 'alas',
      scheduled_delivery_timestamp: seconds() + 10,
    })
    const queue = await hamlet.register({ event_types: ['scheduled_messages'] })
    await rig.owner.delete(`/streams/${channel.id}`)
    await pass(10)
    const [update] = await told(queue)
    assert.deepEqual([update.op, update.scheduled_message.failed], ['update', true])
    assert.match((await noticesTo(hamlet)).at(-1)!, /was not sent: .*archived/)
    await pass(1)
    assert.deepEqual(await told(queue), [])
    const path = `/scheduled_messages/${id}`
    const other = rig.channel('orchard', [hamlet])
    await hamlet.refused('BAD_REQUEST', 'PATCH', path, { to: other.id })
    await hamlet.patch(path, { to: other.id, scheduled_delivery_timestamp: seconds() + 10 })
    assert.equal((await hamlet.get('/scheduled_messages')).scheduled_messages[0].failed, false)
    await pass(10)
    assert.deepEqual((await hamlet.get('/scheduled_messages')).scheduled_messages, [])
  })

  it('of a time at which the chat was not there are not sent hours after it; a little later they are', async () => {
    const dm = { type: 'direct', to: [ophelia.user.id] }
    const queue = await ophelia.register({ event_types: ['message'] })
    const at = seconds()
    await hamlet.post('/scheduled_messages', { ...dm, content: 'late', scheduled_delivery_timestamp: at + 10 })
    await hamlet.post('/scheduled_messages', { ...dm, content: 'in time', scheduled_delivery_timestamp: at + 3000 })
    rig.pause()
    rig.advance(3100)
    rig.resume()
    await rig.chat.deliverDue()
    const heard = (await told(queue)).filter(({ type }) => type === 'message')
    assert.deepEqual(
      heard.map(({ message }) => message.content),
      ['in time'],
    )
    const [{ failed, scheduled_message_id: id }] = (await hamlet.get('/scheduled_messages')).scheduled_messages
    assert.equal(failed, true)
    await hamlet.delete(`/scheduled_messages/${id}`)
  })

  it('of a deactivated account are not sent', async () => {
    const yorick = rig.account('yorick')
    const queue = await ophelia.register({ event_types: ['message'] })
    await yorick.post('/scheduled_messages', {
      type: 'direct',
      to: [ophelia.user.id],
      content: 'from the grave',
      scheduled_delivery_timestamp: seconds() + 10,
    })
    await rig.owner.delete(`/users/${yorick.user.id}`)
    await pass(20)
    assert.deepEqual(await told(queue), [])
  })
})

describe('/reminders: reminders', () => {
  it('come as a direct message that quotes the message and the note', async () => {
    const channel = rig.channel('tower', [hamlet, ophelia])
    const content = 'Look:\n```\ncode\n```'
    const { id } = await ophelia.post('/messages', { type: 'channel', to: channel.id, topic: 'view', content })
    const queue = await hamlet.register({ event_types: ['reminders'] })
    const time = seconds() + 60
    const { reminder_id } = await hamlet.post('/reminders', {
      message_id: id,
      scheduled_delivery_timestamp: time,
      note: 'answer her',
    })
    const [{ op, reminders }] = await told(queue)
    assert.equal(op, 'add')
    const [reminder] = reminders
    const { content: text, rendered_content, ...rest } = reminder
    assert.deepEqual(rest, {
      reminder_id,
      type: 'private',
      to: [hamlet.user.id],
      scheduled_delivery_timestamp: time,
      failed: false,
      reminder_target_message_id: id,
    })
    assert.match(rendered_content, /<blockquote>.*<code>code/s)
    assert.deepEqual((await hamlet.get('/reminders')).reminders, reminders)
    assert.deepEqual((await hamlet.register()).snapshot.reminders, reminders)
    assert.deepEqual((await hamlet.get('/scheduled_messages')).scheduled_messages, [])
    await pass(59)
    assert.deepEqual(await told(queue), [])
    await pass(1)
    assert.deepEqual(await told(queue), [{ type: 'reminders', op: 'remove', reminder_id }])
    assert.equal((await noticesTo(hamlet)).at(-1), text)
    for (const part of ['answer her', `#**tower>view@${id}**`, '````quote', content]) assert(text.includes(part), part)
    await pass(10)
    assert.equal((await noticesTo(hamlet)).filter((notice) => notice === text).length, 1)
  })

  it('say nothing of a message that has gone, or that the user may no longer read', async () => {
    const channel = rig.channel('closet', [hamlet, ophelia], { isPrivate: true })
    const say = async (content: string): Promise<number> =>
      (await ophelia.post('/messages', { type: 'channel', to: channel.id, topic: 't', content })).id
    const ids = [await say('the first secret'), await say('the second secret')]
    for (const message_id of ids)
      await hamlet.post('/reminders', { message_id, scheduled_delivery_timestamp: seconds() + 30 })
    await rig.owner.delete(`/messages/${ids[0]}`).catch(() => ophelia.delete(`/messages/${ids[0]}`))
    const secrets = () => JSON.stringify([...rig.chat.realm.state.reminder.all()]).match(/the \w+ secret/g)
    assert.deepEqual([...new Set(secrets())], ['the second secret'], 'what was deleted is kept nowhere')
    await hamlet.delete('/users/me/subscriptions', { subscriptions: ['closet'] })
    for (const { content, rendered_content } of (await hamlet.get('/reminders')).reminders) {
      assert.match(rendered_content, /no longer there/)
      assert.doesNotMatch(content + rendered_content, /secret/)
    }
    await pass(30)
    const last = (await noticesTo(hamlet)).slice(-2)
    for (const text of last) {
      assert.match(text, /no longer there/)
      assert.doesNotMatch(text, /secret/)
    }
  })

  it('come without the text of a message that has become too long to be quoted, and hold up nothing else', async () => {
    const { id } = await hamlet.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'short' })
    const reminder = { message_id: id, scheduled_delivery_timestamp: seconds() + 30, note: 'look' }
    await hamlet.post('/reminders', reminder)
    const table = `${'|'.repeat(301)}\n${'|'.repeat(301)}\n${'|\n'.repeat(330)}`
    await hamlet.patch(`/messages/${id}`, { content: `${'x'.repeat(3270)}\n\n${table}` })
    await ophelia.post('/scheduled_messages', {
      type: 'direct',
      to: [hamlet.user.id],
      content: 'behind it',
      scheduled_delivery_timestamp: seconds() + 31,
    })
    await pass(31)
    assert.match((await noticesTo(hamlet)).at(-1)!, /note:\n\nlook\n\nThe message is too long to be quoted here\.$/)
    assert.deepEqual((await hamlet.get('/reminders')).reminders, [])
    assert.deepEqual((await ophelia.get('/scheduled_messages')).scheduled_messages, [])
  })

  it('that cannot be made is tried again, and those behind it do not wait', async () => {
    const { id } = await hamlet.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'broken' })
    const time = { scheduled_delivery_timestamp: seconds() + 30 }
    const { reminder_id } = await hamlet.post('/reminders', { message_id: id, ...time })
    const other = await ophelia.post('/reminders', {
      message_id: (await ophelia.post('/messages', { type: 'direct', to: [ophelia.user.id], content: 'well' })).id,
      scheduled_delivery_timestamp: seconds() + 31,
    })
    const { state } = rig.chat.realm
    const { get } = state.reminder
    state.reminder.get = (key) => {
      if (key === reminder_id) throw new Error('broken')
      return get.call(state.reminder, key)
    }
    try {
      await assert.rejects(pass(31), /broken/)
    } finally {
      state.reminder.get = get
    }
    const ids = () => [...state.reminder.all()].map((reminder) => reminder.id)
    assert.deepEqual([ids().includes(reminder_id), ids().includes(other.reminder_id)], [true, false])
    await pass(0)
    assert.ok(!ids().includes(reminder_id))
  })

  it('can be deleted by their creator, and are refused for messages that the user cannot read', async () => {
    const { id } = await ophelia.post('/messages', { type: 'direct', to: [ophelia.user.id], content: 'note to self' })
    const values = { message_id: id, scheduled_delivery_timestamp: seconds() + 30 }
    const unread = await hamlet.refused('BAD_REQUEST', 'POST', '/reminders', values)
    const unknown = await hamlet.refused('BAD_REQUEST', 'POST', '/reminders', { ...values, message_id: 999_999 })
    assert.equal(unread.body.msg, unknown.body.msg)
    await ophelia.refused('BAD_REQUEST', 'POST', '/reminders', { ...values, scheduled_delivery_timestamp: seconds() })
    await ophelia.refused('REQUEST_VARIABLE_INVALID', 'POST', '/reminders', { ...values, note: 'x'.repeat(501) })
    const { reminder_id } = await ophelia.post('/reminders', values)
    assert.equal((await hamlet.refused('BAD_REQUEST', 'DELETE', `/reminders/${reminder_id}`)).status, 404)
    await ophelia.delete(`/reminders/${reminder_id}`)
    assert.equal((await ophelia.refused('BAD_REQUEST', 'DELETE', `/reminders/${reminder_id}`)).status, 404)
    assert.deepEqual((await ophelia.get('/reminders')).reminders, [])
  })
})
