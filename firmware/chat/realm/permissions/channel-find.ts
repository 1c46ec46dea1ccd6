/** Finds the channel that a request names. Unknown and invisible channels give the same error. Contract sections 1.4 and 7.1. */

import { badRequest, ChatError } from '../../base/error.ts'
import { fold } from '../model/names.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, User } from '../model/records.ts'
import { canRead, canSee, seesTest } from './channel-rights.ts'

/** Throws `BAD_REQUEST` if the channel is unknown or `viewer` may not see its metadata. */
export function findChannel(realm: Realm, viewer: User, id: number): Channel {
  const channel = realm.state.channel.get(id)
  if (channel === undefined || !canSee(realm, viewer, channel)) throw badRequest('Invalid channel ID')
  return channel
}

/** Throws `BAD_REQUEST` if the channel is unknown or `viewer` may not read its messages. */
export function findReadableChannel(realm: Realm, viewer: User, id: number): Channel {
  const channel = findChannel(realm, viewer, id)
  if (!canRead(realm, viewer, channel)) throw badRequest('Invalid channel ID')
  return channel
}

/** Ignores case. Throws `STREAM_DOES_NOT_EXIST`. */
export function findChannelByName(realm: Realm, viewer: User, name: string): Channel {
  const channel = realm.state.channelByName.get(fold(name.trim()))
  if (channel === undefined || !canSee(realm, viewer, channel)) throw noChannelOfName(name)
  return channel
}

const noChannelOfName = (name: string): ChatError =>
  new ChatError('STREAM_DOES_NOT_EXIST', `Channel '${name}' does not exist`, { stream: name })

/** Sorted by name. `archived` includes archived channels. */
export const visibleChannels = (realm: Realm, viewer: User | null, archived: boolean): Channel[] =>
  [...realm.state.channel.all()]
    .filter((channel) => (archived || !channel.isArchived) && canSee(realm, viewer, channel))
    .sort(byName)

export const byName = (a: Channel, b: Channel): number => {
  const [x, y] = [fold(a.name), fold(b.name)]
  return x < y ? -1 : x > y ? 1 : 0
}

/** Recipients of events about the channel: active users who can see it and have an event queue. */
export function viewersOf(realm: Realm, channel: Channel): number[] {
  const ids: number[] = []
  const sees = seesTest(realm, channel)
  for (const user of realm.state.user.all())
    if (realm.events.hasQueue(user.id) && user.isActive && sees(user)) ids.push(user.id)
  return ids
}
