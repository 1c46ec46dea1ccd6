/** Marking much as read at once. Contract sections 3.2 (E20 to E22), 11.3. */

import { badRequest } from '../../error.ts'
import { findReadableChannel } from '../channels/find.ts'
import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import type { Turn } from '../turn.ts'
import { changeFlag, publishFlag } from './flags.ts'
import { inTurns } from './in-turns.ts'
import { findTopic } from './places.ts'
import { newestUnread, unreadOf } from './unread.ts'

/** The newest first. False when the time was over before all was done: what is done is done. */
export async function markAllRead(realm: Realm, me: User): Promise<boolean> {
  let unread = newestUnread(realm, me)
  return inTurns(realm, (turn, count) => {
    let rows = [...take(unread, count)]
    if (rows.length === 0) {
      unread = newestUnread(realm, me) // what came meanwhile
      rows = [...take(unread, count)]
    }
    if (rows.length === 0) publishFlag(realm, turn, me, 'read', 'add', [], { all: true })
    else changeFlag(realm, turn, me, 'read', 'add', rows)
    return rows.length === 0
  })
}

/** The same in one channel. */
export async function markChannelRead(realm: Realm, me: User, channelId: number): Promise<boolean> {
  const unread = newestUnread(realm, me)
  return inTurns(realm, (turn, count) => {
    const { recipientId } = findReadableChannel(realm, me, channelId)
    const rows = [...take(unread, count)]
    const meant = rows.filter(({ recipient }) => recipient === recipientId)
    changeFlag(realm, turn, me, 'read', 'add', meant)
    return rows.length < count
  })
}

function* take<T>(all: Iterator<T>, count: number): Generator<T> {
  for (let taken = 0; taken < count; taken++) {
    const { value, done } = all.next()
    if (done === true) return
    yield value
  }
}

export function markTopicRead(realm: Realm, me: User, channelId: number, topicName: string): void {
  realm.change((turn) => {
    const channel = findReadableChannel(realm, me, channelId)
    const topic = findTopic(realm, channel, topicName)
    if (topic === undefined) throw badRequest(`No such topic '${topicName}'`)
    const rows = unreadOf(realm, me).rows.filter((row) => row.topic === topic.id)
    changeFlag(realm, turn, me, 'read', 'add', rows)
  })
}

/** Of somebody whom he mutes. Within a change. */
export function markReadFrom(realm: Realm, turn: Turn, user: User, senderId: number): void {
  const rows = unreadOf(realm, user).rows.filter(({ id }) => realm.store.messages.get(id)?.sender === senderId)
  changeFlag(realm, turn, user, 'read', 'add', rows)
}
