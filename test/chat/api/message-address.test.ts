/** Where a message that was sent is shown: contract E10 (level 508) and the slugs of section 6.2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changeOperatorSettings } from '../../../firmware/chat/realm/organization/operator/operator.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })
const channel = rig.channel('Zulip 2.0 plans', [hamlet])

test('a message of a channel has its address, and a link with the names of channel and topic', async () => {
  const sent = { type: 'channel', to: channel.id, topic: 'a [b] > c.', content: 'x' }
  const { id, message_url, message_link } = await hamlet.post('/messages', sent)
  const url = `https://chat.example/#narrow/channel/${channel.id}-Zulip-2.2E0-plans/topic/a.20.5Bb.5D.20.3E.20c.2E/near/${id}`
  assert.equal(message_url, url)
  assert.equal(message_link, `[#Zulip 2.0 plans > a &#91;b&#93; &#62; c. @ 💬](${url})`)
  const { rendered } = await hamlet.post('/messages/render', { content: message_link })
  assert.match(rendered, /^<p><a [^>]*>#Zulip 2\.0 plans &gt; a &#91;b&#93; &#62; c\. @ 💬<\/a><\/p>$/)
})

test('the topic without a name is in the link as clients show it', async () => {
  const { id, message_url, message_link } = await hamlet.post('/messages', {
    ...{ type: 'channel', to: channel.id, topic: '', content: 'x' },
  })
  assert.ok(message_url.endsWith(`-Zulip-2.2E0-plans/topic//near/${id}`))
  assert.equal(message_link, `[#Zulip 2.0 plans > general chat @ 💬](${message_url})`)
})

test('a direct message is linked by its address, with all who take part', async () => {
  const send = (to: number[]) => hamlet.post('/messages', { type: 'direct', to, content: 'x' })
  const users = (...clients: { user: { id: number } }[]) => clients.map(({ user }) => user.id).sort((a, b) => a - b)
  for (const [to, slug] of [
    [[ophelia.user.id], `${users(hamlet, ophelia).join(',')}-dm`],
    [[hamlet.user.id], `${hamlet.user.id}-dm`],
    [[ophelia.user.id, rig.owner.user.id], `${users(rig.owner, hamlet, ophelia).join(',')}-group`],
  ] as const) {
    const { id, message_url, message_link } = await send([...to])
    assert.equal(message_url, `https://chat.example/#narrow/dm/${slug}/near/${id}`)
    assert.equal(message_link, message_url)
  }
})

test('of a channel that the sender does not see neither name nor topic is told', async () => {
  const hidden = rig.channel('Secret plans', [hamlet, rig.owner], { isPrivate: true })
  const headers = { 'idempotency-key': 'A'.repeat(22) }
  const sent = { type: 'channel', to: hidden.id, topic: 'treason', content: 'x' }
  const first = await hamlet.call('POST', '/messages', sent, headers)
  assert.match(first.body.message_url, /Secret-plans\/topic\/treason/)
  await hamlet.call('DELETE', '/users/me/subscriptions', { subscriptions: ['Secret plans'] })
  const { body } = await hamlet.call('POST', '/messages', sent, headers)
  assert.equal(body.id, first.body.id)
  assert.equal(body.message_url, `https://chat.example/#narrow/channel/${hidden.id}-unknown/near/${body.id}`)
  assert.equal(body.message_link, body.message_url)
})

test("addresses are at the operator's once it is set", async () => {
  changeOperatorSettings(rig.chat.realm, { url: 'https://team.example' })
  const { message_url } = await hamlet.post('/messages', { type: 'direct', to: [ophelia.user.id], content: 'x' })
  assert.ok(message_url.startsWith('https://team.example/#narrow/dm/'))
})
