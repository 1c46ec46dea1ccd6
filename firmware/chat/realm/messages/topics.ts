/** Topics of a channel that a user can read. Row E49. */

import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { type MessagePosition, visibilityOf } from '../permissions/visibility.ts'

interface ListedTopic {
  name: string
  maxId: number
}

/** Newest first. */
export function topicsOf(realm: Realm, user: User, channel: Channel): ListedTopic[] {
  const { recipientId } = channel
  const visibility = visibilityOf(realm, user)
  switch (visibility.extent(recipientId)) {
    case 'none':
      return []
    case 'all':
      return realm.store.topics.list(recipientId).map(({ name, maxId }) => ({ name, maxId }))
    case 'received':
      return receivedTopics(realm, user, channel, (message) => visibility.canRead(message))
  }
}

/** Messages that were never moved are found by subscription intervals; moved messages are checked one by one. */
function receivedTopics(
  realm: Realm,
  user: User,
  { id, recipientId }: Channel,
  canRead: (message: MessagePosition) => boolean,
): ListedTopic[] {
  const { store, state } = realm
  const newest = new Map<number, number>()
  const note = (topic: number, id: number): void => void newest.set(topic, Math.max(newest.get(topic) ?? 0, id))
  for (const [from, to] of state.subscriptionsOf.get(user.id).get(id)?.intervals ?? []) {
    const rows = store.select<{ topic: number; maxId: number }>(
      `SELECT topic, max(id) AS maxId FROM messages
       WHERE birth = ? AND ordinal BETWEEN ? AND ? AND recipient = birth AND arrival = 0 GROUP BY topic`,
      [recipientId, from, to ?? store.messages.maxOrdinal(recipientId)],
    )
    for (const { topic, maxId } of rows) note(topic, maxId)
  }
  const others = store.select<MessagePosition & { topic: number }>(
    `SELECT id, recipient, birth, ordinal, arrival, topic FROM messages
     WHERE recipient = ? AND (birth <> recipient OR arrival > 0 OR id IN (SELECT message FROM history WHERE user = ?))`,
    [recipientId, user.id],
  )
  for (const message of others) if (canRead(message)) note(message.topic, message.id)
  return [...newest]
    .map(([topic, maxId]) => ({ name: store.topics.get(topic)?.name ?? '', maxId }))
    .sort((a, b) => b.maxId - a.maxId)
}
