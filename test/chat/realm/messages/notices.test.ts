/** Notices of system bots about channels and topics mention no user, whatever their names. Contract 6.2, 7.2, 7.3. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatForEachTest } from '../../support/suite.ts'

const { rig, anna } = chatForEachTest({ anna: 'member' })

const MARKS = [...'!"#$%&\'()*+,-./:;<=>?@[\\]^_`{|}~', '**', '***', '$$', '~~', '```', '&#42;', '](/x)', '@12']
const MENTIONS = ['@**all**', '@**topic**', '@*all*', '@**anna Test**']

/** Returns the text of a notice, with its one link as readers see it. */
// biome-ignore lint/suspicious/noExplicitAny: an event
function parts({ flags, message }: any) {
  const [, text = ''] = /<a [^>]*>([^<]*)<\/a>/.exec(message.content) ?? []
  const mentions = [...message.content.matchAll(/class="(user-mention|topic-mention|user-group-mention)[^"]*"/g)]
  return { flags, link: decoded(text), mentions: mentions.map(([found]) => found) }
}

const decoded = (html: string): string =>
  html
    .replace(/&#(\d+);/g, (_, code) => String.fromCodePoint(Number(code)))
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')

test('the notice of a move names topics by links, whatever marks are in them', async () => {
  const many = rig.channel('many', [rig.owner, anna])
  await rig.owner.post('/user_groups/create', { name: 'all', description: '', members: [anna.user.id] })
  const topics = MARKS.flatMap((mark) => [`a${mark}`, ...MENTIONS.map((mention) => `z${mark} ${mention}`)])
  const queue = await rig.owner.register({ event_types: ['message'], apply_markdown: true })
  for (const [number, topic] of topics.entries()) {
    const { id } = await anna.post('/messages', { type: 'channel', to: many.id, topic, content: 'plain' })
    await anna.patch(`/messages/${id}`, { topic: `calm ${number}`, propagate_mode: 'change_all' })
    const notice = (await queue.events()).at(-1)
    const mentions = ['class="user-mention silent"'] // who has moved it
    assert.deepEqual(parts(notice), { flags: [], link: `#many > ${topic.trim()}`, mentions }, topic)
  }
})

test('channels are named the same way where they are announced, archived and told of', async () => {
  const names = ['z** @**all** a', 'z** @**all** b', 'c` [d](/e)']
  const news = rig.channel('news', [rig.owner, anna])
  await rig.owner.patch('/realm', { new_stream_announcements_stream_id: news.id, send_channel_events_messages: true })
  const queue = await anna.register({ event_types: ['message'], apply_markdown: true })
  for (const [number, name] of names.entries()) {
    const principals = [rig.owner.user.id, anna.user.id]
    await rig.owner.post('/users/me/subscriptions', {
      subscriptions: [{ name }],
      principals,
      announce: true,
      invite_only: number === 1,
    })
    const { stream_id } = await rig.owner.get('/get_stream_id', { stream: name })
    await rig.owner.patch(`/streams/${stream_id}`, { new_name: `${name}!` })
    await rig.owner.delete(`/streams/${stream_id}`)
  }
  const events = await queue.events()
  assert(events.length >= 4 * names.length - 1, String(events.length))
  for (const { flags, message } of events) {
    assert.deepEqual(flags, [], message.content)
    assert.doesNotMatch(message.content, /wildcard|href="\/e"/)
  }
})

test('what is said of a message names its topic so, too', async () => {
  const many = rig.channel('many', [rig.owner, anna])
  const topic = 'z** @**anna Test**'
  const { id } = await rig.owner.post('/messages', { type: 'channel', to: many.id, topic, content: 'plain' })
  await anna.post('/reminders', { message_id: id, scheduled_delivery_timestamp: rig.now() / 1000 + 60 })
  const { reminders } = await anna.get('/reminders')
  const [, link] = /<a href="([^"]*)">#many &gt; z&#42;&#42; @&#42;&#42;anna Test&#42;&#42; @ 💬<\/a>/u.exec(
    reminders[0].rendered_content,
  )!
  assert.equal(link, `/#narrow/channel/${many.id}-many/topic/z.2A.2A.20.40.2A.2Aanna.20Test.2A.2A/near/${id}`)
  assert.doesNotMatch(reminders[0].rendered_content, /class="user-mention" /)
})
