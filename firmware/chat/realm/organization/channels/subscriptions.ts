/** Requests that subscribe and unsubscribe the caller or other users, with their checks. Rows E52, E53, E54, E60; contract 7.1. */

import { badRequest, ChatError, forbidden } from '../../../base/error.ts'
import { markChannelsRead } from '../../messages/mark-read.ts'
import { fold } from '../../model/names.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { findChannelByName } from '../../permissions/channel-find.ts'
import {
  canAddSubscribers,
  canRemoveSubscribers,
  canSee,
  canSubscribe,
  isSubscribed,
} from '../../permissions/channel-rights.ts'
import { findUser } from '../../permissions/user-find.ts'
import { readColor } from './colors.ts'
import { checkedChannelName, createChannel, type NewChannelSettings } from './create.ts'
import { noticeChannelEvent, silently } from './notices.ts'
import { type SubscriptionPair, subscribe, unsubscribe } from './subscribe.ts'

const PAIRS_MAX = 20_000 // users times channels of one request: each pair is a row and an event

interface WantedChannel {
  name: string
  description?: string | undefined
  color?: string | undefined
}

type Principals = readonly (number | string)[] | undefined

interface SubscribeOptions {
  principals: Principals
  /** True: the request fails if the caller may not join a channel. False: such channels are reported in `unauthorized`. */
  isFatal: boolean
  settings: NewChannelSettings
}

export interface Subscribed {
  added: readonly SubscriptionPair[]
  already: readonly SubscriptionPair[]
  created: readonly Channel[]
  unauthorized: readonly string[]
}

/** Creates channels that do not exist. Throws the errors of the rows. */
export function subscribeTo(
  realm: Realm,
  tx: Transaction,
  me: User,
  wanted: readonly WantedChannel[],
  { principals, isFatal, settings }: SubscribeOptions,
): Subscribed {
  const users = findPrincipals(realm, me, principals)
  const channels = uniqueByName(wanted)
  if (users.length * channels.length > PAIRS_MAX) throw badRequest('Too many subscriptions at once')
  const colors = new Map<Channel, string>()
  const joined: Channel[] = []
  const created: Channel[] = []
  const unauthorized: string[] = []
  for (const { name, description = '', color } of channels) {
    const existing = realm.state.channelByName.get(fold(name))
    const channel = existing ?? createChannel(realm, tx, me, { name, description }, settings)
    if (existing === undefined) created.push(channel)
    else if (!mayJoin(realm, me, users, channel)) {
      if (isFatal) throw badRequest(`Unable to access channel (${name}).`)
      unauthorized.push(name)
      continue
    }
    if (existing !== undefined) expectMayAdd(realm, me, users, channel)
    joined.push(channel)
    if (color !== undefined) colors.set(channel, checkedColor(color))
  }
  const pairs = joined.flatMap((channel) => users.map((user) => ({ user, channel })))
  const already = pairs.filter(({ user, channel }) => isSubscribed(realm, user, channel))
  const added = subscribe(realm, tx, pairs, (channel) => colors.get(channel), me)
  for (const channel of created) noticeChannelEvent(realm, tx, channel, createdBy(me))
  return { added, already, created, unauthorized }
}

/** Throws the error that `subscribeTo` would throw now: runs it and rolls back. */
export function expectMaySubscribe(
  realm: Realm,
  me: User,
  wanted: readonly WantedChannel[],
  options: SubscribeOptions,
): void {
  const undone = new Error('Nothing of this stays')
  try {
    realm.transaction((tx) => {
      subscribeTo(realm, tx, me, wanted, options)
      throw undone
    })
  } catch (error) {
    if (error !== undone) throw error
  }
}

/** Creates one channel with its first subscribers. Row E60. */
export function createWithSubscribers(
  realm: Realm,
  tx: Transaction,
  me: User,
  { name, description }: { name: string; description: string },
  userIds: readonly number[],
  settings: NewChannelSettings,
): { channel: Channel; added: readonly SubscriptionPair[] } {
  const known = realm.state.channelByName.get(fold(name.trim()))
  if (known !== undefined)
    throw new ChatError('CHANNEL_ALREADY_EXISTS', `Channel '${name.trim()}' already exists`, {
      channel_name: name.trim(),
    })
  const users = userIds.length === 0 ? [] : findPrincipals(realm, me, userIds)
  const channel = createChannel(realm, tx, me, { name, description }, settings)
  const added = subscribe(
    realm,
    tx,
    users.map((user) => ({ user, channel })),
    undefined,
    me,
  )
  noticeChannelEvent(realm, tx, channel, createdBy(me))
  return { channel, added }
}

const createdBy = (me: User): string => `Channel created by ${silently(me)}.`

/** True if the caller may subscribe, or if the request adds only other users to a visible channel: `expectMayAdd` checks that right. */
function mayJoin(realm: Realm, me: User, users: readonly User[], channel: Channel): boolean {
  if (channel.isArchived || !canSee(realm, me, channel)) return false
  return !users.includes(me) || isSubscribed(realm, me, channel) || canSubscribe(realm, me, channel)
}

/** Not called for new channels: their creator chooses the first subscribers. */
function expectMayAdd(realm: Realm, me: User, users: readonly User[], channel: Channel): void {
  const other = users.find((user) => user !== me && !isSubscribed(realm, user, channel))
  if (other === undefined || canAddSubscribers(realm, me, channel)) return
  throw new ChatError('UNAUTHORIZED_PRINCIPAL', `You are not allowed to subscribe '${other.email}'`, {
    principal: other.email,
  })
}

interface Unsubscribed {
  removed: readonly string[]
  notRemoved: readonly string[]
}

/**
 * Call before `unsubscribeFrom`: marks the unread messages of the channels as read in short transactions, so that `unsubscribeFrom` is
 * short, too. Throws the same errors.
 */
export async function readBeforeLeaving(
  realm: Realm,
  me: User,
  names: readonly string[],
  principals: Principals,
): Promise<void> {
  const { users, channels } = leaving(realm, me, names, principals)
  await markChannelsRead(realm, users, channels)
}

/** Throws `STREAM_DOES_NOT_EXIST`, or an error if the caller may not remove one of the users. */
export function unsubscribeFrom(
  realm: Realm,
  tx: Transaction,
  me: User,
  names: readonly string[],
  principals: Principals,
): Unsubscribed {
  const { users, channels } = leaving(realm, me, names, principals)
  const pairs = channels.flatMap((channel) => users.map((user) => ({ user, channel })))
  const removed = new Set(unsubscribe(realm, tx, pairs).map(({ channel }) => channel.name))
  const notRemoved = channels.map(({ name }) => name).filter((name) => !removed.has(name))
  return { removed: [...removed], notRemoved }
}

function leaving(
  realm: Realm,
  me: User,
  names: readonly string[],
  principals: Principals,
): { users: User[]; channels: Channel[] } {
  const users = findPrincipals(realm, me, principals)
  const channels = [...new Set(names.map((name) => findChannelByName(realm, me, name)))]
  if (users.length * channels.length > PAIRS_MAX) throw badRequest('Too many subscriptions at once')
  for (const channel of channels) {
    const isAllowed = (user: User): boolean => user === me || user.bot?.ownerId === me.id
    if (!users.every(isAllowed) && !canRemoveSubscribers(realm, me, channel)) throw forbidden('Insufficient permission')
  }
  return { users, channels }
}

/** Defaults to the caller. Throws `BAD_REQUEST` for unknown, inaccessible and deactivated users. */
function findPrincipals(realm: Realm, me: User, principals: Principals): User[] {
  if (principals === undefined || principals.length === 0) return [me]
  const users = principals.map((who) => {
    const user = findUser(realm, me, who)
    if (!user.isActive || user.isSystemBot) throw badRequest('No such user')
    return user.id === me.id ? me : user
  })
  return [...new Set(users)]
}

function uniqueByName(wanted: readonly WantedChannel[]): WantedChannel[] {
  const byName = new Map<string, WantedChannel>()
  for (const channel of wanted) {
    const name = checkedChannelName(channel.name)
    if (!byName.has(fold(name))) byName.set(fold(name), { ...channel, name })
  }
  return [...byName.values()]
}

export function checkedColor(input: string): string {
  const color = readColor(input)
  if (color === null) throw badRequest('color is not a valid hex color code')
  return color
}
