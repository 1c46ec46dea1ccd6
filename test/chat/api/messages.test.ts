/** Messages: contract section 3.2, with the events and flags that they cause. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, hamlet, cordelia } = chatForEachTest({ hamlet: 'member', cordelia: 'member' })

const send = (client: Client, to: number | number[], content: string, topic?: string, more = {}) =>
  client.post('/messages', { type: typeof to === 'number' ? 'channel' : 'direct', to, content, topic, ...more })

test('POST /messages: a message reaches subscribers and nobody else, in one order, with the flags of each', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const own = await hamlet.register({ apply_markdown: true })
  const others = await cordelia.register()
  const strangers = await rig.owner.register()
  const { id } = await send(hamlet, channel.id, 'To be', 'Plays', {
    queue_id: own.snapshot.queue_id,
    local_id: '17.1',
    read_by_sender: true,
  })
  const [event] = (await own.events()).filter(({ type }) => type === 'message')
  assert.equal(event.message.id, id)
  assert.equal(event.message.content, '<p>To be</p>')
  assert.equal(event.message.content_type, 'text/html')
  assert.equal(event.message.subject, 'Plays')
  assert.equal(event.message.stream_id, channel.id)
  assert.equal(event.message.display_recipient, 'Denmark')
  assert.equal(event.message.sender_id, hamlet.user.id)
  assert.equal(event.message.client, 'test')
  assert.equal(event.local_message_id, '17.1')
  assert.deepEqual(event.flags, ['read'])
  const [seen] = (await others.events()).filter(({ type }) => type === 'message')
  assert.equal(seen.message.content, 'To be')
  assert.equal(seen.message.content_type, 'text/x-markdown')
  assert.equal('local_message_id' in seen, false)
  assert.deepEqual(seen.flags, [])
  assert.deepEqual(
    (await strangers.events()).filter(({ type }) => type === 'message'),
    [],
  )
})

test('POST /messages: direct messages have one conversation for each set of people, notes to oneself too', async () => {
  const queue = await cordelia.register()
  const first = await send(hamlet, [cordelia.user.id], 'one')
  const second = await cordelia.post('/messages', { type: 'private', to: hamlet.user.email, content: 'two' })
  const self = await send(cordelia, [], 'nothing').catch(() => null)
  assert.equal(self, null)
  const note = await send(cordelia, [cordelia.user.id], 'note')
  const messages = (await queue.events()).filter(({ type }) => type === 'message').map(({ message }) => message)
  assert.deepEqual(
    messages.map(({ id }) => id),
    [first.id, second.id, note.id],
  )
  assert.equal(messages[0].recipient_id, messages[1].recipient_id)
  assert.notEqual(messages[0].recipient_id, messages[2].recipient_id)
  assert.deepEqual(
    messages[0].display_recipient.map(({ id }: { id: number }) => id),
    [hamlet.user.id, cordelia.user.id],
  )
  assert.equal(messages[0].type, 'private')
  const snapshot = (await cordelia.register()).snapshot
  assert.deepEqual(snapshot.recent_private_conversations, [
    { max_message_id: note.id, user_ids: [] },
    { max_message_id: second.id, user_ids: [hamlet.user.id] },
  ])
})

test('POST /messages: what cannot be sent is refused with the code that says why', async () => {
  const secret = rig.channel('Secret', [cordelia], { isPrivate: true, historyPublicToSubscribers: false })
  const archived = rig.channel('Old', [hamlet], { isArchived: true })
  const quiet = rig.channel('Quiet', [hamlet], { topicsPolicy: 'disable_empty_topic' })
  const values = { type: 'stream', content: 'x', topic: 'y' }
  await hamlet.refused('STREAM_DOES_NOT_EXIST', 'POST', '/messages', { ...values, to: 'Nowhere' })
  const { body } = await hamlet.refused('STREAM_DOES_NOT_EXIST', 'POST', '/messages', { ...values, to: secret.id })
  assert.equal(body.stream_id, secret.id)
  await hamlet.refused('BAD_REQUEST', 'POST', '/messages', { ...values, to: archived.id })
  await hamlet.refused('BAD_REQUEST', 'POST', '/messages', { ...values, to: quiet.id, topic: '(no topic)' })
  await hamlet.refused('BAD_REQUEST', 'POST', '/messages', { ...values, to: quiet.id, content: ' \n ' })
  await hamlet.refused('BAD_REQUEST', 'POST', '/messages', { type: 'direct', to: [99], content: 'x' })
  await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/messages', { type: 'direct', to: [99] })
  await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/messages', { ...values, type: 'letter', to: [99] })
  await hamlet.refused('REQUEST_CONFUSING_VAR', 'POST', '/messages', { ...values, to: quiet.id, subject: 'z' })
})

test('/messages/:message_id: what lies in an archived channel stays as it is, and is read', async () => {
  const [channel, other] = [rig.channel('Old', [hamlet]), rig.channel('New', [hamlet])]
  const { id } = await send(hamlet, channel.id, 'To be', 'Plays')
  await hamlet.post(`/messages/${id}/reactions`, { emoji_name: 'tada' })
  await rig.owner.delete(`/streams/${channel.id}`)
  const tries: [string, string, Record<string, unknown>][] = [
    ['PATCH', `/messages/${id}`, { content: 'or not' }],
    ['PATCH', `/messages/${id}`, { topic: 'Games' }],
    ['PATCH', `/messages/${id}`, { stream_id: other.id }],
    ['DELETE', `/messages/${id}`, {}],
    ['POST', `/messages/${id}/reactions`, { emoji_name: 'heart' }],
    ['DELETE', `/messages/${id}/reactions`, { emoji_name: 'tada' }],
    ['POST', `/messages/${id}/typing`, { op: 'start' }],
  ]
  for (const client of [hamlet, rig.owner])
    for (const [method, path, values] of tries) {
      const { body } = await client.refused('BAD_REQUEST', method, path, values)
      assert.equal(body.msg, 'Invalid message(s)', `${method} ${path} ${JSON.stringify(values)}`)
    }
  const { message } = await hamlet.get(`/messages/${id}`, { apply_markdown: false })
  assert.equal(message.content, 'To be')
  assert.equal(message.reactions.length, 1)
})

test('POST /messages: long contents and topics are cut, and say so', async () => {
  const channel = rig.channel('Denmark', [hamlet])
  const { id } = await send(hamlet, channel.id, '🙂'.repeat(10_001), 't'.repeat(70))
  const { message } = await hamlet.get(`/messages/${id}`, { apply_markdown: false })
  assert.equal([...message.content].length, 10_000)
  assert.ok(message.content.endsWith('\n[message truncated]'))
  assert.equal(message.subject, `${'t'.repeat(57)}...`)
})

test('GET /messages/:message_id: unknown and inaccessible messages are one answer', async () => {
  const secret = rig.channel('Secret', [cordelia], { isPrivate: true, historyPublicToSubscribers: false })
  const { id } = await send(cordelia, secret.id, 'hush', 'x')
  const hidden = await hamlet.refused('BAD_REQUEST', 'GET', `/messages/${id}`)
  const missing = await hamlet.refused('BAD_REQUEST', 'GET', '/messages/12345')
  assert.deepEqual(hidden.body, missing.body)
})

test('GET /messages/:message_id: later subscribers of a public channel read its history, marked as read', async () => {
  const channel = rig.channel('Denmark', [hamlet])
  const { id } = await send(hamlet, channel.id, 'before', 'x')
  const { message } = await cordelia.get(`/messages/${id}`)
  assert.deepEqual(message.flags, ['read', 'historical'])
})

test('PATCH /messages/:message_id: an edit is told to readers, kept in the history and bound to its hash', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const { id } = await send(hamlet, channel.id, 'first', 'x')
  const queue = await cordelia.register({ apply_markdown: true })
  const hash = createHash('sha256').update('first').digest('hex')
  rig.advance(10)
  await hamlet.refused('EXPECTATION_MISMATCH', 'PATCH', `/messages/${id}`, {
    content: 'second',
    prev_content_sha256: hash.replace(/^./, (digit) => (digit === '0' ? '1' : '0')),
  })
  const { detached_uploads } = await hamlet.patch(`/messages/${id}`, { content: 'second', prev_content_sha256: hash })
  assert.deepEqual(detached_uploads, [])
  const [event] = await queue.events()
  assert.equal(event.type, 'update_message')
  assert.equal(event.message_id, id)
  assert.deepEqual(event.message_ids, [id])
  assert.equal(event.rendering_only, false)
  assert.equal(event.content, 'second')
  assert.equal(event.orig_rendered_content, '<p>first</p>')
  assert.deepEqual(event.flags, [])
  const { message } = await cordelia.get(`/messages/${id}`)
  assert.equal(message.content, '<p>second</p>')
  assert.equal(message.edit_history[0].prev_content, 'first')
  assert.equal(typeof message.last_edit_timestamp, 'number')
  const { message_history } = await cordelia.get(`/messages/${id}/history`)
  assert.deepEqual(
    message_history.map(({ content }: { content: string }) => content),
    ['first', 'second'],
  )
  assert.match(message_history[1].content_html_diff, /highlight_text_inserted">second/)
  await cordelia.refused('BAD_REQUEST', 'PATCH', `/messages/${id}`, { content: 'mine' })
  await hamlet.refused('BAD_REQUEST', 'PATCH', `/messages/${id}`, {})
  await hamlet.refused('BAD_REQUEST', 'PATCH', `/messages/${id}`, { content: 'second' })
  rig.advance(10 * 60 + 20)
  await hamlet.refused('BAD_REQUEST', 'PATCH', `/messages/${id}`, { content: 'third' })
})

test('PATCH /messages/:message_id: a topic is moved whole, with its notices, and its messages stay read or unread', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const first = await send(hamlet, channel.id, 'one', 'old')
  const second = await send(hamlet, channel.id, 'two', 'old')
  await cordelia.post('/messages/flags', { messages: [first.id], op: 'add', flag: 'read' })
  const queue = await cordelia.register()
  await hamlet.patch(`/messages/${first.id}`, {
    topic: 'new',
    propagate_mode: 'change_all',
    send_notification_to_old_thread: true,
  })
  const [move, ...rest] = await queue.events()
  assert.equal(move.type, 'update_message')
  assert.deepEqual(move.message_ids, [first.id, second.id])
  assert.equal(move.orig_subject, 'old')
  assert.equal(move.subject, 'new')
  const notices = rest.filter(({ type }) => type === 'message').map(({ message }) => [message.subject, message.content])
  assert.equal(notices.length, 2)
  assert.deepEqual(
    notices.map(([topic]) => topic),
    ['new', 'old'],
  )
  assert.match(notices[0]![1]!, /moved here from #\*\*Denmark>old\*\* by @_\*\*Hamlet Test\|\d+\*\*/)
  const { message } = await cordelia.get(`/messages/${first.id}`)
  assert.equal(message.subject, 'new')
  assert.deepEqual(message.flags, ['read'])
  assert.equal(message.edit_history[0].prev_topic, 'old')
  assert.equal(typeof message.last_moved_timestamp, 'number')
  const { unread_msgs } = (await cordelia.register()).snapshot
  const moved = unread_msgs.streams.find(({ topic }: { topic: string }) => topic === 'new')
  assert.ok(moved.unread_message_ids.includes(second.id))
  assert.ok(!moved.unread_message_ids.includes(first.id))
})

test('PATCH /messages/:message_id: moving into a private channel takes the messages from those who are not in it', async () => {
  const open = rig.channel('Denmark', [hamlet, cordelia])
  const secret = rig.channel('Secret', [hamlet], { isPrivate: true, historyPublicToSubscribers: false })
  const { id } = await send(hamlet, open.id, 'one', 'topic')
  const queue = await cordelia.register({
    client_capabilities: { notification_settings_null: true, bulk_message_deletion: true },
  })
  const old = await cordelia.register()
  await rig.owner.refused('STREAM_DOES_NOT_EXIST', 'PATCH', `/messages/${id}`, { stream_id: secret.id })
  await hamlet.patch(`/messages/${id}`, { stream_id: secret.id, send_notification_to_new_thread: false })
  const [event] = (await queue.events()).filter(({ type }) => type !== 'stream')
  assert.equal(event.type, 'delete_message')
  assert.deepEqual(event.message_ids, [id])
  assert.equal(event.stream_id, open.id)
  assert.equal(event.topic, 'topic')
  const [single] = (await old.events()).filter(({ type }) => type !== 'stream')
  assert.equal(single.message_id, id)
  await cordelia.refused('BAD_REQUEST', 'GET', `/messages/${id}`)
  assert.equal((await hamlet.get(`/messages/${id}`)).message.stream_id, secret.id)
})

test('PATCH /messages/:message_id: an old topic moved whole says how much of it may be moved; moderators are not bound', async () => {
  const channel = rig.channel('Denmark', [hamlet])
  const moderator = rig.account('shiva', ROLES.moderator)
  await send(hamlet, channel.id, 'old', 'topic')
  rig.advance(8 * 86_400)
  const { id } = await send(hamlet, channel.id, 'new', 'topic')
  const values = { topic: 'other', propagate_mode: 'change_all' }
  const { body } = await hamlet.refused('MOVE_MESSAGES_TIME_LIMIT_EXCEEDED', 'PATCH', `/messages/${id}`, values)
  assert.deepEqual(
    [body.first_message_id_allowed_to_move, body.total_messages_in_topic, body.total_messages_allowed_to_move],
    [id, 2, 1],
  )
  await moderator.patch(`/messages/${id}`, values)
})

test('PATCH /messages/:message_id: resolving posts a notice that most have read; undone at once, it goes again', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const { id } = await send(hamlet, channel.id, 'one', 'topic')
  const queue = await cordelia.register()
  await hamlet.patch(`/messages/${id}`, { topic: '✔ topic', propagate_mode: 'change_all' })
  const notice = (await queue.events()).find(({ type }) => type === 'message')
  assert.match(notice.message.content, /has marked this topic as resolved\.$/)
  assert.deepEqual(notice.flags, ['read'])
  await hamlet.patch(`/messages/${id}`, { topic: 'topic', propagate_mode: 'change_all' })
  const events = await queue.events()
  assert.deepEqual(
    events.map(({ type }) => type),
    ['update_message', 'delete_message'],
  )
})

test('DELETE /messages/:message_id: a deleted message is gone for everybody who could see it', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const { id } = await send(hamlet, channel.id, 'one', 'topic')
  const queue = await cordelia.register()
  await cordelia.refused('BAD_REQUEST', 'DELETE', `/messages/${id}`)
  await hamlet.delete(`/messages/${id}`)
  const events = await queue.events()
  const deletion = events.find(({ type }) => type === 'delete_message')
  assert.deepEqual([deletion.message_id, deletion.message_type, deletion.topic], [id, 'stream', 'topic'])
  const first = events.find(({ type }) => type === 'stream')
  assert.deepEqual([first.property, first.value], ['first_message_id', null])
  await hamlet.refused('BAD_REQUEST', 'GET', `/messages/${id}`)
  const next = await send(hamlet, channel.id, 'two', 'topic')
  assert.ok(next.id > id)
})

test('GET /messages/:message_id/read_receipts: receipts are given where the organization has them, without those who give none', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia, rig.owner])
  const { id } = await send(hamlet, channel.id, 'one', 'topic')
  await hamlet.refused('BAD_REQUEST', 'GET', `/messages/${id}/read_receipts`)
  rig.chat.realm.transaction((turn) => {
    const organization = rig.chat.realm.state.organization.get(2)!
    turn.put('organization', { ...organization, settings: { enable_read_receipts: true } })
  })
  await cordelia.post('/messages/flags', { messages: [id], op: 'add', flag: 'read' })
  assert.deepEqual((await hamlet.get(`/messages/${id}/read_receipts`)).user_ids, [cordelia.user.id])
})

test('POST /messages/flags: events list only changed messages, and messages of a left channel cannot be marked unread', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const other = rig.channel('Elsinore', [hamlet])
  const first = await send(hamlet, channel.id, 'one', 'topic')
  const second = await send(hamlet, channel.id, 'two', 'topic')
  const foreign = await send(hamlet, other.id, 'three', 'topic')
  const queue = await cordelia.register()
  await cordelia.post('/messages/flags', { messages: [first.id], op: 'add', flag: 'read' })
  await cordelia.post('/messages/flags', { messages: [first.id, second.id], op: 'add', flag: 'read' })
  const [event, ...more] = await queue.events()
  assert.deepEqual(more, [], 'both are one event while nobody has read the first')
  assert.deepEqual(
    [event.op, event.operation, event.flag, event.messages, event.all],
    ['add', 'add', 'read', [first.id, second.id], false],
  )
  const answer = await cordelia.post('/messages/flags', {
    messages: [second.id, foreign.id],
    op: 'remove',
    flag: 'read',
  })
  assert.deepEqual(answer.messages, [second.id, foreign.id])
  assert.deepEqual(answer.ignored_because_not_subscribed_channels, [other.id])
  const [unread] = await queue.events()
  assert.deepEqual(unread.messages, [second.id])
  assert.deepEqual(unread.message_details[second.id], {
    type: 'stream',
    stream_id: channel.id,
    topic: 'topic',
    unmuted_stream_msg: true,
  })
  for (const wrong of [
    { op: 'add', flag: 'mentioned' },
    { op: 'toggle', flag: 'read' },
  ])
    await cordelia.refused('BAD_REQUEST', 'POST', '/messages/flags', { messages: [1], ...wrong })
})

test('POST /messages/flags: starring a message that the user did not receive adds it to their history, as read', async () => {
  const channel = rig.channel('Denmark', [hamlet])
  const { id } = await send(hamlet, channel.id, 'one', 'topic')
  await cordelia.post('/messages/flags', { messages: [id], op: 'add', flag: 'starred' })
  const { message } = await cordelia.get(`/messages/${id}`)
  assert.deepEqual(message.flags, ['read', 'starred', 'historical'])
  assert.deepEqual((await cordelia.register()).snapshot.starred_messages, [id])
})

test('POST /mark_all_as_read, 4.2.1: unread messages are listed by place, and all of them marked read', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const ids: number[] = []
  for (const topic of ['a', 'b', 'a']) ids.push((await send(hamlet, channel.id, 'x', topic)).id)
  const direct = await send(hamlet, [cordelia.user.id], 'x')
  const group = await send(hamlet, [cordelia.user.id, rig.owner.user.id], 'x')
  const { unread_msgs } = (await cordelia.register()).snapshot
  assert.equal(unread_msgs.count, 5)
  assert.deepEqual(unread_msgs.streams, [
    { stream_id: channel.id, topic: 'a', unread_message_ids: [ids[0], ids[2]] },
    { stream_id: channel.id, topic: 'b', unread_message_ids: [ids[1]] },
  ])
  assert.deepEqual(unread_msgs.pms, [
    { other_user_id: hamlet.user.id, sender_id: hamlet.user.id, unread_message_ids: [direct.id] },
  ])
  const everybody = [rig.owner, hamlet, cordelia].map(({ user }) => user.id).sort((a, b) => a - b)
  assert.deepEqual(unread_msgs.huddles, [{ user_ids_string: everybody.join(','), unread_message_ids: [group.id] }])
  assert.equal(unread_msgs.old_unreads_missing, false)
  assert.deepEqual(await cordelia.post('/mark_topic_as_read', { stream_id: channel.id, topic_name: 'A' }), {
    result: 'success',
    msg: '',
  })
  const queue = await cordelia.register()
  const { complete } = await cordelia.post('/mark_all_as_read')
  assert.equal(complete, true)
  const events = await queue.events()
  assert.deepEqual(events[0].messages, [ids[1], direct.id, group.id])
  assert.equal(events.at(-1).all, true)
  assert.equal((await cordelia.register()).snapshot.unread_msgs.count, 0)
})

test('/messages/:message_id/typing, POST /typing: typing is told to those who may see it, if they care', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const queue = await cordelia.register({
    client_capabilities: { notification_settings_null: true, stream_typing_notifications: true },
  })
  const plain = await cordelia.register()
  await hamlet.post('/typing', { op: 'start', to: [cordelia.user.id] })
  await hamlet.post('/typing', { op: 'start', type: 'stream', stream_id: channel.id, topic: '(no topic)' })
  const { id } = await send(hamlet, channel.id, 'one', 'topic')
  await hamlet.post(`/messages/${id}/typing`, { op: 'start' })
  await hamlet.post('/message_edit_typing', { message_id: id, op: 'stop' })
  const events = (await queue.events()).filter(({ type }) => type.startsWith('typing'))
  assert.deepEqual(
    events.map(({ type, op }) => `${type} ${op}`),
    ['typing start', 'typing start', 'typing_edit_message start', 'typing_edit_message stop'],
  )
  assert.deepEqual(
    events[0].recipients.map(({ user_id }: { user_id: number }) => user_id),
    [hamlet.user.id, cordelia.user.id],
  )
  assert.deepEqual([events[1].stream_id, events[1].topic], [channel.id, 'general chat'])
  assert.deepEqual(events[2].recipient, { type: 'channel', channel_id: channel.id, topic: 'topic' })
  assert.equal((await plain.events()).filter(({ type }) => type.startsWith('typing')).length, 1)
  await cordelia.refused('BAD_REQUEST', 'POST', `/messages/${id}/typing`, { op: 'start' })
})

test('/messages/:message_id/typing, POST /typing: the empty topic has its name for clients that know no other', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const topics = async (empty_topic_name: boolean) => {
    const queue = await cordelia.register({
      event_types: ['typing', 'typing_edit_message'],
      client_capabilities: { notification_settings_null: true, stream_typing_notifications: true, empty_topic_name },
    })
    const { id } = await send(hamlet, channel.id, 'one', '')
    await hamlet.post('/typing', { op: 'start', type: 'stream', stream_id: channel.id, topic: '' })
    await hamlet.post(`/messages/${id}/typing`, { op: 'start' })
    return (await queue.events()).map(({ topic, recipient }) => topic ?? recipient.topic)
  }
  assert.deepEqual(await topics(false), ['general chat', 'general chat'])
  assert.deepEqual(await topics(true), ['', ''])
})

test('a narrow of a registration filters messages alone', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const queue = await cordelia.register({
    narrow: [
      ['channel', 'denmark'],
      ['topic', 'A'],
    ],
  })
  await send(hamlet, channel.id, 'in', 'a')
  await send(hamlet, channel.id, 'out', 'b')
  const messages = (await queue.events()).filter(({ type }) => type === 'message')
  assert.deepEqual(
    messages.map(({ message }) => message.content),
    ['in'],
  )
  await cordelia.refused('BAD_NARROW', 'POST', '/register', { narrow: [['has', 'link']] })
  for (const operand of ['channel', 'stream']) {
    const inChannels = await cordelia.register({ narrow: [['is', operand]] })
    await hamlet.post('/messages', { type: 'direct', to: [cordelia.user.id], content: 'out' })
    await send(hamlet, channel.id, operand, 'b')
    const [event, ...more] = (await inChannels.events()).filter(({ type }) => type === 'message')
    assert.deepEqual([event.message.content, more], [operand, []])
  }
  await cordelia.refused('BAD_NARROW', 'POST', '/register', { narrow: [['is', 'nonsense']] })
})

test('/messages/:message_id/reactions: reactions are told, listed and taken back; a later one has the name of the first', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia])
  const { id } = await send(hamlet, channel.id, 'one', 'topic')
  const queue = await hamlet.register()
  await cordelia.post(`/messages/${id}/reactions`, { emoji_name: 'octopus' })
  await cordelia.refused('REACTION_ALREADY_EXISTS', 'POST', `/messages/${id}/reactions`, { emoji_name: 'octopus' })
  await hamlet.post(`/messages/${id}/reactions`, { emoji_name: 'eight_arms', emoji_code: '1f419' })
  await cordelia.refused('BAD_REQUEST', 'POST', `/messages/${id}/reactions`, { emoji_name: 'nothing_like_it' })
  await cordelia.refused('REQUEST_VARIABLE_INVALID', 'POST', `/messages/${id}/reactions`, { emoji_name: '<b>' })
  const [added] = await queue.events()
  assert.deepEqual(
    [added.type, added.op, added.emoji_name, added.emoji_code, added.reaction_type, added.user_id, added.message_id],
    ['reaction', 'add', 'octopus', '1f419', 'unicode_emoji', cordelia.user.id, id],
  )
  const { message } = await hamlet.get(`/messages/${id}`)
  assert.deepEqual(message.reactions, [
    { emoji_name: 'octopus', emoji_code: '1f419', reaction_type: 'unicode_emoji', user_id: cordelia.user.id },
    { emoji_name: 'octopus', emoji_code: '1f419', reaction_type: 'unicode_emoji', user_id: hamlet.user.id },
  ])
  await cordelia.delete(`/messages/${id}/reactions`, { emoji_code: '1f419' })
  await cordelia.refused('REACTION_DOES_NOT_EXIST', 'DELETE', `/messages/${id}/reactions`, { emoji_name: 'octopus' })
  await cordelia.refused('BAD_REQUEST', 'DELETE', `/messages/${id}/reactions`)
})

test('mentions of people, groups, everybody and alert words are flags of those they reach', async () => {
  const channel = rig.channel('Denmark', [hamlet, cordelia, rig.owner])
  rig.chat.realm.transaction((turn) => turn.put('alertWords', { userId: rig.owner.user.id, value: ['skull'] }))
  const flagsOf = async (client: Client, id: number) => (await client.get(`/messages/${id}`)).message.flags
  const named = await send(hamlet, channel.id, 'Alas @**Cordelia Test**, a skull', 'topic')
  assert.deepEqual(await flagsOf(cordelia, named.id), ['mentioned'])
  assert.deepEqual(await flagsOf(rig.owner, named.id), ['has_alert_word'])
  assert.deepEqual(await flagsOf(hamlet, named.id), [])
  const silent = await send(hamlet, channel.id, '@_**Cordelia Test**', 'topic')
  assert.deepEqual(await flagsOf(cordelia, silent.id), [])
  const all = await send(hamlet, channel.id, '@**all**', 'topic')
  assert.deepEqual(await flagsOf(cordelia, all.id), ['stream_wildcard_mentioned', 'wildcard_mentioned'])
  const topic = await send(hamlet, channel.id, '@**topic**', 'topic')
  assert.deepEqual(await flagsOf(cordelia, topic.id), [])
  assert.deepEqual((await cordelia.register()).snapshot.unread_msgs.mentions, [named.id, all.id])
  await hamlet.patch(`/messages/${named.id}`, { content: 'Alas' })
  assert.deepEqual(await flagsOf(cordelia, named.id), [])
})

test('POST /mark_topic_as_read: a topic is marked read, and there is none of another name', async () => {
  const channel = rig.channel('Padua', [hamlet, cordelia])
  const ids: number[] = []
  for (const topic of ['Plays', 'plays', 'Games']) ids.push((await send(hamlet, channel.id, 'words', topic)).id)
  const isRead = async (id: number) => (await cordelia.get(`/messages/${id}`)).message.flags.includes('read')
  await cordelia.post('/mark_topic_as_read', { stream_id: channel.id, topic_name: 'PLAYS' })
  assert.deepEqual(await Promise.all(ids.map(isRead)), [true, true, false])
  const values = { stream_id: channel.id, topic_name: 'Songs' }
  await cordelia.refused('BAD_REQUEST', 'POST', '/mark_topic_as_read', values)
  await cordelia.refused('BAD_REQUEST', 'POST', '/mark_topic_as_read', { ...values, stream_id: 9999 })
})

test('POST /messages/render: a text is rendered as it would be if it were sent', async () => {
  const content = `**bold** @**Cordelia Test|${cordelia.user.id}**`
  const { rendered } = await hamlet.post('/messages/render', { content })
  const channel = rig.channel('Mantua', [hamlet])
  const { id } = await send(hamlet, channel.id, content, 'Plays')
  assert.equal(rendered, (await hamlet.get(`/messages/${id}`)).message.content)
  assert.match(rendered, /<strong>bold<\/strong>/)
  await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/messages/render', {})
})
