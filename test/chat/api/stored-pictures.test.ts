/** HTML that was stored with pictures of other hosts: no client fetches them. Contract section 6.3. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { withoutForeignPictures } from '../../../firmware/chat/render/foreign-pictures.ts'
import { foreignFetches } from '../support/foreign-hosts.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const preview = (url: string, rest = '') =>
  `<div class="message_inline_image"><a href="${url}"${rest}><img src="${url}"></a></div>`
const video = (url: string) =>
  `<div class="message_inline_image message_inline_video"><a href="${url}"><video preload="metadata" src="${url}"></video></a></div>`
const A = 'https://a.example/a.png'
const B = 'https://b.example/b.mp4'
const OWN = '/user_uploads/2/ab/c/d.png'
const own = `<div class="message_inline_image"><a href="${OWN}" title="d"><img data-original-content-type="image/png" src="${OWN}"></a></div>`

for (const [what, html, expected] of [
  ['a link that stood alone', preview(A), `<p><a href="${A}">${A}</a></p>`],
  [
    'a link in a text',
    `<p>see <a href="${A}">it</a></p>\n${preview(A, ' title="it"')}`,
    `<p>see <a href="${A}">it</a></p>`,
  ],
  ['a film', video(B), `<p><a href="${B}">${B}</a></p>`],
  ['one after another', `${preview(A)}\n${video(B)}`, `<p><a href="${A}">${A}</a></p>\n<p><a href="${B}">${B}</a></p>`],
  ['an uploaded picture', `<p>x</p>\n${own}`, `<p>x</p>\n${own}`],
  ['both', `${own}\n${preview(A)}`, `${own}\n<p><a href="${A}">${A}</a></p>`],
  [
    'a picture in the text',
    `<p>so <img alt="alt" class="inline-image" src="${A}"></p>`,
    `<p>so <a href="${A}">alt</a></p>`,
  ],
  [
    'an uploaded one in the text',
    `<p><img alt="alt" class="inline-image" src="${OWN}"></p>`,
    `<p><img alt="alt" class="inline-image" src="${OWN}"></p>`,
  ],
  [
    'an address without a scheme',
    preview('//a.example/a.png'),
    '<p><a href="//a.example/a.png">//a.example/a.png</a></p>',
  ],
  ['an emoji', '<p><img alt=":x:" class="emoji" src="/user_avatars/2/emoji/images/1.png" title="x"></p>', null],
  ['a text that looks like one', '<p>src="https://a.example" &lt;img src="https://a.example"&gt;</p>', null],
] as const)
  test(`${what} is told as it would be without pictures of other hosts`, () => {
    const told = withoutForeignPictures(html)
    assert.equal(told, expected ?? html)
    assert.deepEqual(foreignFetches(told), [])
    assert.equal(withoutForeignPictures(told), told)
  })

test('hostile HTML takes time in proportion to its length', () => {
  for (const text of [
    '<div class="message_inline_image"><a href="',
    '<img class="inline-image" ',
    `${preview(A).slice(0, -12)}`,
  ]) {
    const long = text.repeat(20_000)
    const begin = process.cpuUsage()
    withoutForeignPictures(`${long} src="https://a.example"`)
    const { user } = process.cpuUsage(begin)
    assert.ok(user < 5e6, `${user} us for ${long.length} characters`)
  }
})

test('messages of an older version name no other host wherever they are told, unless the operator wants it', async () => {
  const { realm } = rig.chat
  const channel = rig.channel('pictures', [hamlet])
  const { id } = await hamlet.post('/messages', { type: 'channel', to: channel.id, topic: 't', content: `${A} words` })
  const setOld = () =>
    realm.transaction(() =>
      realm.store.messages.update({ ...realm.store.messages.get(id)!, html: `<p>words</p>\n${preview(A)}` }),
    )
  setOld()
  const { events } = await hamlet.register({ apply_markdown: true })
  const edit = (content: string) => hamlet.patch(`/messages/${id}`, { content })
  await edit('new words')
  setOld()
  await edit('newer words')
  setOld()
  const told = async () => {
    const narrow = [{ operator: 'search', operand: 'words' }]
    const query = { anchor: 'newest', num_before: 5, num_after: 0, narrow }
    const { messages } = await hamlet.get('/messages', query)
    assert.ok(messages.some((message: { id: number }) => message.id === id))
    return [
      messages,
      (await hamlet.get(`/messages/${id}`)).message,
      (await hamlet.get(`/messages/${id}/history`)).message_history,
      await events(),
    ]
  }
  const foreign = (value: unknown): string[] => {
    const found: string[] = []
    JSON.stringify(value, (_, text) => {
      if (typeof text === 'string') found.push(...foreignFetches(text))
      return text
    })
    return found
  }
  const shown = await told()
  assert.deepEqual(foreign(shown), [])
  assert.ok(JSON.stringify(shown).includes(`href=\\"${A}\\"`))
  changeOperatorSettings(realm, { externalPreviews: true })
  assert.ok(foreign(await told()).includes(A))
  changeOperatorSettings(realm, { externalPreviews: false })
  assert.deepEqual(foreign(await told()), [])
})

test('so do scheduled messages and reminders', async () => {
  const { realm } = rig.chat
  const scheduled_delivery_timestamp = Math.floor(rig.now() / 1000) + 3600
  const later = { type: 'direct', to: [hamlet.user.id], content: A, scheduled_delivery_timestamp }
  await hamlet.post('/scheduled_messages', later)
  const { id: message_id } = await hamlet.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'x' })
  await hamlet.post('/reminders', { message_id, scheduled_delivery_timestamp })
  realm.transaction((tx) => {
    for (const one of realm.state.scheduledMessage.all()) tx.put('scheduledMessage', { ...one, html: preview(A) })
    for (const one of realm.state.reminder.all()) tx.put('reminder', { ...one, html: preview(A) })
  })
  const { scheduled_messages } = await hamlet.get('/scheduled_messages')
  const { reminders } = await hamlet.get('/reminders')
  const { snapshot } = await hamlet.register({ fetch_event_types: ['scheduled_messages', 'reminders'] })
  for (const one of [...scheduled_messages, ...reminders, ...snapshot.scheduled_messages, ...snapshot.reminders])
    assert.equal(one.rendered_content, `<p><a href="${A}">${A}</a></p>`)
})
