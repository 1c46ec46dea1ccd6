/** Deleting all of a topic. Contract row E48, sections 7.4 and 11.3, V9. */

import { badRequest } from '../../error.ts'
import { findReadableChannel } from '../channels/find.ts'
import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import type { Turn } from '../turn.ts'
import { mayDeleteAny, removeMessages } from './delete.ts'
import { inTurns } from './in-turns.ts'
import { findTopic } from './places.ts'
import { sightOf } from './sight.ts'

/**
 * The newest first, those that he can read, for as long as he may: `caller` is asked anew in each turn. False when the time
 * was over before all was done: what is done is done. What is written there meanwhile stays, and so does everything in an
 * archived channel.
 */
export async function deleteTopic(realm: Realm, caller: () => User, channelId: number, name: string): Promise<boolean> {
  let below: number | null = null
  const act = (turn: Turn, count: number): boolean => {
    const me = caller()
    const channel = findReadableChannel(realm, me, channelId)
    if (!mayDeleteAny(realm, me, { kind: 'channel', channel, topic: name }))
      throw badRequest("You don't have permission to delete this topic")
    const topic = channel.isArchived ? undefined : findTopic(realm, channel, name)
    if (topic === undefined) {
      if (below === null) throw badRequest(`No such topic '${name}'`)
      return true
    }
    below ??= realm.store.messages.maxId() + 1
    const rows = realm.store.messages.newestInTopic(topic.id, below, count)
    const [oldest] = rows
    if (oldest === undefined) return true
    below = oldest.id
    const sight = sightOf(realm, me)
    removeMessages(
      realm,
      turn,
      rows.filter((row) => sight.canRead(row)),
    )
    return rows.length < count
  }
  try {
    return await inTurns(realm, act)
  } finally {
    if (below !== null) realm.store.clearLog() // also of what was deleted before it was refused
  }
}
