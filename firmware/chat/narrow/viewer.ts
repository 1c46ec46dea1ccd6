/** The user on whose behalf a narrow is evaluated: rights, names, muted users and topics. */

import { fold } from '../realm/model/names.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { Channel, User } from '../realm/model/records.ts'
import { canSee } from '../realm/permissions/channel-rights.ts'
import { findForSpectator, findUser } from '../realm/permissions/user-find.ts'
import { type Visibility, visibilityOf } from '../realm/permissions/visibility.ts'
import { type Named, NarrowError } from './terms.ts'

/** Valid until the next transaction. */
export interface Viewer {
  readonly realm: Realm
  readonly visibility: Visibility
  /** Null for a spectator. */
  readonly user: User | null
  self(): User
  /** Throws NarrowError if there is no such channel, or the viewer cannot see it. */
  channel(named: Named): Channel
  /** Throws NarrowError if there is no such user, or the viewer cannot access it. */
  account(named: Named): User
  /** Recipient of the conversation; empty if it has no messages yet. */
  conversation(named: readonly Named[]): number[]
  /** Recipients of conversations with a user that have at least `peopleMin` participants. */
  conversationsWith(named: Named, peopleMin: number): number[]
  /** Empty for a conversation, as for the empty topic. */
  topicName(id: number): string
}

export function viewerOf(realm: Realm, user: User | null): Viewer {
  const { state, store } = realm
  const topics = new Map<number, string>()

  function self(): User {
    if (user === null) throw new NarrowError('not for those who have not signed in')
    return user
  }

  function account(named: Named): User {
    try {
      return user === null ? findForSpectator(realm, named) : findUser(realm, user, named)
    } catch {
      throw new NarrowError('unknown user')
    }
  }

  return {
    realm,
    visibility: visibilityOf(realm, user),
    user,
    self,
    account,
    channel(named) {
      const channel = typeof named === 'number' ? state.channel.get(named) : state.channelByName.get(fold(named))
      if (channel === undefined || !canSee(realm, user, channel)) throw new NarrowError('unknown channel')
      return channel
    },
    conversation(named) {
      const people = new Set([self().id, ...named.map((name) => account(name).id)])
      const key = [...people].sort((a, b) => a - b).join(',')
      const found = state.conversationByUsers.get(key)
      return found === undefined ? [] : [found.recipientId]
    },
    conversationsWith(named, peopleMin) {
      const { id } = account(named)
      return [...state.conversationsOf(self().id)]
        .filter(({ userIds }) => userIds.length >= peopleMin && userIds.includes(id))
        .map(({ recipientId }) => recipientId)
    },
    topicName(id) {
      let name = topics.get(id)
      if (name === undefined) {
        name = id === 0 ? '' : (store.topics.get(id)?.name ?? '')
        topics.set(id, name)
      }
      return name
    },
  }
}
