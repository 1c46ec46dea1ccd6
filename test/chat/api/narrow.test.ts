/** Messages by narrows: rows E9, E19, E24; contract sections 5.1, 5.2 and 7.1. What model.test.ts does not reach. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { START_MS } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const NEWEST = 10_000_000_000_000_000

interface Shown {
  id: number
}
const idsOf = (answer: { messages: Shown[] }) => answer.messages.map(({ id }) => id)

const { rig, hamlet, cordelia, polonius } = await chatSuite({ hamlet: 'member', cordelia: 'member', polonius: 'guest' })

let count = 0
async function makeChannel(options: Record<string, unknown> = {}): Promise<{ name: string; id: number }> {
  const name = `channel ${++count}`
  await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name }], ...options })
  return { name, id: (await hamlet.get('/get_stream_id', { stream: name })).stream_id }
}

async function send(to: string, topic = 't', content = 'x', client = hamlet): Promise<number> {
  return (await client.post('/messages', { type: 'stream', to, topic, content })).id
}

const all = { anchor: 'oldest', num_before: 0, num_after: 5000 }

describe('Fetching messages (E9)', () => {
  it('resolves the anchors by name', async () => {
    const { name, id } = await makeChannel()
    const ids = [await send(name), await send(name), await send(name)]
    const narrow = [{ operator: 'channel', operand: id }]
    const get = (anchor: string | number, num_before: number, num_after: number) =>
      hamlet.get('/messages', { anchor, num_before, num_after, narrow })
    const newest = await get('newest', 2, 0)
    assert.deepEqual([idsOf(newest), newest.anchor], [ids.slice(1), NEWEST])
    assert.deepEqual([newest.found_newest, newest.found_oldest, newest.found_anchor], [true, false, false])
    const oldest = await get('oldest', 0, 2)
    assert.deepEqual([idsOf(oldest), oldest.anchor, oldest.found_oldest], [ids.slice(0, 2), 0, true])
    assert.deepEqual((await get('10000000000000000', 1, 0)).anchor, NEWEST)
    assert.deepEqual((await get('99999999999999999999', 1, 0)).anchor, NEWEST)
    const middle = await get(ids[1]!, 1, 1)
    assert.deepEqual([idsOf(middle), middle.found_anchor], [ids, true])
    const excluded = await hamlet.get('/messages', {
      anchor: ids[1],
      num_before: 0,
      num_after: 5,
      include_anchor: false,
      narrow,
    })
    assert.deepEqual([idsOf(excluded), excluded.found_anchor], [ids.slice(2), false])
    const exact = { anchor: 10, num_before: 0, num_after: 0, use_first_unread_anchor: true, narrow }
    assert.equal((await cordelia.get('/messages', exact)).anchor, NEWEST)
  })

  it('begins at a date, of the zone that it names or of UTC', async () => {
    const { name, id } = await makeChannel()
    const first = await send(name)
    rig.advance(3600)
    const second = await send(name)
    const narrow = [{ operator: 'channel', operand: id }]
    const anchorOf = async (anchor_date: string) =>
      (await hamlet.get('/messages', { anchor: 'date', anchor_date, num_before: 0, num_after: 0, narrow })).anchor
    const at = (ms: number) => new Date(ms).toISOString()
    const now = rig.now()
    assert.equal(await anchorOf('2026-11-24'), first)
    assert.equal(await anchorOf(at(now - 1800_000)), second)
    assert.equal(await anchorOf(at(now).replace('Z', '')), second)
    assert.equal(await anchorOf(at(now + 3600_000).replace(/Z$/, '+01:00')), second)
    assert.equal(await anchorOf('2030-01-01'), NEWEST)
    assert.ok(now > START_MS)
  })

  it('gives exactly the messages that are asked for, and takes no range beside', async () => {
    const { name } = await makeChannel()
    const [first, second] = [await send(name), await send(name)]
    const answer = await hamlet.get('/messages', { message_ids: [second, first, first, 99_999] })
    assert.deepEqual(idsOf(answer), [first, second])
    assert.deepEqual(
      [answer.found_newest, answer.found_oldest, answer.found_anchor, answer.history_limited],
      [false, false, false, false],
    )
    const both = { message_ids: [first], anchor: 'newest', num_before: 1 }
    const { body } = await hamlet.refused('BAD_REQUEST', 'GET', '/messages', both)
    assert.deepEqual(body.parameters, ['anchor', 'num_before', 'message_ids'])
  })

  const REFUSED: readonly [why: string, values: Record<string, unknown>, code: string, name?: string][] = [
    ['no anchor', { num_before: 1, num_after: 1 }, 'REQUEST_VARIABLE_MISSING', 'anchor'],
    ['no num_before', { anchor: 'newest', num_after: 1 }, 'REQUEST_VARIABLE_MISSING', 'num_before'],
    ['no num_after', { anchor: 'newest', num_before: 1 }, 'REQUEST_VARIABLE_MISSING', 'num_after'],
    ['an anchor that is none', { anchor: 'last', num_before: 1, num_after: 1 }, 'REQUEST_VARIABLE_INVALID', 'anchor'],
    ['a negative count', { anchor: 1, num_before: -1, num_after: 1 }, 'REQUEST_VARIABLE_INVALID', 'num_before'],
    ['more than 5000', { anchor: 1, num_before: 2501, num_after: 2500 }, 'BAD_REQUEST'],
    ['a middle without its anchor', { anchor: 1, num_before: 1, num_after: 1, include_anchor: false }, 'BAD_REQUEST'],
    ['a date without one', { anchor: 'date', num_before: 1, num_after: 1 }, 'REQUEST_VARIABLE_MISSING', 'anchor_date'],
    [
      'a date that is none',
      { anchor: 'date', anchor_date: '2026-13-01', num_before: 1, num_after: 1 },
      'REQUEST_VARIABLE_INVALID',
      'anchor_date',
    ],
    [
      'a date beside another anchor',
      { anchor: 1, anchor_date: '2026-01-01', num_before: 1, num_after: 1 },
      'BAD_REQUEST',
    ],
    ['a narrow that is no list', { ...all, narrow: {} }, 'REQUEST_VARIABLE_INVALID', 'narrow'],
    ['a narrow that is no JSON', { ...all, narrow: 'is:dm' }, 'INVALID_JSON'],
    ['an operator that there is not', { ...all, narrow: [['flavour', 'x']] }, 'BAD_NARROW'],
    ['a channel that there is not', { ...all, narrow: [['channel', 'nowhere']] }, 'BAD_NARROW'],
    ['a user that there is not', { ...all, narrow: [['sender', 'x@example.com']] }, 'BAD_NARROW'],
    ['a conversation with nobody', { ...all, narrow: [{ operator: 'dm', operand: [99_999] }] }, 'BAD_NARROW'],
    ['with a message that there is not', { ...all, narrow: [{ operator: 'with', operand: 99_999 }] }, 'BAD_NARROW'],
  ]
  for (const [why, values, code, name] of REFUSED) {
    it(`refuses ${why}`, async () => {
      const { body } = await hamlet.refused(code, 'GET', '/messages', values)
      if (name !== undefined) assert.equal(body.var_name, name)
      if (code === 'BAD_NARROW') assert.equal(typeof body.desc, 'string')
    })
  }

  it('tells an unknown channel from one out of sight by nothing', async () => {
    const { id } = await makeChannel({ invite_only: true })
    const narrowTo = (operand: number) => ({ ...all, narrow: [{ operator: 'channel', operand }] })
    const hidden = await cordelia.refused('BAD_NARROW', 'GET', '/messages', narrowTo(id))
    const unknown = await cordelia.refused('BAD_NARROW', 'GET', '/messages', narrowTo(99_999))
    assert.deepEqual(hidden.body, unknown.body)
  })

  it('shows the history of a public channel, and marks what was not received', async () => {
    const { name, id } = await makeChannel()
    const before = await send(name)
    await cordelia.post('/users/me/subscriptions', { subscriptions: [{ name }] })
    const since = await send(name)
    const answer = await cordelia.get('/messages', { ...all, narrow: [{ operator: 'channel', operand: id }] })
    assert.deepEqual(
      answer.messages.map(({ id, flags }: { id: number; flags: string[] }) => [id, flags]),
      [
        [before, ['read', 'historical']],
        [since, []],
      ],
    )
    assert.deepEqual(idsOf(await cordelia.get('/messages', all)), [since])
    await polonius.refused('BAD_NARROW', 'GET', '/messages', { ...all, narrow: [{ operator: 'channel', operand: id }] })
  })

  it('shows of a protected channel what reached the reader, and its topics likewise (E49)', async () => {
    const { name, id } = await makeChannel({ invite_only: true })
    await send(name, 'before')
    await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name }], principals: [cordelia.user.id] })
    const own = [await send(name, 'since'), await send(name, 'Since'), await send(name, '')]
    const narrow = [{ operator: 'channel', operand: id }]
    assert.deepEqual(idsOf(await cordelia.get('/messages', { ...all, narrow })), own)
    assert.deepEqual((await cordelia.get(`/users/me/${id}/topics`)).topics, [
      { name: 'general chat', max_id: own[2] },
      { name: 'since', max_id: own[1] },
    ])
    const { topics } = await hamlet.get(`/users/me/${id}/topics`, { allow_empty_topic_name: true })
    assert.deepEqual(
      topics.map(({ name }: { name: string }) => name),
      ['', 'since', 'before'],
    )
    assert.deepEqual(await rig.owner.get('/messages', { ...all, narrow }).then(idsOf), []) // an owner sees that the channel exists
    await cordelia.delete('/users/me/subscriptions', { subscriptions: [name] })
    await cordelia.refused('BAD_NARROW', 'GET', '/messages', { ...all, narrow })
    assert.ok(!idsOf(await cordelia.get('/messages', all)).some((id) => own.includes(id)))
    await cordelia.refused('BAD_REQUEST', 'GET', `/users/me/${id}/topics`)
  })

  it('follows messages to where they were moved, and goes on from one by with (271)', async () => {
    const [from, to] = [await makeChannel(), await makeChannel()]
    const ids = [await send(from.name, 'old'), await send(from.name, 'old')]
    await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name: from.name }, { name: to.name }] })
    await rig.owner.patch(`/messages/${ids[0]}`, {
      stream_id: to.id,
      topic: 'new',
      propagate_mode: 'change_all',
      send_notification_to_new_thread: false,
    })
    const stale = [
      { operator: 'channel', operand: from.id },
      { operator: 'topic', operand: 'old' },
    ]
    assert.deepEqual(idsOf(await hamlet.get('/messages', { ...all, narrow: stale })), [])
    const narrow = [...stale, { operator: 'with', operand: ids[1] }]
    assert.deepEqual(idsOf(await hamlet.get('/messages', { ...all, narrow })), ids)
    const dropped = [...stale, { operator: 'with', operand: 99_999 }]
    assert.deepEqual(idsOf(await hamlet.get('/messages', { ...all, narrow: dropped })), [])
    const { id } = await hamlet.post('/messages', { type: 'direct', to: [cordelia.user.id], content: 'x' })
    const conversation = await cordelia.get('/messages', { ...all, narrow: [{ operator: 'with', operand: id }] })
    assert.ok(idsOf(conversation).includes(id))
  })

  it('highlights what was searched for (E9, E24)', async () => {
    const { name } = await makeChannel()
    const id = await send(name, 'Fish & chips', 'some *herring* <here>')
    const narrow = [{ operator: 'search', operand: 'herring fish' }]
    const { messages } = await hamlet.get('/messages', { ...all, narrow })
    assert.deepEqual(
      messages.map(({ id, match_content, match_subject }: Record<string, unknown>) => [
        id,
        match_content,
        match_subject,
      ]),
      [
        [
          id,
          '<p>some <em><span class="highlight">herring</span></em> &lt;here&gt;</p>',
          '<span class="highlight">Fish</span> &amp; chips',
        ],
      ],
    )
    const matched = await hamlet.get('/messages/matches_narrow', { msg_ids: [id, 1], narrow })
    assert.deepEqual(Object.keys(matched.messages), [String(id)])
    const plain = await hamlet.get('/messages', { ...all, narrow: [['channel', name]] })
    assert.equal('match_content' in plain.messages[0], false)
  })

  it('serves spectators as far as the organization allows', async () => {
    const { status, body } = await rig.anonymous('GET', '/messages', all)
    assert.deepEqual([status, body.code], [401, 'UNAUTHENTICATED_USER'])
    const { realm } = rig.chat
    const organization = realm.state.organization.get(2)!
    const settings = { ...organization.settings, enable_spectator_access: true }
    realm.transaction((turn) => turn.put('organization', { ...organization, settings }))
    await rig.owner.post('/users/me/subscriptions', { subscriptions: [{ name: 'open' }], is_web_public: true })
    const id = await send('open', 't', 'x', rig.owner)
    const open = await rig.anonymous('GET', '/messages', { ...all, narrow: [['channels', 'web-public']] })
    assert.deepEqual(idsOf(open.body), [id])
    assert.deepEqual(idsOf((await rig.anonymous('GET', '/messages', all)).body), [id])
    const closed = await rig.anonymous('GET', '/messages', { ...all, narrow: [['is', 'dm']] })
    assert.equal(closed.body.code, 'BAD_NARROW')
    realm.transaction((turn) => turn.put('organization', organization))
  })
})

describe('Marking by a narrow (E19)', () => {
  it('marks unread nothing in channels that the reader has left', async () => {
    const { name, id } = await makeChannel()
    await cordelia.post('/users/me/subscriptions', { subscriptions: [{ name }] })
    await send(name)
    await cordelia.delete('/users/me/subscriptions', { subscriptions: [name] })
    const values = { ...all, narrow: [{ operator: 'channel', operand: id }], op: 'remove', flag: 'read' }
    const answer = await cordelia.post('/messages/flags/narrow', values)
    assert.deepEqual(
      [answer.processed_count, answer.updated_count, answer.ignored_because_not_subscribed_channels],
      [1, 0, [id]],
    )
  })

  it('refuses a flag that is not the reader’s, and needs a narrow', async () => {
    const values = { ...all, narrow: [], op: 'add' }
    await hamlet.refused('BAD_REQUEST', 'POST', '/messages/flags/narrow', { ...values, flag: 'mentioned' })
    const { body } = await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/messages/flags/narrow', {
      ...all,
      op: 'add',
      flag: 'read',
    })
    assert.equal(body.var_name, 'narrow')
  })
})
