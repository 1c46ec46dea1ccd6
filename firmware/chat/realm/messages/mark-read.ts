/** Marking many messages as read. Contract sections 3.2 (E20 to E22), 11.3. */

import { badRequest } from '../../base/error.ts'
import type { PlacedRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { findReadableChannel } from '../permissions/channel-find.ts'
import { isSubscribed } from '../permissions/channel-rights.ts'
import { visibilityOf } from '../permissions/visibility.ts'
import { changeFlag, publishFlag, readerOf } from './flags.ts'
import { inBatches } from './in-batches.ts'
import { findTopic } from './location.ts'
import { newestUnread } from './unread.ts'

/** Marks the newest first. Returns false if the time limit ends the work early. */
export async function markAllRead(realm: Realm, me: User): Promise<boolean> {
  let unread = newestUnread(realm, me)
  return inBatches(realm, (tx, count) => {
    let rows = [...take(unread, count)]
    if (rows.length === 0) {
      unread = newestUnread(realm, me) // messages that arrived meanwhile
      rows = [...take(unread, count)]
    }
    if (rows.length === 0) publishFlag(realm, tx, me, 'read', 'add', [], { all: true })
    else changeFlag(realm, tx, me, 'read', 'add', rows)
    return rows.length === 0
  })
}

/** Like `markAllRead`, in one channel. `caller` re-checks access in each batch, here and in `markTopicRead`. */
export async function markChannelRead(realm: Realm, caller: () => User, channelId: number): Promise<boolean> {
  const me = caller()
  const find = (): Channel => findReadableChannel(realm, caller(), channelId)
  return markRead(realm, me, newestUnread(realm, me, [find().recipientId]), find)
}

/** Marks channels as read for subscribers who are about to be unsubscribed. Has no time limit. */
export async function markChannelsRead(
  realm: Realm,
  users: readonly User[],
  channels: readonly Channel[],
): Promise<void> {
  const unread = unreadOfEach(realm, users, channels)
  const act = (tx: Transaction, count: number): boolean => {
    const some = [...take(unread, count)]
    for (const [user, of] of Map.groupBy(some, ({ user }) => user))
      changeFlag(
        realm,
        tx,
        user,
        'read',
        'add',
        of.flatMap(({ row }) => row ?? []),
      )
    return some.length < count
  }
  while (!(await inBatches(realm, act))) {
    // Other requests are served between the batches.
  }
}

/** Looking for unread messages costs as much as marking one, so it counts as an item without a row. */
function* unreadOfEach(
  realm: Realm,
  users: readonly User[],
  channels: readonly Channel[],
): Generator<{ user: User; row: PlacedRow | null }> {
  for (const user of users) {
    const own = channels.filter((channel) => isSubscribed(realm, user, channel))
    yield { user, row: null }
    const recipients = own.map(({ recipientId }) => recipientId)
    for (const row of newestUnread(realm, user, recipients)) yield { user, row }
  }
}

/**
 * Scans the topic, which is cheaper than all unread messages of the channel. Throws `BAD_REQUEST` if the caller can read no message of the
 * topic.
 */
export async function markTopicRead(
  realm: Realm,
  caller: () => User,
  channelId: number,
  topicName: string,
): Promise<boolean> {
  let below = realm.store.messages.maxId() + 1
  let isSeen = false
  return inBatches(realm, (tx, count) => {
    const me = caller()
    const topic = findTopic(realm, findReadableChannel(realm, me, channelId), topicName)
    const rows = topic === undefined ? [] : realm.store.messages.newestInTopic(topic.id, below, count)
    below = rows[0]?.id ?? below
    isSeen ||= rows.some(visibilityOf(realm, me).canRead)
    if (rows.length < count && !isSeen) throw badRequest(`No such topic '${topicName}'`)
    changeFlag(realm, tx, me, 'read', 'add', rows.filter(readerOf(realm, me).isUnread))
    return rows.length < count
  })
}

export const markReadFrom = (realm: Realm, me: User, senderId: number): Promise<boolean> =>
  markRead(
    realm,
    me,
    newestUnread(realm, me).filter(({ sender }) => sender === senderId),
  )

/** `check` runs before each batch and throws to stop. */
async function markRead(
  realm: Realm,
  me: User,
  unread: IteratorObject<PlacedRow>,
  check = (): unknown => undefined,
): Promise<boolean> {
  return inBatches(realm, (tx, count) => {
    check()
    const rows = [...take(unread, count)]
    changeFlag(realm, tx, me, 'read', 'add', rows)
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
