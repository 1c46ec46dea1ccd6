/** Typing notifications, which are not stored. Contract section 3.2 (E26, E27), V49, V50. */

import { badRequest } from '../../base/error.ts'
import type { EventBody } from '../../events/queue.ts'
import type { Shape } from '../../events/shapes.ts'
import { userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { topicName } from '../model/topic-names.ts'
import { canRead } from '../permissions/channel-rights.ts'
import { mayAccess } from '../permissions/user-access.ts'
import { accessMessageToChange } from './access.ts'
import { findChannel, findPeople, type To } from './destination.ts'
import { locationOf, type MessageLocation, recipientsOf } from './location.ts'

type TypingOp = 'start' | 'stop'
type TypingEvent = 'typing' | 'typing_edit_message'

/** Channels with more subscribers have no typing notifications: contract section 9. */
const SUBSCRIBERS_MAX = 100

export function typeDirect(realm: Realm, me: User, op: TypingOp, to: To): void {
  expectSends(me, 'direct')
  const people = findPeople(realm, me, to)
  const recipients = people
    .map((user) => ({ user_id: user.id, email: user.email }))
    .sort((a, b) => a.user_id - b.user_id)
  const body = { op, message_type: 'direct', sender: { user_id: me.id, email: me.email }, recipients }
  const seesAll = (viewer: User): boolean => people.every((user) => mayAccess(realm, viewer, user))
  const told = people.filter(seesAll).map(({ id }) => id) // the event contains all of them
  publish(realm, me, told, 'typing', () => body)
}

export function typeInChannel(realm: Realm, me: User, op: TypingOp, channelId: number, topic: string): void {
  expectSends(me, 'stream')
  const channel = findChannel(realm, me, channelId)
  if (!canRead(realm, me, channel)) throw badRequest('Invalid channel ID')
  const sender = { user_id: me.id, email: me.email }
  const body = { op, message_type: 'stream', sender, stream_id: channel.id }
  tellPlace(realm, me, { kind: 'channel', channel, topic }, 'typing', (shown) => ({ ...body, topic: shown }))
}

/** Throws `BAD_REQUEST` unless the message is the user's own. */
export function typeEdit(realm: Realm, me: User, op: TypingOp, messageId: number): void {
  const row = accessMessageToChange(realm, me, messageId)
  if (row.sender !== me.id) throw badRequest("You don't have permission to edit this message")
  const location = locationOf(realm, row)
  expectSends(me, location.kind === 'channel' ? 'stream' : 'direct')
  const recipient = (topic: string) =>
    location.kind === 'channel'
      ? { type: 'channel', channel_id: location.channel.id, topic }
      : { type: 'direct', user_ids: location.conversation.userIds }
  const body = { op, sender_id: me.id, message_id: row.id }
  tellPlace(realm, me, location, 'typing_edit_message', (topic) => ({ ...body, recipient: recipient(topic) }))
}

function expectSends(me: User, kind: 'direct' | 'stream'): void {
  const name = kind === 'direct' ? 'send_private_typing_notifications' : 'send_stream_typing_notifications'
  if (!userSetting(me, name)) throw badRequest('User has disabled typing notifications')
}

/** `bodyWith` gets the topic name as the client shows it. */
function tellPlace(
  realm: Realm,
  me: User,
  location: MessageLocation,
  type: TypingEvent,
  bodyWith: (topic: string) => EventBody,
): void {
  const ids = recipientsOf(realm, location)
  if (location.kind === 'channel' && ids.size > SUBSCRIBERS_MAX) return
  publish(realm, me, ids, type, ({ can }) => {
    if (location.kind === 'conversation') return bodyWith('')
    return can.stream_typing_notifications ? bodyWith(topicName(location.topic, can.empty_topic_name)) : null
  })
}

/** Publishes outside of a transaction, to users who receive typing notifications and may see the sender. */
function publish(
  realm: Realm,
  me: User,
  ids: Iterable<number>,
  type: TypingEvent,
  make: (shape: Shape) => EventBody | null,
): void {
  const to = [...ids].filter((id) => {
    const user = realm.state.user.get(id)
    return user?.isActive && userSetting(user, 'receives_typing_notifications') && mayAccess(realm, user, me)
  })
  const batch = realm.events.begin()
  batch.add({ type, to, make })
  batch.deliver()
}
