/**
 * Messages that a user may read, and messages that reached the user when they were sent. Rights are decided per channel or conversation and
 * by ordinals, never per message. Contract section 7.1.
 */

import type { Realm } from '../model/realm.ts'
import type { Subscription, User } from '../model/records.ts'
import { hasOrdinal } from '../model/runs.ts'
import { canRead } from './channel-rights.ts'

/** Present and original location of a message: columns of store/messages.ts. */
export interface MessagePosition {
  readonly id: number
  readonly recipient: number
  readonly birth: number
  readonly ordinal: number
  readonly arrival: number
}

/** Readable messages of one channel or conversation: all, those that the user received, or none. */
export type Extent = 'all' | 'received' | 'none'

export interface Visibility {
  extent(recipientId: number): Extent
  /** True if the message was sent to the user or the user has it for another reason. Public history alone does not count. */
  received(message: MessagePosition): boolean
  canRead(message: MessagePosition): boolean
}

/** Valid until the next change, so within one transaction. `user` is null for spectators. */
export function visibilityOf(realm: Realm, user: User | null): Visibility {
  const { state, store } = realm
  const extents = new Map<number, Extent>()

  function findExtent(recipientId: number): Extent {
    const channel = state.channelByRecipient.get(recipientId)
    if (channel !== undefined) {
      if (!canRead(realm, user, channel)) return 'none'
      return channel.isPrivate && !channel.historyPublicToSubscribers ? 'received' : 'all'
    }
    return isIn(recipientId) ? 'all' : 'none'
  }

  function extent(recipientId: number): Extent {
    let known = extents.get(recipientId)
    if (known === undefined) {
      known = findExtent(recipientId)
      extents.set(recipientId, known)
    }
    return known
  }

  const isIn = (recipientId: number): boolean =>
    user !== null && state.conversation.get(recipientId)?.userIds.includes(user.id) === true

  function received({ id, birth, ordinal }: MessagePosition): boolean {
    if (user === null) return false
    const channel = state.channelByRecipient.get(birth)
    if (channel === undefined) return isIn(birth)
    return covers(intervalsOf(user.id, channel.id), ordinal) || store.flags.hasHistory(user.id, id)
  }

  const intervalsOf = (userId: number, channelId: number): Intervals =>
    state.subscriptionsOf.get(userId).get(channelId)?.intervals ?? []

  /** A message moved into a private channel reaches users subscribed at its arrival, and those who received it and retained access. */
  function reached(message: MessagePosition): boolean {
    const { recipient, arrival } = message
    if (user === null || arrival === 0) return received(message)
    const channel = state.channelByRecipient.get(recipient)
    if (channel !== undefined && covers(intervalsOf(user.id, channel.id), arrival)) return true
    return hasOrdinal(store.flags.runs(user.id, recipient, 'kept'), arrival) && received(message)
  }

  return {
    extent,
    received,
    canRead(message) {
      const granted = extent(message.recipient)
      return granted === 'all' || (granted === 'received' && reached(message))
    },
  }
}

type Intervals = Subscription['intervals']

/** True if a subscription with these intervals covers the ordinal. */
export const covers = (intervals: Intervals, ordinal: number): boolean =>
  intervals.some(([from, to]) => from <= ordinal && (to === null || ordinal <= to))
