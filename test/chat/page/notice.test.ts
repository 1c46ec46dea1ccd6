/** Which messages the page notifies of, and the number of unread ones: contract section 2.7. */

import assert from 'node:assert/strict'
import { before, test } from 'node:test'
import { noticeOf, unreadCount } from '../../../firmware/chat-page/model/notify.ts'
import { createRealmView, type RealmView } from '../../../firmware/chat-page/model/realm.ts'
import type { ReceivedMessage, Registered } from '../../../firmware/chat-page/model/types.ts'
import { addReceived } from '../../../firmware/chat-page/model/unread.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })
const channel = rig.channel('general', [hamlet, ophelia])

let registered: Registered
let inChannel: ReceivedMessage
let direct: ReceivedMessage

before(async () => {
  registered = (await hamlet.post('/register', {
    client_capabilities: { notification_settings_null: true, user_settings_object: true },
  })) as unknown as Registered
  const send = async (values: Record<string, unknown>): Promise<number> =>
    (await ophelia.post('/messages', { ...values, content: 'Hello' })).id
  const ids = [
    await send({ type: 'stream', to: channel.id, topic: 'plans' }),
    await send({ type: 'direct', to: [hamlet.user.id] }),
  ]
  const { messages } = await hamlet.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0 })
  const found = ids.map((id) => messages.find((one: ReceivedMessage) => one.id === id)) as ReceivedMessage[]
  inChannel = found[0]!
  direct = found[1]!
})

const view = (settings: Record<string, unknown> = {}, policy = 0): RealmView => {
  const made = createRealmView(structuredClone(registered))
  Object.assign(made.settings, settings)
  const key = `topic ${channel.id} plans`
  if (policy !== 0) made.topicPolicies.set(key, { channelId: channel.id, topic: 'plans', policy })
  return made
}
const NONE = { isShown: false, isHeard: false }
const BOTH = { isShown: true, isHeard: true }
const [MUTED, FOLLOWED] = [1, 3]

test('direct messages and mentions follow the first settings, own and read messages never notify', () => {
  const on = { enable_desktop_notifications: true, enable_sounds: true }
  assert.deepEqual(noticeOf(view(on), direct), BOTH)
  assert.deepEqual(noticeOf(view({ ...on, enable_sounds: false }), direct), { isShown: true, isHeard: false })
  assert.deepEqual(noticeOf(view({ ...on, enable_desktop_notifications: false }), direct), {
    isShown: false,
    isHeard: true,
  })
  assert.deepEqual(noticeOf(view(on), { ...direct, flags: ['read'] }), NONE)
  assert.deepEqual(noticeOf(view(on), { ...direct, sender_id: hamlet.user.id }), NONE)
  assert.deepEqual(noticeOf(view(on, MUTED), { ...inChannel, flags: ['mentioned'] }), BOTH)
})

test('channels follow their own settings before those of the account, and muted topics are silent', () => {
  const on = { enable_stream_desktop_notifications: true, enable_stream_audible_notifications: true }
  assert.deepEqual(noticeOf(view(), inChannel), NONE)
  assert.deepEqual(noticeOf(view(on), inChannel), BOTH)
  assert.deepEqual(noticeOf(view(on, MUTED), inChannel), NONE)
  const own = view(on)
  const known = own.channels.get(channel.id)!
  own.channels.set(channel.id, { ...known, desktop_notifications: false, audible_notifications: null })
  assert.deepEqual(noticeOf(own, inChannel), { isShown: false, isHeard: true })
})

test('followed topics and mentions of everybody have settings of their own', () => {
  const off = { enable_stream_desktop_notifications: false, enable_stream_audible_notifications: false }
  const followed = {
    ...off,
    enable_followed_topic_desktop_notifications: true,
    enable_followed_topic_audible_notifications: false,
  }
  assert.deepEqual(noticeOf(view(followed, FOLLOWED), inChannel), { isShown: true, isHeard: false })
  assert.deepEqual(noticeOf(view(followed), inChannel), NONE)
  const all = { ...inChannel, flags: ['stream_wildcard_mentioned'] }
  assert.deepEqual(noticeOf(view({ ...off, wildcard_mentions_notify: true }), all), BOTH)
  assert.deepEqual(noticeOf(view({ ...off, wildcard_mentions_notify: true }, MUTED), all), NONE)
  const quiet = { ...off, wildcard_mentions_notify: false, enable_followed_topic_wildcard_mentions_notify: true }
  assert.deepEqual(noticeOf(view(quiet), all), NONE)
  assert.deepEqual(noticeOf(view(quiet, FOLLOWED), all), BOTH)
})

test('the number counts what the setting says, and nothing that is muted', () => {
  const counted = (display: number, policy = 0) => {
    const one = view({ desktop_icon_count_display: display }, policy)
    one.unread.clear()
    addReceived(one.unread, { ...inChannel, id: 1 }, [], one.ownId)
    addReceived(one.unread, { ...inChannel, id: 2 }, ['mentioned'], one.ownId)
    addReceived(one.unread, { ...direct, id: 3 }, [], one.ownId)
    return unreadCount(one)
  }
  assert.deepEqual(
    [1, 2, 3, 4].map((display) => counted(display)),
    [3, 2, 2, 0],
  )
  assert.deepEqual(
    [1, 2, 3, 4].map((display) => counted(display, FOLLOWED)),
    [3, 3, 2, 0],
  )
  assert.deepEqual(
    [1, 2, 3, 4].map((display) => counted(display, MUTED)),
    [1, 1, 1, 0],
  )
})
