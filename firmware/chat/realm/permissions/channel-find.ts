/** The channel that a request names. Unknown and not visible are one answer. Contract section 1.4, 7.1. */

import { badRequest, ChatError } from '../../base/error.ts'
import { fold } from '../model/names.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { canRead, canSee, seesTest } from './channel-rights.ts'

/** Of those that `viewer` may know of. Throws `BAD_REQUEST`. */
export function findChannel(realm: Realm, viewer: User, id: number): Channel {
  const channel = realm.state.channel.get(id)
  if (channel === undefined || !canSee(realm, viewer, channel)) throw badRequest('Invalid channel ID')
  return channel
}

/** Of those whose messages he may read. Throws `BAD_REQUEST`. */
export function findReadableChannel(realm: Realm, viewer: User, id: number): Channel {
  const channel = findChannel(realm, viewer, id)
  if (!canRead(realm, viewer, channel)) throw badRequest('Invalid channel ID')
  return channel
}

/** By name, without case. Throws `STREAM_DOES_NOT_EXIST`. */
export function findChannelByName(realm: Realm, viewer: User, name: string): Channel {
  const channel = realm.state.channelByName.get(fold(name.trim()))
  if (channel === undefined || !canSee(realm, viewer, channel)) throw noChannelOfName(name)
  return channel
}

const noChannelOfName = (name: string): ChatError =>
  new ChatError('STREAM_DOES_NOT_EXIST', `Channel '${name}' does not exist`, { stream: name })

/** Sorted by name; archived ones as asked for. */
export const visibleChannels = (realm: Realm, viewer: User | null, archived: boolean): Channel[] =>
  [...realm.state.channel.all()]
    .filter((channel) => (archived || !channel.isArchived) && canSee(realm, viewer, channel))
    .sort(byName)

export const byName = (a: Channel, b: Channel): number => {
  const [x, y] = [fold(a.name), fold(b.name)]
  return x < y ? -1 : x > y ? 1 : 0
}

/** Who hears of changes of the channel: accounts that may know of it and have a queue. */
export function viewersOf(realm: Realm, channel: Channel): number[] {
  const ids: number[] = []
  const sees = seesTest(realm, channel)
  for (const user of realm.state.user.all())
    if (realm.events.hasQueue(user.id) && user.isActive && sees(user)) ids.push(user.id)
  return ids
}
