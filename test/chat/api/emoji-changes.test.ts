/** Single changes of custom emoji in events: contract V28, capability individual_emoji_changes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createEventHub } from '../../../firmware/chat/events/hub.ts'
import { png } from '../../../firmware/chat/realm/objects/avatar-png.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet } = await chatSuite({ hamlet: 'member' })

const PICTURE = png(20, [[200, 0, 0]], () => new Uint8Array(20))
const registered = (capabilities: object) =>
  hamlet.register({
    event_types: ['realm_emoji'],
    client_capabilities: { notification_settings_null: true, ...capabilities },
  })

test('a client with the capability hears of the emoji that was made or put out of use, another of all there are', async () => {
  await rig.owner.upload('POST', '/realm/emoji/earlier', PICTURE)
  const single = await registered({ individual_emoji_changes: true })
  const whole = await registered({ individual_emoji_changes: false })
  await rig.owner.upload('POST', '/realm/emoji/yorick', PICTURE)
  const { emoji: made } = await hamlet.get('/realm/emoji')
  const { snapshot } = await registered({ individual_emoji_changes: true })
  assert.deepEqual(snapshot.realm_emoji, made)
  await rig.owner.delete('/realm/emoji/yorick')
  const { emoji: ended } = await hamlet.get('/realm/emoji')
  assert.deepEqual(await single.events(), [
    { type: 'realm_emoji', op: 'add', emoji: made[2], id: 0 },
    { type: 'realm_emoji', op: 'update_one', emoji_id: '2', data: { deactivated: true }, id: 1 },
  ])
  assert.equal(made[2].name, 'yorick')
  assert.deepEqual(await whole.events(), [
    { type: 'realm_emoji', op: 'update', realm_emoji: made, id: 0 },
    { type: 'realm_emoji', op: 'update', realm_emoji: ended, id: 1 },
  ])
  assert.equal(ended[2].deactivated, true)
})

test('a queue that a version without the capability has saved goes on without it', () => {
  const shape = { applyMarkdown: true, clientGravatar: true, slimPresence: false, level: null, can: {} }
  const saved = {
    ...{ id: 'q1', userId: 1, shape, eventTypes: null, allPublicStreams: false, narrow: [], clientName: 'test' },
    ...{ lifespanMs: 600_000, nextId: 0, prunedId: -1, entries: [] },
  }
  const hub = createEventHub({ newQueueId: () => 'q2' })
  try {
    hub.restore([JSON.stringify(saved)])
    const { can } = hub.find('q1', 1).shape
    assert.equal(can.individual_emoji_changes, false)
    assert.deepEqual(new Set(Object.values(can)), new Set([false]))
  } finally {
    hub.close()
  }
})
