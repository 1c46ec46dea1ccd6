/** Telling moderators of a message: contract row E25, both paths (11.6). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, claudius } = await chatSuite({ hamlet: 'member', claudius: 'member' })
const channelId = rig.channel('court', [hamlet, claudius]).id

const sendTo = async (to: object, content: string): Promise<number> =>
  (await claudius.post('/messages', { ...to, content })).id
const inChannel = () => ({ type: 'stream', to: channelId, topic: 'throne' })

test('/messages/:message_id/report: without a channel for them there are no reports', async () => {
  const id = await sendTo(inChannel(), 'poison')
  const { body } = await hamlet.refused('BAD_REQUEST', 'POST', `/messages/${id}/report`, { report_type: 'spam' })
  assert.match(body.msg, /Moderation request channel/)
})

test('/messages/:message_id/report: the Notification Bot posts reporter, message and reason in a topic of the author', async () => {
  const moderation = rig.channel('moderation', [rig.owner], { isPrivate: true })
  await rig.owner.patch('/realm', { moderation_request_channel_id: moderation.id })
  const queue = await rig.owner.register({ event_types: ['message'], apply_markdown: false })
  const ids = [
    await sendTo(inChannel(), 'poison ```in``` the ear'),
    await sendTo({ type: 'direct', to: [hamlet.user.id] }, '@**Hamlet Test** you are next'),
  ]
  await hamlet.post(`/messages/${ids[0]}/report`, { report_type: 'harassment', description: ' They  did it. ' })
  await hamlet.post(`/message/${ids[1]}/report`, { report_type: 'other', description: 'A threat' })
  const [first, second] = (await queue.events()).map(({ message }) => message)
  for (const message of [first, second]) {
    assert.equal(message.sender_full_name, 'Notification Bot')
    assert.equal(message.stream_id, moderation.id)
    assert.equal(message.subject, "Claudius Test's moderation requests")
    assert.match(message.content, /@_\*\*Hamlet Test\|\d+\*\* reported/)
  }
  assert.match(first.content, /#\*\*court>throne@\d+\*\*. Reason: \*\*Harassment\*\*/)
  assert.match(first.content, /They {2}did it\./)
  assert.match(first.content, /````quote\npoison ```in``` the ear\n````$/)
  assert.match(second.content, /a direct message. Reason: \*\*Other reason\*\*/)
  assert.deepEqual(
    (
      await hamlet.get('/messages', { anchor: 'newest', num_before: 1, num_after: 0, narrow: [['is', 'mentioned']] })
    ).messages.map(({ id }: { id: number }) => id),
    [ids[1]],
    'a quotation mentions nobody',
  )
})

test('/messages/:message_id/report: what cannot be read, has no such kind or no explanation is refused', async () => {
  const id = await sendTo(inChannel(), 'more poison')
  const own = (
    await claudius.post('/messages', { type: 'direct', to: [claudius.user.id], content: 'my offence is rank' })
  ).id
  await hamlet.refused('BAD_REQUEST', 'POST', `/messages/${own}/report`, { report_type: 'spam' })
  await hamlet.refused('BAD_REQUEST', 'POST', '/messages/9999/report', { report_type: 'spam' })
  await hamlet.refused('BAD_REQUEST', 'POST', `/messages/${id}/report`, { report_type: 'other' })
  await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', `/messages/${id}/report`, { report_type: 'treason' })
  await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', `/messages/${id}/report`, {
    report_type: 'spam',
    description: 'x'.repeat(1001),
  })
  await hamlet.post(`/messages/${id}/report`, { report_type: 'norms', description: '😀'.repeat(1000) })
})

test('/messages/:message_id/report: nobody keeps a message from being reported by its length as HTML', async () => {
  const queue = await rig.owner.register({ event_types: ['message'], apply_markdown: false })
  const id = await sendTo(inChannel(), 'a'.repeat(10_000))
  await hamlet.post(`/messages/${id}/report`, { report_type: 'spam' })
  assert.equal((await queue.events()).length, 1)
})

test('/messages/:message_id/report: a channel that is not private is none for reports, which quote direct messages', async () => {
  const { owner } = rig
  const mustBePrivate = async (path: string, values: object): Promise<void> => {
    const { body } = await owner.refused('BAD_REQUEST', 'PATCH', path, { ...values })
    assert.match(body.msg, /Moderation request channel must be private/)
  }
  await mustBePrivate('/realm', { moderation_request_channel_id: channelId })
  const { id } = rig.channel('reports', [owner], { isPrivate: true })
  await owner.patch('/realm', { moderation_request_channel_id: id, enable_spectator_access: true })
  await mustBePrivate(`/streams/${id}`, { is_private: false })
  await mustBePrivate(`/streams/${id}`, { is_private: false, is_web_public: true })
  await owner.patch(`/streams/${id}`, { history_public_to_subscribers: true, description: 'Of what is wrong' })

  const direct = await sendTo({ type: 'direct', to: [hamlet.user.id] }, 'between us')
  const { realm } = rig.chat
  realm.transaction((turn) => turn.put('channel', { ...realm.state.channel.get(id)!, isPrivate: false })) // stored so before
  const { body } = await hamlet.refused('BAD_REQUEST', 'POST', `/messages/${direct}/report`, { report_type: 'spam' })
  assert.match(body.msg, /Moderation request channel must be specified/)
})
