/** How long messages may be edited, moved and resolved: contract section 7.3 as a table, with a clock that is set. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Channel, Organization } from '../../../../firmware/chat/realm/model/records.ts'
import { organizationOf } from '../../../../firmware/chat/realm/model/state.ts'
import { chatSuite } from '../../support/suite.ts'

const WEEK_S = 604_800
const LEEWAY_S = 20

/** By the place in the topic of the first that may be moved, and how many of how many. */
interface Exceeded {
  first: number | null
  allowed: number
  total: number
}

interface Row {
  ages: number[]
  /** Which one; the last by default. */
  target?: number
  change: Record<string, unknown>
  caller?: 'member' | 'moderator'
  settings?: Organization['settings']
  expected: number | 'refused' | Exceeded
}

const topic = (more = {}) => ({ topic: 'other', ...more })
const channel = (more = {}) => ({ stream_id: target.id, ...more })
const both = (more = {}) => ({ topic: 'other', stream_id: target.id, ...more })
const ALL = { propagate_mode: 'change_all' }
const LATER = { propagate_mode: 'change_later' }
const STRICTER_WITHIN = {
  move_messages_within_stream_limit_seconds: 1000,
  move_messages_between_streams_limit_seconds: 5000,
}
const STRICTER_BETWEEN = {
  move_messages_within_stream_limit_seconds: 5000,
  move_messages_between_streams_limit_seconds: 1000,
}
const UNLIMITED = {
  move_messages_within_stream_limit_seconds: null,
  move_messages_between_streams_limit_seconds: null,
  message_content_edit_limit_seconds: null,
}
const TOO_OLD_S = WEEK_S + LEEWAY_S + 1

const rows = (): Record<string, Row> => ({
  'topic: within the limit and its leeway': { ages: [WEEK_S + LEEWAY_S], change: topic(), expected: 1 },
  'topic: not later': { ages: [TOO_OLD_S], change: topic(), expected: 'refused' },
  'topic: later, by moderators': { ages: [TOO_OLD_S], change: topic(), caller: 'moderator', expected: 1 },
  'topic: at any age without a limit': { ages: [9 * WEEK_S], change: topic(), settings: UNLIMITED, expected: 1 },
  'topic: where nothing may be edited, too': {
    ages: [5],
    change: topic(),
    settings: { allow_message_editing: false },
    expected: 1,
  },
  'channel: within the limit and its leeway': { ages: [WEEK_S + LEEWAY_S], change: channel(), expected: 1 },
  'channel: not later': { ages: [TOO_OLD_S], change: channel(), expected: 'refused' },
  'channel: later, by moderators': { ages: [TOO_OLD_S], change: channel(), caller: 'moderator', expected: 1 },
  'channel: at any age without a limit': { ages: [9 * WEEK_S], change: channel(), settings: UNLIMITED, expected: 1 },

  'later ones: what is older than the target does not count': {
    ages: [TOO_OLD_S, 10, 0],
    target: 1,
    change: topic(LATER),
    expected: 2,
  },
  'later ones: not from an old target on': {
    ages: [TOO_OLD_S, 10],
    target: 0,
    change: topic(LATER),
    expected: 'refused',
  },
  'all: each within the limit': { ages: [WEEK_S + LEEWAY_S, 10, 0], target: 1, change: topic(ALL), expected: 3 },
  'all: not with older ones, and which would do': {
    ages: [TOO_OLD_S, WEEK_S, 10, 0],
    target: 2,
    change: topic(ALL),
    expected: { first: 1, allowed: 3, total: 4 },
  },
  'all: the same to another channel': {
    ages: [TOO_OLD_S, TOO_OLD_S, 0],
    change: channel(ALL),
    expected: { first: 2, allowed: 1, total: 3 },
  },
  'all: by an old target, which would do (505)': {
    ages: [TOO_OLD_S, 0],
    target: 0,
    change: topic(ALL),
    expected: { first: 1, allowed: 1, total: 2 },
  },
  'all: not of old ones alone': { ages: [TOO_OLD_S, TOO_OLD_S], target: 0, change: topic(ALL), expected: 'refused' },
  'all: older ones, too, by moderators': {
    ages: [TOO_OLD_S, 0],
    change: both(ALL),
    caller: 'moderator',
    expected: 2,
  },

  'channel and topic: the limit of topics where that is stricter': {
    ages: [1021],
    change: both(),
    settings: STRICTER_WITHIN,
    expected: 'refused',
  },
  'channel and topic: the limit of channels where that is stricter': {
    ages: [1021],
    change: both(),
    settings: STRICTER_BETWEEN,
    expected: 'refused',
  },
  'channel and topic: within the stricter one': {
    ages: [1020],
    change: both(),
    settings: STRICTER_BETWEEN,
    expected: 1,
  },
  'channel alone: by its own limit': { ages: [1021], change: channel(), settings: STRICTER_WITHIN, expected: 1 },
  'topic alone: by its own limit': { ages: [1021], change: topic(), settings: STRICTER_BETWEEN, expected: 1 },
  'channel and topic, all: the stricter limit tells which would do': {
    ages: [4000, 1021, 1020, 5],
    change: both(ALL),
    settings: STRICTER_WITHIN,
    expected: { first: 2, allowed: 2, total: 4 },
  },

  'resolve: at any age': { ages: [TOO_OLD_S, TOO_OLD_S], change: { topic: '✔ matter', ...ALL }, expected: 2 },
  'resolve: a new name with it is a move': {
    ages: [TOO_OLD_S],
    change: { topic: '✔ other', ...ALL },
    expected: 'refused',
  },

  'edit: within the limit and its leeway': { ages: [620], change: { content: 'other' }, caller: 'member', expected: 1 },
  'edit: not later': { ages: [621], change: { content: 'other' }, expected: 'refused' },
  'edit: at any age without a limit': {
    ages: [9 * WEEK_S],
    change: { content: 'other' },
    settings: UNLIMITED,
    expected: 1,
  },
  'edit and move: each by its own limit': {
    ages: [621],
    change: { content: 'other', topic: 'x' },
    expected: 'refused',
  },
})

const { rig, ...clients } = await chatSuite({ member: 'member', moderator: 'moderator' })
let source: Channel
let target: Channel

function withSettings(settings: Organization['settings']): void {
  rig.chat.realm.transaction((turn) => turn.put('organization', { ...organizationOf(rig.chat.realm.state), settings }))
}

let count = 0
async function tell(ages: number[]): Promise<number[]> {
  const everybody = [clients.member, clients.moderator]
  source = rig.channel(`source ${count}`, everybody)
  target = rig.channel(`target ${count++}`, everybody)
  const ids: number[] = []
  for (const [index, age] of ages.entries()) {
    const { id } = await clients.member.post('/messages', {
      type: 'stream',
      to: source.id,
      topic: 'matter',
      content: `message ${index}`,
    })
    ids.push(id)
    rig.advance(age - (ages[index + 1] ?? 0))
  }
  return ids
}

/** Names of the table are known before there is a channel to move to. */
target = { id: 0 } as Channel
for (const name of Object.keys(rows()))
  test(`7.3: ${name}`, async () => {
    const { ages } = rows()[name]!
    const ids = await tell(ages)
    const row = rows()[name]!
    withSettings(row.settings ?? {})
    const aim = ids[row.target ?? ids.length - 1]!
    const seen = (id: number) => {
      const message = rig.chat.realm.store.messages.get(id)!
      return `${message.topic} ${message.recipient} ${message.content}`
    }
    const topicName = (id: number) =>
      rig.chat.realm.store.topics.get(rig.chat.realm.store.messages.get(id)!.topic)?.name
    const before = ids.map((id) => `${seen(id)} ${topicName(id)}`)
    const { status, body } = await clients[row.caller ?? 'member'].call('PATCH', `/messages/${aim}`, row.change)
    const changed = ids.filter((id, index) => `${seen(id)} ${topicName(id)}` !== before[index])
    if (typeof row.expected === 'number') {
      assert.equal(status, 200, JSON.stringify(body))
      assert.equal(changed.length, row.expected)
      return
    }
    assert.equal(status, 400)
    assert.equal(changed.length, 0)
    if (row.expected === 'refused') {
      assert.equal(body.code, 'BAD_REQUEST')
      return
    }
    const { first, allowed, total } = row.expected
    assert.equal(body.code, 'MOVE_MESSAGES_TIME_LIMIT_EXCEEDED')
    assert.equal(body.first_message_id_allowed_to_move, first === null ? null : ids[first])
    assert.equal(body.total_messages_allowed_to_move, allowed)
    assert.equal(body.total_messages_in_topic, total)
    const rest = { ...row.change, ...LATER }
    await clients.member.patch(`/messages/${body.first_message_id_allowed_to_move}`, rest)
    assert.equal(ids.filter((id, index) => `${seen(id)} ${topicName(id)}` !== before[index]).length, allowed)
  })

const putGroups = (to: Channel, groups: Record<string, string>): void =>
  rig.chat.realm.transaction((turn) => {
    const { state } = rig.chat.realm
    const ids = Object.entries(groups).map(([name, group]) => [name, state.groupByName.get(group)!.id])
    turn.put('channel', { ...state.channel.get(to.id)!, groupSettings: Object.fromEntries(ids) })
  })

test('7.3: moving to another channel needs the right to send there, and a new topic the right to start one', async () => {
  withSettings({})
  const [first, second] = await tell([10, 0])
  const move = (id: number | undefined, change: Record<string, unknown>) =>
    clients.member.call('PATCH', `/messages/${id}`, change)
  putGroups(target, { can_send_message_group: 'role:moderators' })
  assert.equal((await move(first, channel())).status, 400)
  putGroups(target, { can_create_topic_group: 'role:moderators' })
  assert.equal((await move(first, channel())).status, 400)
  await clients.moderator.post('/messages', { type: 'stream', to: target.id, topic: 'Matter', content: 'here' })
  assert.equal((await move(first, channel())).status, 200)
  putGroups(source, { can_create_topic_group: 'role:moderators' })
  assert.equal((await move(second, topic())).status, 400)
  assert.equal((await move(second, { topic: 'MATTER', ...ALL })).status, 200, 'it stays the same topic')
  assert.equal((await move(second, { topic: '✔ MATTER', ...ALL })).status, 200, 'it is only resolved')
})

for (const [seconds, notices] of [
  [60, 0],
  [61, 2],
] as const)
  test(`7.3: a topic that is unresolved after ${seconds} s has ${notices} notices of it`, async () => {
    withSettings({})
    const [id] = await tell([0])
    const inTopic = () => rig.chat.realm.store.messages.idsOf(source.recipientId).length
    await clients.member.patch(`/messages/${id}`, { topic: '✔ matter', ...ALL })
    assert.equal(inTopic(), 2)
    rig.advance(seconds)
    await clients.member.patch(`/messages/${id}`, { topic: 'matter', ...ALL })
    assert.equal(inTopic(), 1 + notices)
  })
