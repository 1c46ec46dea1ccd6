import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { learnChannels, Random, step, type World } from '../model/operations.ts'
import { type Client, openTestChat, type TestChat } from '../support/chat.ts'
import { expectDescribed } from './described.ts'
import { Description, readDescription } from './schema.ts'

const STEPS = 250
const description = readDescription()

const reads = ({ messages }: World): [string, string, Record<string, unknown>?][] => {
  const message = messages.at(-1) ?? 1
  return [
    ['GET', '/server_settings'],
    ['POST', '/register'],
    ['GET', '/messages', { anchor: 'newest', num_before: 20, num_after: 0, narrow: [] }],
    ['GET', `/messages/${message}`],
    ['GET', `/messages/${message}/history`],
    ['GET', `/messages/${message}/read_receipts`],
    ['POST', '/messages/render', { content: '**a**' }],
    ['GET', '/users'],
    ['GET', '/users/4'],
    ['GET', '/users/me'],
    ['GET', '/users/4/presence'],
    ['GET', '/users/4/subscriptions/1'],
    ['GET', '/users/me/1/topics'],
    ['GET', '/users/me/subscriptions'],
    ['GET', '/users/me/alert_words'],
    ['POST', '/users/me/presence', { status: 'active' }],
    ['GET', '/realm/presence'],
    ['GET', '/realm/emoji'],
    ['GET', '/realm/linkifiers'],
    ['GET', '/realm/profile_fields'],
    ['GET', '/users/4/status'],
    ['GET', '/user_groups'],
    ['GET', '/user_groups/1/members'],
    ['GET', '/user_groups/1/subgroups'],
    ['GET', '/user_groups/1/members/4'],
    ['GET', '/attachments'],
    ['GET', '/invites'],
    ['GET', '/bots'],
    ['GET', '/scheduled_messages'],
    ['GET', '/reminders'],
    ['GET', '/drafts'],
    ['GET', '/saved_snippets'],
    ['GET', '/navigation_views'],
    ['GET', '/streams', { include_all: true }],
    ['GET', '/streams/1'],
    ['GET', '/streams/1/members'],
    ['GET', '/streams/1/email_address'],
    ['GET', '/get_stream_id', { stream: 'general' }],
  ]
}

async function keepOwn(client: Client): Promise<void> {
  const draft = { type: 'private', to: [], topic: '', content: 'later' }
  const { ids = [] } = (await client.call('POST', '/drafts', { drafts: [draft, draft] })).body
  await client.call('PATCH', `/drafts/${ids[0]}`, { draft: { ...draft, content: 'soon' } })
  await client.call('DELETE', `/drafts/${ids[1]}`)
  for (const title of ['Greeting', 'Farewell']) {
    const { saved_snippet_id: id } = (await client.call('POST', '/saved_snippets', { title, content: title })).body
    if (title === 'Greeting') await client.call('PATCH', `/saved_snippets/${id}`, { content: 'Good day' })
    else await client.call('DELETE', `/saved_snippets/${id}`)
  }
  const later = { type: 'direct', to: [client.user.id], content: 'later', scheduled_delivery_timestamp: 4e9 }
  const { scheduled_message_id: id } = (await client.call('POST', '/scheduled_messages', later)).body
  await client.call('PATCH', `/scheduled_messages/${id}`, { content: 'soon' })
  await client.call('POST', '/scheduled_messages', { ...later, type: 'stream', to: 1, topic: 't' })
  await client.call('DELETE', `/scheduled_messages/${id}`)
  await client.call('POST', '/invites', { invitee_emails: `x${client.user.id}@example.com`, stream_ids: [] })
  await client.call('POST', '/invites/multiuse')
  await client.call('POST', '/navigation_views', { fragment: 'inbox', is_pinned: true })
  await client.call('PATCH', '/navigation_views/inbox', { is_pinned: false })
}

const skip = description === null && 'no vectors here'

test('answers and events have the shapes of the published description, but for the listed differences', {
  skip,
}, async () => {
  const rig = await openTestChat()
  try {
    const { world, checked } = recorded(rig)
    const queues = await Promise.all(
      world.clients.map((client) => client.call('POST', '/register', { include_subscribers: true })),
    )
    for (const name of ['general', 'random'])
      await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name }] })
    await learnChannels(world)
    for (const client of world.clients) await keepOwn(client)
    for (let count = 1; count <= STEPS; count += 1) {
      await step(world)
      rig.advance(3)
      if (count % 50 !== 0) continue
      for (const client of world.clients)
        for (const [method, path, values] of reads(world)) await client.call(method, path, values)
    }
    for (const [index, client] of world.clients.entries())
      await client.call('GET', '/events', {
        queue_id: queues[index]!.body.queue_id,
        last_event_id: -1,
        dont_block: true,
      })
    assert.ok(checked.size > 30, `only ${checked.size} operations were checked`)
  } finally {
    rig.close()
  }
})

test('a shape that is not the described one is told', () => {
  const events = {
    oneOf: ['a', 'b'].map((type) => ({
      type: 'object',
      properties: { type: { enum: [type] }, n: { type: 'integer' } },
      additionalProperties: false,
    })),
  }
  const schema = {
    properties: { events: { type: 'array', items: events }, one: { nullable: true } },
    required: ['one'],
  }
  const document = {
    paths: { '/x/{y_id}': { get: { responses: { 200: { content: { 'application/json': { schema } } } } } } },
  }
  const small = new Description(document)
  assert.deepEqual(small.problems('GET', '/x/1', { one: null, events: [{ type: 'b', n: 1 }] }), [])
  assert.deepEqual(small.problems('GET', '/x/1', { events: [{ type: 'b', n: 'x', m: 1 }] }), [
    'GET /x/{y_id}.one: missing',
    'GET /x/{y_id}.events[]<b>.n: string instead of integer',
    'GET /x/{y_id}.events[]<b>.m: not described',
  ])
  assert.equal(small.problems('GET', '/x/z', {}), null)
})

/** Four people. Their successful answers are checked as all of the suite are; which operations they were is noted. */
function recorded(rig: TestChat) {
  const checked = new Set<string>()
  const watched = (client: Client): Client => ({
    ...client,
    async call(method, path, values) {
      const answer = await client.call(method, path, values)
      if (answer.status === 200 && expectDescribed(method, path, answer.body))
        checked.add(`${method} ${path.replace(/\d+/g, '0')}`)
      return answer
    },
  })
  const clients = [
    rig.owner,
    rig.account('moderator', ROLES.moderator),
    rig.account('member'),
    rig.account('guest', ROLES.guest),
  ].map(watched)
  const users = clients.map(({ user }) => user.id)
  const random = new Random(5)
  const world: World = {
    random,
    clients,
    messages: [],
    channels: [],
    users,
    done: new Map(),
    refused: new Map(),
    log: [],
  }
  return { world, checked }
}
