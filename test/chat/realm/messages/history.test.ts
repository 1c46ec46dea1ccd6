/** Edit history of messages: contract section 7.6 as a table, with a clock that is set. */

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import { organizationOf } from '../../../../firmware/chat/realm/model/state.ts'
import { chatSuite } from '../../support/suite.ts'

const STEP_S = 100
const POLICIES = ['all', 'moves', 'none'] as const
type Policy = (typeof POLICIES)[number]

const { rig, reader } = await chatSuite({ reader: 'member' })
const me = rig.owner
const verona = rig.channel('verona', [me, reader])
const venice = rig.channel('venice', [me, reader])

const CHANGES: (() => Record<string, unknown>)[] = [
  () => ({ content: 'two' }),
  () => ({ topic: 'b' }),
  () => ({ stream_id: venice.id }),
  () => ({ content: 'three', topic: 'c' }),
  () => ({ topic: '✔ c' }),
]

const times = Array.from({ length: CHANGES.length + 1 }, (_, index) => Math.floor(rig.now() / 1000) + index * STEP_S)
let id: number
before(async () => {
  id = (await me.post('/messages', { type: 'stream', to: verona.id, topic: 'a', content: 'one' })).id
  for (const change of CHANGES) {
    rig.advance(STEP_S)
    await me.patch(`/messages/${id}`, change())
  }
})

function setPolicy(policy: Policy): void {
  rig.chat.realm.transaction((turn) => {
    const organization = organizationOf(rig.chat.realm.state)
    const settings = { ...organization.settings, message_edit_history_visibility_policy: policy }
    turn.put('organization', { ...organization, settings })
  })
}

const html = (content: string) => `<p>${content}</p>`
const was = (content: string) => ({ prev_content: content, prev_rendered_content: html(content) })
const as = (content: string) => ({ content, rendered_content: html(content) })

interface Shown {
  /** Newest first; undefined: the message has no such member. */
  editHistory: () => object[] | undefined
  /** Oldest first, without the HTML of differences; undefined: it is refused. */
  history: () => object[] | undefined
}

const by = (change: number) => ({ timestamp: times[change]!, user_id: me.user.id })

const SHOWN: Record<Policy, Shown> = {
  all: {
    editHistory: () => [
      { ...by(5), prev_topic: 'c', topic: '✔ c' },
      { ...by(4), ...was('two'), prev_topic: 'b', topic: 'c' },
      { ...by(3), prev_stream: verona.id, stream: venice.id },
      { ...by(2), prev_topic: 'a', topic: 'b' },
      { ...by(1), ...was('one') },
    ],
    history: () => [
      { ...by(0), topic: 'a', ...as('one') },
      { ...by(1), topic: 'a', ...as('two'), ...was('one') },
      { ...by(2), topic: 'b', ...as('two'), prev_topic: 'a' },
      { ...by(3), topic: 'b', ...as('two'), prev_stream: verona.id, stream: venice.id },
      { ...by(4), topic: 'c', ...as('three'), ...was('two'), prev_topic: 'b' },
      { ...by(5), topic: '✔ c', ...as('three'), prev_topic: 'c' },
    ],
  },
  moves: {
    editHistory: () => [
      { ...by(5), prev_topic: 'c', topic: '✔ c' },
      { ...by(4), prev_topic: 'b', topic: 'c' },
      { ...by(3), prev_stream: verona.id, stream: venice.id },
      { ...by(2), prev_topic: 'a', topic: 'b' },
    ],
    history: () => [
      { ...by(0), topic: 'a', ...as('three') },
      { ...by(2), topic: 'b', ...as('three'), prev_topic: 'a' },
      { ...by(3), topic: 'b', ...as('three'), prev_stream: verona.id, stream: venice.id },
      { ...by(4), topic: 'c', ...as('three'), prev_topic: 'b' },
      { ...by(5), topic: '✔ c', ...as('three'), prev_topic: 'c' },
    ],
  },
  none: { editHistory: () => undefined, history: () => undefined },
}

for (const policy of POLICIES)
  describe(`7.6: where the policy is ${policy}`, () => {
    before(() => setPolicy(policy))
    const { editHistory, history } = SHOWN[policy]

    it('messages have that of it, and when they were changed', async () => {
      const { message } = await reader.get(`/messages/${id}`)
      const found = await reader.get('/messages', { message_ids: [id], client_gravatar: false })
      const [fetched] = found.messages
      for (const shown of [message, fetched]) {
        assert.deepEqual(shown.edit_history, editHistory())
        assert.deepEqual([shown.last_edit_timestamp, shown.last_moved_timestamp], [times[4], times[4]])
      }
    })

    it('its history is that of it (E14)', async () => {
      const expected = history()
      if (expected === undefined) {
        await reader.refused('BAD_REQUEST', 'GET', `/messages/${id}/history`)
        return
      }
      const { message_history } = await reader.get(`/messages/${id}/history`)
      assert.deepEqual(
        message_history.map(({ content_html_diff: _, ...entry }: Record<string, unknown>) => entry),
        expected,
      )
      const differing = message_history.filter((entry: object) => 'content_html_diff' in entry).length
      assert.equal(differing, policy === 'all' ? 2 : 0)
    })

    it('one that was only edited shows that if edits are shown, and when in any case', async () => {
      const edited = (await me.post('/messages', { type: 'stream', to: verona.id, topic: 'x', content: 'one' })).id
      rig.advance(STEP_S)
      const queue = await reader.register({ event_types: ['update_message'] })
      await me.patch(`/messages/${edited}`, { content: 'two' })
      const [event] = await queue.events()
      assert.equal('edit_history' in event, false)
      assert.equal(event.edit_timestamp, Math.floor(rig.now() / 1000))
      const { message } = await reader.get(`/messages/${edited}`)
      assert.equal(message.edit_history?.length, policy === 'all' ? 1 : undefined)
      assert.equal(message.last_edit_timestamp, Math.floor(rig.now() / 1000))
      assert.equal('last_moved_timestamp' in message, false)
    })

    it('one that was only resolved was not moved', async () => {
      const resolved = (await me.post('/messages', { type: 'stream', to: verona.id, topic: 'y', content: 'one' })).id
      await me.patch(`/messages/${resolved}`, { topic: '✔ y' })
      const { message } = await reader.get(`/messages/${resolved}`)
      assert.equal(message.edit_history?.length, policy === 'none' ? undefined : 1)
      assert.equal('last_moved_timestamp' in message || 'last_edit_timestamp' in message, false)
    })
  })
