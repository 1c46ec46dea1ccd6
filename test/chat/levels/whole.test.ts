// @test short slow
/** Levels as a whole: what 460 is told beside what everybody is told, and people of every level. Contract section 8. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { createLevels } from '../../../firmware/chat/levels/levels.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { learnChannels, Random, step, type World } from '../model/operations.ts'
import { readDescription } from '../openapi/schema.ts'
import { type Client, openTestChat, type TestChat } from '../support/chat.ts'

const STEPS = process.env.COFFER_SLOW === undefined ? 150 : 3000
const HEADER = 'x-service-feature-level'

const worldOf = (clients: Client[]): World => ({
  random: new Random(8),
  clients,
  messages: [],
  channels: [],
  users: clients.map(({ user }) => user.id),
  done: new Map(),
  refused: new Map(),
  log: [],
})

const people = (rig: TestChat): Client[] => [
  rig.owner,
  rig.account('moderator', ROLES.moderator),
  rig.account('member'),
  rig.account('guest', ROLES.guest),
]

async function live(rig: TestChat, clients: Client[]): Promise<void> {
  const world = worldOf(clients)
  for (const name of ['general', 'random'])
    await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name }] })
  await learnChannels(world)
  for (let count = 0; count < STEPS; count++) {
    await step(world)
    rig.advance(3)
  }
}

const READS: readonly [string, string, Record<string, unknown>?][] = [
  ['GET', '/server_settings'],
  ['POST', '/register', { include_subscribers: true }],
  ['GET', '/messages', { anchor: 'newest', num_before: 50, num_after: 0, narrow: [] }],
  ['GET', '/messages/1'],
  ['GET', '/messages/1/history'],
  ['GET', '/users'],
  ['GET', '/users/me'],
  ['GET', '/users/me/subscriptions'],
  ['GET', '/streams', { include_all: true }],
  ['GET', '/streams/1'],
  ['GET', '/realm/emoji'],
  ['GET', '/realm/linkifiers'],
  ['GET', '/user_groups'],
  ['GET', '/attachments'],
  ['GET', '/scheduled_messages'],
  ['GET', '/nowhere'],
]

/** Every answer of a life, as it went out: status, headers, bytes. `level` is declared with each request. */
async function recorded(level: string | null): Promise<string[]> {
  let bytes = 0
  const random = (length: number) =>
    Uint8Array.from({ length }, () => createHash('sha256').update(`${bytes++}`).digest()[0]!)
  const rig = await openTestChat({ random })
  const answers: string[] = []
  const { api } = rig.chat
  const request = api.request
  api.request = async (input, init, ...rest) => {
    const headers = { ...(init?.headers as Record<string, string>), ...(level !== null && { [HEADER]: level }) }
    const response = await request(input, { ...init, headers }, ...rest)
    // Of the rate of calls only the limit depends on nothing but the call.
    const told = [...response.headers].filter(([name]) => !/^x-ratelimit-(?:remaining|reset)$/.test(name))
    answers.push(`${response.status} ${JSON.stringify(told)} ${await response.clone().text()}`)
    return response
  }
  try {
    const clients = people(rig)
    const queues = await Promise.all(clients.map((client) => client.post('/register')))
    await live(rig, clients)
    for (const [index, client] of clients.entries()) {
      for (const [method, path, values] of READS) await client.call(method, path, values)
      const { queue_id } = queues[index]
      await client.get('/events', { queue_id, last_event_id: -1, dont_block: true })
    }
    return answers
  } finally {
    rig.close()
  }
}

/** Members that came after 460: contract section 8.3. */
const LATER_MEMBERS = new Set([
  'devices',
  'has_webex_token',
  'idle_queue_timeout_secs',
  'input_type',
  'message_link',
  'message_url',
  'realm_uuid',
])

/** Bot objects have had no keys since 474. */
const KEYS = new Set(['api_key'])

/** As it goes out, without those members and without what an answer's length says of them. */
function without(answer: string, members: ReadonlySet<string>): string {
  const parts = /^(\d{3} \[.*?\]\]) (.*)$/s.exec(answer)
  assert.ok(parts, answer)
  const [, head = '', body = ''] = parts
  const stripped = body.startsWith('{')
    ? JSON.stringify(JSON.parse(body, (name, value) => (members.has(name) ? undefined : value)))
    : body
  return `${head.replace(/\["content-length","\d+"\]/, '')} ${stripped}`
}

const asOf460 = (answer: string): string =>
  answer
    .replaceAll('"zulip_version":"12.2","zulip_merge_base":"12.2"', '"zulip_version":"12.0","zulip_merge_base":"12.0"')
    .replaceAll('"zulip_feature_level":500', '"zulip_feature_level":460')

test('a client that declares 460 is answered byte for byte as one that declares nothing, but for what came later', async () => {
  const { formOf } = createLevels(() => assert.fail('nobody asks'))
  assert.equal(formOf(undefined), null)
  const plain = await recorded(null)
  assert.ok(plain.length > STEPS)
  const old = await recorded('460')
  for (const answer of old)
    for (const name of LATER_MEMBERS) assert.ok(!answer.includes(`"${name}"`), `${name}: ${answer}`)
  assert.deepEqual(
    old.map((answer) => without(answer, KEYS)),
    plain.map((answer) => asOf460(without(answer, LATER_MEMBERS.union(KEYS)))),
  )
})

/** Levels that the history does not name, and what is ours: contract 8.2, 11.1, 11.2. */
const WITHOUT_GATE = [
  /\.service_feature_level: not described$/,
  /\.can_(?:create_topic|move_messages_out_of_channel|move_messages_within_channel|resolve_topics)_group: not described$/, // 396, 402, 441
  /\.can_remove_subscribers_group_id: not described$/,
  /\.(?:folder_id|channel_folders|subscriber_count|navigation_views|reminders): not described$/, // 389, 394, 390, 399
  /\.(?:realm_require_e2ee_push_notifications|server_report_message_types|realm_default_avatar_source): not described$/, // 409, 435, 456
  /\.twenty_four_hour_time: may not be null$/, // 408
  /<(?:realm_user_settings_defaults|user_settings)\/update>\.value: may not be null$/, // 408
  /<stream\/update>\.value: may not be null$/, // 256
  /\.(?:resolved_topic_notice_auto_read_policy|web_inbox_show_channel_folders|web_left_sidebar_show_channel_folders|web_left_sidebar_unreads_count_summary): not described$/,
  /^GET \/users\/me\.bot_(?:owner_id|type): not described$/,
  /^POST \/register\.jitsi_server_url: may not be null$/,
  /<message>\.local_message_id: not described$/,
  /<reminders\/|<channel_folder\/|<navigation_view\//,
  /\.is_deleted: not described$/,
  /\.realm_page_offline_days: not described$/,
]

const description = readDescription()

test('people of every level do as they like: nothing fails, and at 372 all is as it is described, but for what has no gate', async () => {
  const rig = await openTestChat()
  const random = new Random(9)
  const problems = new Set<string>()
  const at = (client: Client, levelOf: () => number): Client => ({
    ...client,
    async call(method, path, values) {
      const level = levelOf()
      const answer = await client.call(method, path, values, { [HEADER]: String(level) })
      assert.ok(answer.status < 500, `${method} ${path} at ${level}: ${JSON.stringify(answer.body)}`)
      if (level !== 372 || answer.status !== 200) return answer
      for (const problem of description?.problems(method, path, answer.body) ?? [])
        if (!WITHOUT_GATE.some((known) => known.test(problem))) problems.add(problem)
      return answer
    },
  })
  try {
    const plain = people(rig)
    const levels = Array.from({ length: 399 }, (_, index) => 102 + index)
    const queues = await Promise.all(
      plain.flatMap((client) =>
        [372, ...levels.filter((level) => level % 20 === client.user.id)].map(async (level) => {
          const own = at(client, () => level)
          return { own, id: (await own.call('POST', '/register', { include_subscribers: true })).body.queue_id }
        }),
      ),
    )
    await live(
      rig,
      plain.map((client) => at(client, () => (random.chance(0.5) ? 372 : random.of(levels)))),
    )
    for (const client of plain)
      for (const level of [102, 150, 200, 372])
        for (const [method, path, values] of READS) await at(client, () => level).call(method, path, values)
    for (const { own, id } of queues) {
      const { status, body } = await own.call('GET', '/events', { queue_id: id, last_event_id: -1, dont_block: true })
      assert.ok(status === 400 || body.events.length > 0, 'it has heard of something, or ended with a role')
    }
    assert.deepEqual([...problems], [])
    assert.deepEqual(
      rig.logged.filter((line) => line.startsWith('error')),
      [],
    )
  } finally {
    rig.close()
  }
})

test('a queue keeps the level that it was registered with, also over a stop and without the header', async (t) => {
  const rig = await openTestChat()
  t.after(() => rig.close())
  const register = { event_types: ['restart', 'user_topic', 'muted_topics'] }
  const { body } = await rig.owner.call('POST', '/register', register, { [HEADER]: '133' })
  const channel = rig.channel('verona', [rig.owner])
  const mute = (visibility_policy: number) =>
    rig.owner.post('/user_topics', { stream_id: channel.id, topic: 'noise', visibility_policy })
  await mute(1)
  rig.advance(60)
  rig.reopen()
  await mute(0)
  const query = { queue_id: body.queue_id, last_event_id: -1, dont_block: true }
  const { events } = await rig.owner.get('/events', query)
  assert.deepEqual(
    events.map(({ type, zulip_feature_level, muted_topics }: Record<string, unknown>) => [
      type,
      zulip_feature_level ?? (muted_topics as unknown[]).length,
    ]),
    [
      ['muted_topics', 1],
      ['restart', 133],
      ['muted_topics', 0],
    ],
  )
})

test('a user who deactivates their own account by a request of an older level gets an answer', async (t) => {
  const rig = await openTestChat()
  t.after(() => rig.close())
  const hamlet = rig.account('hamlet')
  assert.equal((await hamlet.call('DELETE', '/users/me', {}, { [HEADER]: '120' })).status, 200)
})
