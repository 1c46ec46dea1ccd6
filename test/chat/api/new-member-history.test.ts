/** The feed of a new account: contract section 3.4, row E71, and E143. */

import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const chat = chatForEachTest({ iago: 'administrator', hamlet: 'member' })
const WEEK_S = 7 * 86_400

let made = 0
async function join(...channels: string[]): Promise<Client> {
  const ids = []
  for (const name of channels) ids.push((await chat.iago.get('/get_stream_id', { stream: name })).stream_id)
  const { invite_link } = await chat.iago.post('/invites/multiuse', { stream_ids: ids })
  const key = /#(\w+)\/$/.exec(invite_link)![1]!
  const form = { full_name: `New ${++made}`, email: `new${made}@example.org`, password: 'a password of theirs' }
  const { body, status } = await chat.rig.anonymous('POST', `/join/${key}`, form)
  assert.equal(status, 200, JSON.stringify(body))
  return chat.rig.clientOf(chat.rig.chat.realm.state.user.get(body.user_id)!)
}

async function makeChannel(name: string, values: Record<string, unknown> = {}): Promise<void> {
  await chat.iago.post('/users/me/subscriptions', { subscriptions: [{ name }], ...values })
}

async function send(to: string, content: string, topic = 'talk'): Promise<number> {
  return (await chat.iago.post('/messages', { type: 'stream', to, topic, content })).id
}

interface FeedMessage {
  content: string
  flags: string[]
  type: string
}

async function feed(client: Client): Promise<FeedMessage[]> {
  const query = { anchor: 'newest', num_before: 2000, num_after: 0, apply_markdown: false }
  const { messages } = (await client.get('/messages', query)) as { messages: FeedMessage[] }
  return messages.filter(({ type, content }) => type === 'stream' && /^(old|new|said)/.test(content))
}

it('has the recent messages of its channels, the newest 20 unread, none as history of others', async () => {
  await makeChannel('verona')
  await makeChannel('venice')
  await makeChannel('elsewhere')
  await send('verona', 'old')
  chat.rig.advance(12 * WEEK_S + 1)
  for (let n = 0; n < 15; n++) {
    await send('verona', `new verona ${n}`)
    await send('venice', `new venice ${n}`)
    await send('elsewhere', `new elsewhere ${n}`)
  }
  const member = await join('verona', 'venice')
  const messages = await feed(member)
  assert.equal(messages.length, 30)
  assert.deepEqual(
    messages.map(({ content }) => content),
    Array.from({ length: 30 }, (_, n) => `new ${n % 2 === 0 ? 'verona' : 'venice'} ${n >> 1}`),
  )
  assert.ok(messages.every(({ flags }) => !flags.includes('historical')))
  assert.deepEqual(
    messages.map(({ flags }) => flags.includes('read')),
    Array.from({ length: 30 }, (_, n) => n < 10),
  )
  const { snapshot } = await member.register()
  const unread = snapshot.unread_msgs.streams.flatMap(
    (topic: { unread_message_ids: number[] }) => topic.unread_message_ids,
  )
  assert.equal(unread.length, 20)

  await send('verona', 'said later')
  assert.deepEqual((await feed(member)).at(-1)!.flags, [])
})

it('is bounded, whatever was sent', async () => {
  await makeChannel('verona')
  for (let n = 0; n < 1005; n++) {
    if (n % 100 === 0) chat.rig.advance(120) // the rate limit
    await send('verona', `new ${n}`)
  }
  const messages = await feed(await join('verona'))
  assert.equal(messages.length, 1000)
  assert.equal(messages[0]!.content, 'new 5')
})

it('has nothing of protected history, of what was moved away, or of channels that it is not in', async () => {
  await makeChannel('protected', { invite_only: true, history_public_to_subscribers: false })
  await makeChannel('shared', { invite_only: true, history_public_to_subscribers: true })
  await makeChannel('verona')
  await makeChannel('private', { invite_only: true, history_public_to_subscribers: false })
  await send('protected', 'new protected')
  await send('shared', 'new shared')
  await send('verona', 'new stays')
  const moved = await send('verona', 'new moved', 'secret')
  await send('verona', 'new stays, too')
  const { stream_id } = await chat.iago.get('/get_stream_id', { stream: 'private' })
  await chat.iago.patch(`/messages/${moved}`, { stream_id, propagate_mode: 'change_all' })
  const member = await join('protected', 'shared', 'verona')
  const contents = (await feed(member)).map(({ content }) => content)
  assert.deepEqual(contents, ['new shared', 'new stays', 'new stays, too'])
  // Later membership of the other channel does not bring it back either.
  await chat.iago.post('/users/me/subscriptions', {
    subscriptions: [{ name: 'private' }],
    principals: [member.user.id],
  })
  assert.equal((await member.call('GET', `/messages/${moved}`)).status, 400)
})
