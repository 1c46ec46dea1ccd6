/** The state of the page as text: nothing of it is lost, and events change it as they change the first one. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packView, unpackView } from '../../../firmware/chat-page/model/packed.ts'
import { applyEvent, createRealmView, type RealmView } from '../../../firmware/chat-page/model/realm.ts'
import type { QueueEvent, Registered } from '../../../firmware/chat-page/model/types.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })
const channel = rig.channel('general', [hamlet, ophelia])

const register = async (): Promise<Registered> =>
  (await hamlet.post('/register', {
    apply_markdown: true,
    client_capabilities: {
      notification_settings_null: true,
      user_settings_object: true,
      simplified_presence_events: true,
    },
  })) as unknown as Registered

/** Functions are compared by what they answer. */
const contentOf = ({ unread, typists, lists: _, ...rest }: RealmView) => ({
  ...rest,
  unread: [...unread.all()],
  expiryMs: typists.expiryMs,
})

test('a view survives as text, and the same events lead to the same view', async () => {
  await ophelia.post('/messages', { type: 'stream', to: channel.id, topic: 'plans', content: '@**hamlet** Hello' })
  await ophelia.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'Hello' })
  const registered = await register()
  const view = createRealmView(registered)
  assert.equal(view.unread.groups().length >= 2, true)
  const again = unpackView(packView(view))
  assert.deepEqual(contentOf(again), contentOf(view))
  assert.deepEqual(again.unread.groups(), view.unread.groups())

  const { messages } = await hamlet.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0 })
  const events: QueueEvent[] = [
    { id: 1, type: 'message', message: { ...messages[0], id: 1_000_000 }, flags: [] },
    { id: 2, type: 'update_message_flags', op: 'add', flag: 'read', messages: [messages[0].id], all: false },
    { id: 3, type: 'realm', op: 'update', property: 'name', value: 'Elsinore' },
  ]
  for (const one of [view, again]) for (const event of events) applyEvent(one, event)
  assert.equal(again.name, 'Elsinore')
  assert.ok(again.unread.has(1_000_000))
  assert.deepEqual(contentOf(again), contentOf(view))
  assert.deepEqual(contentOf(unpackView(packView(again))), contentOf(again))
})
