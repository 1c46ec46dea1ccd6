/**
 * Events that wait in queues name no other host in what a client fetches by itself: neither after a start on queues that an older version
 * saved, nor once the operator hides external previews. Contract section 6.3.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import type { RegisteredQueue } from '../support/chat.ts'
import { foreignFetches } from '../support/foreign-hosts.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, hamlet } = chatForEachTest({ hamlet: 'member' })

const A = 'https://a.example/a.png'
const preview = (url = A) => `<div class="message_inline_image"><a href="${url}"><img src="${url}"></a></div>`
const LINK = `<p><a href="${A}">${A}</a></p>`
const PICTURES = { externalPreviews: true }
const LINKS = { externalPreviews: false }

const setPreviews = (settings: object) => changeOperatorSettings(rig.chat.realm, settings)
const say = async (content: string): Promise<number> =>
  (await hamlet.post('/messages', { type: 'direct', to: [hamlet.user.id], content })).id
const withoutIds = async ({ events }: RegisteredQueue) => (await events()).map(({ id: _, ...event }) => event)

/** Reads the hub: the invented events have fewer members than the described ones. */
async function queued({ snapshot }: RegisteredQueue) {
  const { events } = rig.chat.realm
  const text = await events.poll(events.find(snapshot.queue_id, hamlet.user.id), -1, true, () => {})
  return (JSON.parse(text) as { id: number; type: string }[]).map(({ id: _, ...event }) => event)
}

/** Queues events in the form of a version that rendered every external preview. */
function queueFormerEvents(id: number): void {
  const { events } = rig.chat.realm
  const batch = events.begin()
  const publish = (type: string, body: object) => batch.add({ type, to: [hamlet.user.id], make: () => ({ ...body }) })
  publish('message', { message: { id, content: preview(), content_type: 'text/html' } })
  publish('message', { message: { id, content: preview(), content_type: 'text/x-markdown' } })
  publish('update_message', {
    message_id: id,
    content: preview(),
    rendered_content: preview(),
    orig_rendered_content: preview(),
  })
  publish('scheduled_messages', { op: 'add', scheduled_messages: [{ content: A, rendered_content: preview() }] })
  publish('reminders', { op: 'add', reminders: [{ content: A, rendered_content: preview() }] })
  const icon = { icon_url: 'https://secure.gravatar.com/avatar/00?d=identicon&version=1', icon_source: 'G' }
  publish('realm', { op: 'update_dict', property: 'icon', data: icon })
  batch.deliver()
}

test('queues that an older version saved are told without pictures of other hosts after a start', async () => {
  const id = await say('x')
  const queue = await hamlet.register({ apply_markdown: true })
  queueFormerEvents(id)
  rig.reopen()
  const told = (await queued(queue)).filter(({ type }) => type !== 'restart')
  assert.deepEqual(told, [
    { type: 'message', message: { id, content: LINK, content_type: 'text/html' } },
    { type: 'message', message: { id, content: preview(), content_type: 'text/x-markdown' } },
    {
      type: 'update_message',
      message_id: id,
      content: preview(),
      rendered_content: LINK,
      orig_rendered_content: LINK,
    },
    { type: 'scheduled_messages', op: 'add', scheduled_messages: [{ content: A, rendered_content: LINK }] },
    { type: 'reminders', op: 'add', reminders: [{ content: A, rendered_content: LINK }] },
    {
      type: 'realm',
      op: 'update_dict',
      property: 'icon',
      data: { icon_url: '/static/images/default-icon.png?version=0', icon_source: 'G' },
    },
  ])
})

test('the operator who shows pictures of other hosts keeps them in saved queues', async () => {
  setPreviews(PICTURES)
  const queue = await hamlet.register({ apply_markdown: true, event_types: ['message'] })
  await say(A)
  rig.reopen()
  const [event] = await withoutIds(queue)
  assert.deepEqual(foreignFetches(event.message.content), [A])
})

test('events that wait are told without pictures once the operator hides them, to every client that has not read them', async () => {
  setPreviews(PICTURES)
  const wanted = { apply_markdown: true, event_types: ['message', 'update_message'] }
  const queues = [await hamlet.register(wanted), await hamlet.register(wanted)]
  const raw = await hamlet.register({ ...wanted, apply_markdown: false })
  const id = await say(`${A} words`)
  await hamlet.patch(`/messages/${id}`, { content: `other words ${A}` })
  const [first] = queues
  const before = await hamlet.get('/events', {
    queue_id: first!.snapshot.queue_id,
    last_event_id: -1,
    dont_block: true,
  })
  assert.equal(foreignFetches(before.events[0].message.content).length, 1)
  setPreviews(LINKS)
  for (const queue of queues) {
    const [sent, edited] = await withoutIds(queue)
    const shown = [sent.message.content, edited.rendered_content, edited.orig_rendered_content]
    assert.deepEqual(foreignFetches(shown.join()), [])
    for (const html of shown) assert.ok(html.includes(`href="${A}"`), html)
    assert.equal(edited.content, `other words ${A}`)
  }
  const [sent] = await withoutIds(raw)
  assert.equal(sent.message.content, `${A} words`)
})

test('text that clients render by themselves stays as it was sent', async () => {
  const raw = await hamlet.register({ apply_markdown: false, event_types: ['message', 'update_message'] })
  const content = `<img class="inline-image" src="${A}"> "icon_url":"https://secure.gravatar.com/x"`
  await say(content)
  rig.reopen()
  const [sent] = await withoutIds(raw)
  assert.equal(sent.message.content, content)
})

test('a start without an organization or without queues logs no error', () => {
  rig.reopen()
  assert.deepEqual(
    rig.logged.filter((line) => line.startsWith('error')),
    [],
  )
})
