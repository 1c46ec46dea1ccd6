/** Marking much as read at once. Contract sections 3.2 (E20, E22), 11.3. */

import { badRequest } from '../../error.ts'
import { findReadableChannel } from '../channels/find.ts'
import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import type { Turn } from '../turn.ts'
import { changeFlag, publishFlag } from './flags.ts'
import { findTopic } from './places.ts'
import { unreadOf } from './unread.ts'

const BUDGET_MS = 50_000 // how long one call may work; contract section 9
const BATCH = 2000 // messages a turn, for other requests go on between; contract section 3.2, E20

/** False when the time was over before all was done: what is done is done. The newest first. */
export async function markAllRead(realm: Realm, me: User): Promise<boolean> {
  const endMs = realm.clock.now() + BUDGET_MS
  for (;;) {
    const isDone = realm.change((turn) => {
      const batch = unreadOf(realm, me).rows.slice(-BATCH)
      if (batch.length === 0) publishFlag(realm, turn, me, 'read', 'add', [], true)
      else changeFlag(realm, turn, me, 'read', 'add', batch)
      return batch.length === 0
    })
    if (isDone) return true
    if (realm.clock.now() > endMs) return false
    await new Promise((resolve) => setImmediate(resolve))
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
