import { defined } from '../../../base/defined.ts'
import { badRequest } from '../../base/error.ts'
import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { covers, type MessagePosition, visibilityOf } from '../permissions/visibility.ts'
import { locationOf, recipientsOf } from './location.ts'

/** Throws the same error for a missing message and for one that the user may not read. */
export function accessMessage(realm: Realm, user: User, id: number): MessageRow {
  const row = realm.store.messages.get(id)
  if (row === undefined || !visibilityOf(realm, user).canRead(row)) throw badRequest('Invalid message(s)')
  return row
}

/** Also throws for messages in archived channels, which are read-only. */
export function accessMessageToChange(realm: Realm, user: User, id: number): MessageRow {
  const row = accessMessage(realm, user, id)
  if (realm.state.channelByRecipient.get(row.recipient)?.isArchived === true) throw badRequest('Invalid message(s)')
  return row
}

/** Users who may read the message and whose clients may have it: current recipients, former recipients, and users who flagged it. */
export function readersOf(realm: Realm, message: MessageRow): User[] {
  return readersAmong(realm, message, () => true)
}

/** The readers with an event queue, who receive events about the message. */
export const audienceOf = (realm: Realm, message: MessageRow): User[] =>
  readersAmong(realm, message, realm.events.hasQueue)

function readersAmong(realm: Realm, message: MessageRow, isMeant: (userId: number) => boolean): User[] {
  const ids = recipientsOf(realm, locationOf(realm, message))
  for (const { id } of formerRecipients(realm, message)) ids.add(id)
  const users = [...ids].filter(isMeant).map((id) => realm.state.user.require(id))
  return users.filter((user) => visibilityOf(realm, user).canRead(message))
}

/**
 * Users who were subscribed when the message was sent, or when it was moved to its channel, and users who flagged it. Empty for direct
 * messages.
 */
function formerRecipients({ state, store }: Realm, message: MessagePosition): User[] {
  const { id, recipient, birth, ordinal, arrival } = message
  const channel = state.channelByRecipient.get(birth)
  if (channel === undefined) return []
  const ids = new Set(store.flags.holdersOf(id))
  const add = (channelId: number, ordinal: number): void => {
    for (const { userId, intervals } of state.everSubscribedTo.get(channelId).values())
      if (covers(intervals, ordinal)) ids.add(userId)
  }
  add(channel.id, ordinal)
  if (arrival > 0) add(defined(state.channelByRecipient.get(recipient)).id, arrival)
  return [...ids].map((id) => state.user.require(id)).filter(({ isActive }) => isActive)
}
