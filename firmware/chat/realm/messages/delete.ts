/** Deletion of messages. Contract sections 3.2 (E13), 7.4, V9. */

import { badRequest } from '../../base/error.ts'
import type { MessageRow, PlacedRow } from '../../store/messages.ts'
import { realmSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { organizationOf } from '../model/state.ts'
import { topicName } from '../model/topic-names.ts'
import type { Transaction } from '../model/transaction.ts'
import { releaseUploads } from '../objects/upload-claims.ts'
import { mayInChannel, mayInRealm } from '../permissions/group-rights.ts'
import { receivedMessagesOf } from '../permissions/received.ts'
import { visibilityOf } from '../permissions/visibility.ts'
import { accessMessageToChange } from './access.ts'
import { locationOf, type MessageLocation, recipientsOf } from './location.ts'
import { setFirstMessage } from './send.ts'

/** Added to every time limit, for requests in transit. Contract section 9. */
export const LEEWAY_S = 20

export function deleteMessage(realm: Realm, me: User, id: number): void {
  realm.transaction((tx) => {
    const row = accessMessageToChange(realm, me, id)
    expectMayDelete(realm, me, row)
    removeMessages(realm, tx, [row])
  })
  realm.store.clearLog()
}

function expectMayDelete(realm: Realm, me: User, row: MessageRow): void {
  const location = locationOf(realm, row)
  if (mayDeleteAny(realm, me, location)) return
  const sender = realm.state.user.require(row.sender)
  const isOwn = sender.id === me.id || sender.bot?.ownerId === me.id
  const may = isOwn && has(realm, me, location, 'can_delete_own_message_group')
  if (!may) throw badRequest("You don't have permission to delete this message")
  const limit = realmSetting(organizationOf(realm.state), 'message_content_delete_limit_seconds')
  if (limit !== null && nowOf(realm) - row.time > limit + LEEWAY_S)
    throw badRequest('The time limit for deleting this message has passed')
}

export const mayDeleteAny = (realm: Realm, me: User, location: MessageLocation): boolean =>
  has(realm, me, location, 'can_delete_any_message_group')

const has = (
  realm: Realm,
  me: User,
  location: MessageLocation,
  name: 'can_delete_any_message_group' | 'can_delete_own_message_group',
): boolean =>
  mayInRealm(realm, name, me) || (location.kind === 'channel' && mayInChannel(realm, location.channel, name, me))

/** Within a transaction. `rows` must share a location and ascend by id. `cause`: contract section 8.1, level 452. */
export function removeMessages(realm: Realm, tx: Transaction, rows: readonly PlacedRow[], cause?: 'retention'): void {
  const [first] = rows
  if (first === undefined) return
  const { store } = realm
  const location = locationOf(realm, first)
  for (const [seen, users] of audiencesOf(realm, location, rows)) {
    const ids = seen.map(({ id }) => id)
    publishDeletion(realm, tx, location, ids, users, cause)
  }
  for (const { id } of rows) {
    store.messages.remove(id)
    store.flags.removeMessage(id)
    releaseUploads(realm, tx, id)
    forgetInReminders(realm, tx, id)
  }
  if (location.kind === 'conversation') return
  tidyTopic(realm, first.topic)
  const { channel } = location
  if (channel.firstMessageId !== null && rows.some(({ id }) => id === channel.firstMessageId))
    setFirstMessage(realm, tx, channel, store.messages.oldestOf(channel.recipientId) ?? null)
}

function forgetInReminders({ state }: Realm, tx: Transaction, messageId: number): void {
  for (const reminder of state.remindersAbout.get(messageId).values())
    tx.put('reminder', { ...reminder, content: '', html: '' })
}

export function tidyTopic({ store }: Realm, topic: number): void {
  if (!store.messages.isInUse(topic)) store.topics.remove(topic)
}

/** Groups users with an event queue by the messages that they can see, ascending. Users who see the same messages share a list. */
export function audiencesOf(
  realm: Realm,
  location: MessageLocation,
  rows: readonly PlacedRow[],
): Map<readonly PlacedRow[], number[]> {
  const users = new Map<readonly PlacedRow[], number[]>()
  const add = (seen: readonly PlacedRow[], userId: number): void => {
    const same = users.get(seen)
    if (same === undefined) users.set(seen, [userId])
    else same.push(userId)
  }
  const recipients = new Set([...recipientsOf(realm, location)].filter(realm.events.hasQueue))
  if (location.kind === 'conversation') {
    for (const id of recipients) add(rows, id)
    return users
  }
  const reach = receivedMessagesOf(realm, rows)
  const received = [...reach.users].map(({ id }) => id).filter(realm.events.hasQueue)
  for (const id of new Set([...recipients, ...received])) {
    const extent = visibilityOf(realm, realm.state.user.require(id)).extent(location.channel.recipientId)
    if (extent === 'none') continue
    const seen = extent === 'received' ? reach.atLocation(id) : recipients.has(id) ? rows : reach.by(id)
    if (seen.length > 0) add(seen, id)
  }
  return users
}

/** One event, or one for each message to clients without the capability `bulk_message_deletion`. */
export function publishDeletion(
  realm: Realm,
  tx: Transaction,
  location: MessageLocation,
  ids: readonly number[],
  to: readonly number[],
  cause?: 'retention',
): void {
  const where = (emptyTopic: boolean) =>
    location.kind === 'channel'
      ? { message_type: 'stream', stream_id: location.channel.id, topic: topicName(location.topic, emptyTopic) }
      : { message_type: 'private' }
  tx.publish({
    type: 'delete_message',
    to,
    ...(cause && { cause }),
    make: ({ can }) => (can.bulk_message_deletion ? { ...where(can.empty_topic_name), message_ids: ids } : null),
  })
  const old = to.filter((userId) =>
    [...realm.events.queuesOf(userId)].some(({ shape }) => !shape.can.bulk_message_deletion),
  )
  if (old.length === 0) return
  for (const id of ids)
    tx.publish({
      type: 'delete_message',
      to: old,
      ...(cause && { cause }),
      make: ({ can }) => (can.bulk_message_deletion ? null : { ...where(can.empty_topic_name), message_id: id }),
    })
}
