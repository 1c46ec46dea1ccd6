/** Deletion of a topic. Contract row E48, sections 7.4 and 11.3, V9. */

import { badRequest } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { findReadableChannel } from '../permissions/channel-find.ts'
import { visibilityOf } from '../permissions/visibility.ts'
import { mayDeleteAny, removeMessages } from './delete.ts'
import { inBatches } from './in-batches.ts'
import { findTopic } from './location.ts'

/**
 * Deletes the messages that the caller can read, newest first. `caller` re-checks the caller's rights in each batch. Returns false if the
 * time limit ends the work early. Messages that arrive meanwhile stay. Throws `BAD_REQUEST` if the channel is archived or the caller can
 * read no message of the topic.
 */
export async function deleteTopic(realm: Realm, caller: () => User, channelId: number, name: string): Promise<boolean> {
  let below = realm.store.messages.maxId() + 1
  let isSeen = false
  const act = (tx: Transaction, count: number): boolean => {
    const me = caller()
    const channel = findReadableChannel(realm, me, channelId)
    if (!mayDeleteAny(realm, me, { kind: 'channel', channel, topic: name }))
      throw badRequest("You don't have permission to delete this topic")
    const topic = channel.isArchived ? undefined : findTopic(realm, channel, name)
    const rows = topic === undefined ? [] : realm.store.messages.newestInTopic(topic.id, below, count)
    below = rows[0]?.id ?? below
    const seen = rows.filter(visibilityOf(realm, me).canRead)
    isSeen ||= seen.length > 0
    if (rows.length < count && !isSeen) throw badRequest(`No such topic '${name}'`)
    removeMessages(realm, tx, seen)
    return rows.length < count
  }
  try {
    return await inBatches(realm, act)
  } finally {
    if (isSeen) realm.store.clearLog() // also after an error: earlier batches are deleted
  }
}
