/** Deleting. Contract sections 3.2 (E13), 7.4, V9. */

import { badRequest } from '../../error.ts'
import type { MessageRow } from '../../store/messages.ts'
import { mayInChannel, mayInRealm } from '../groups/rights.ts'
import { nowOf, type Realm } from '../realm.ts'
import type { User } from '../records.ts'
import { realmSetting } from '../settings/read.ts'
import { organizationOf } from '../state.ts'
import { topicName } from '../topic-names.ts'
import type { Turn } from '../turn.ts'
import { releaseUploads } from '../uploads/claims.ts'
import { accessMessage, audienceOf } from './access.ts'
import { type Place, placeOf } from './places.ts'
import { setFirstMessage } from './send.ts'

/** Added to every limit, for what was on its way. Contract section 9. */
export const LEEWAY_S = 20

export function deleteMessage(realm: Realm, me: User, id: number): void {
  realm.change((turn) => {
    const row = accessMessage(realm, me, id)
    expectMayDelete(realm, me, row)
    removeMessages(realm, turn, [row])
  })
}

function expectMayDelete(realm: Realm, me: User, row: MessageRow): void {
  const place = placeOf(realm, row)
  if (mayDeleteAny(realm, me, place)) return
  const sender = realm.state.user.get(row.sender)!
  const isOwn = sender.id === me.id || sender.bot?.ownerId === me.id
  const may = isOwn && has(realm, me, place, 'can_delete_own_message_group')
  if (!may) throw badRequest("You don't have permission to delete this message")
  const limit = realmSetting(organizationOf(realm.state), 'message_content_delete_limit_seconds')
  if (limit !== null && nowOf(realm) - row.time > limit + LEEWAY_S)
    throw badRequest('The time limit for deleting this message has passed')
}

export const mayDeleteAny = (realm: Realm, me: User, place: Place): boolean =>
  has(realm, me, place, 'can_delete_any_message_group')

const has = (
  realm: Realm,
  me: User,
  place: Place,
  name: 'can_delete_any_message_group' | 'can_delete_own_message_group',
): boolean => mayInRealm(realm, name, me) || (place.kind === 'channel' && mayInChannel(realm, place.channel, name, me))

/** Within a change. `rows` lie in one place. */
export function removeMessages(realm: Realm, turn: Turn, rows: readonly MessageRow[]): void {
  const [first] = rows
  if (first === undefined) return
  const { store } = realm
  const place = placeOf(realm, first)
  for (const [ids, users] of readersByIds(realm, rows)) publishDeletion(realm, turn, place, ids, users)
  for (const { id } of rows) {
    store.messages.remove(id)
    store.flags.removeMessage(id)
    releaseUploads(realm, turn, id)
  }
  if (place.kind === 'conversation') return
  tidyTopic(realm, first.topic)
  const { channel } = place
  if (channel.firstMessageId !== null && rows.some(({ id }) => id === channel.firstMessageId))
    setFirstMessage(realm, turn, channel, store.messages.oldestOf(channel.recipientId) ?? null)
}

/** A topic without messages has no row. */
export function tidyTopic({ store }: Realm, topic: number): void {
  if (!store.messages.isInUse(topic)) store.topics.remove(topic)
}

/** Users who can see the same of the messages, together. */
function readersByIds(realm: Realm, rows: readonly MessageRow[]): [ids: number[], users: number[]][] {
  const idsOf = new Map<number, number[]>()
  for (const row of rows)
    for (const { id: userId } of audienceOf(realm, row)) {
      const ids = idsOf.get(userId)
      if (ids === undefined) idsOf.set(userId, [row.id])
      else ids.push(row.id)
    }
  const groups = new Map<string, [ids: number[], users: number[]]>()
  for (const [userId, ids] of idsOf) {
    const key = ids.join(',')
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [ids.sort((a, b) => a - b), [userId]])
    else group[1].push(userId)
  }
  return [...groups.values()]
}

/** At once, or one by one to clients that know no more. */
export function publishDeletion(
  realm: Realm,
  turn: Turn,
  place: Place,
  ids: readonly number[],
  to: readonly number[],
): void {
  const where = (emptyTopic: boolean) =>
    place.kind === 'channel'
      ? { message_type: 'stream', stream_id: place.channel.id, topic: topicName(place.topic, emptyTopic) }
      : { message_type: 'private' }
  turn.publish({
    type: 'delete_message',
    to,
    make: ({ can }) => (can.bulk_message_deletion ? { ...where(can.empty_topic_name), message_ids: ids } : null),
  })
  const old = to.filter((userId) =>
    [...realm.events.queuesOf(userId)].some(({ shape }) => !shape.can.bulk_message_deletion),
  )
  if (old.length === 0) return
  for (const id of ids)
    turn.publish({
      type: 'delete_message',
      to: old,
      make: ({ can }) => (can.bulk_message_deletion ? null : { ...where(can.empty_topic_name), message_id: id }),
    })
}
