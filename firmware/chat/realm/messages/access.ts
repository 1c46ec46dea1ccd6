/** Messages by their ids, for whoever may read them. */

import { badRequest } from '../../base/error.ts'
import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { covers, type MessagePosition, visibilityOf } from '../permissions/visibility.ts'
import { locationOf, recipientsOf } from './location.ts'

/** Throws the same for a message that is not there and one that he may not read. */
export function accessMessage(realm: Realm, user: User, id: number): MessageRow {
  const row = realm.store.messages.get(id)
  if (row === undefined || !visibilityOf(realm, user).canRead(row)) throw badRequest('Invalid message(s)')
  return row
}

/** As well for one that lies in an archived channel, where everything stays as it is. */
export function accessMessageToChange(realm: Realm, user: User, id: number): MessageRow {
  const row = accessMessage(realm, user, id)
  if (realm.state.channelByRecipient.get(row.recipient)?.isArchived === true) throw badRequest('Invalid message(s)')
  return row
}

/**
 * Whose clients may have a message: whoever is subscribed to its channel, or in the conversation, and whoever has it for
 * another reason; of these all who may read it.
 */
export function readersOf(realm: Realm, message: MessageRow): User[] {
  return readersAmong(realm, message, () => true)
}

/** The same of those who have a queue: who is told of what happens to it. */
export const audienceOf = (realm: Realm, message: MessageRow): User[] =>
  readersAmong(realm, message, realm.events.hasQueue)

function readersAmong(realm: Realm, message: MessageRow, isMeant: (userId: number) => boolean): User[] {
  const ids = recipientsOf(realm, locationOf(realm, message))
  for (const { id } of formerRecipients(realm, message)) ids.add(id)
  const users = [...ids].filter(isMeant).map((id) => realm.state.user.get(id)!)
  return users.filter((user) => visibilityOf(realm, user).canRead(message))
}

/** Of a message in a channel: those who were subscribed where it was sent or moved to then, or took it up themselves. */
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
  if (arrival > 0) add(state.channelByRecipient.get(recipient)!.id, arrival)
  return [...ids].map((id) => state.user.get(id)!).filter(({ isActive }) => isActive)
}
