/** Messages of the Notification Bot about moved and resolved topics. Contract sections 3.2.2, 7.3. */

import { defined } from '../../../base/defined.ts'
import { userSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { SYSTEM_BOTS } from '../objects/organization.ts'
import { removeMessages } from './delete.ts'
import { linkToTopic } from './links.ts'
import { type ChannelLocation, ensureConversation, findTopic, isResolved } from './location.ts'
import { isFollowedBy } from './narrows.ts'
import { deliverNotice } from './send.ts'

const UNDO_S = 60 // undoing the change within this time removes the notice

const RESOLVED = ' has marked this topic as resolved.'
const UNRESOLVED = ' has marked this topic as unresolved.'

export const notificationBot = ({ state }: Realm): User => defined(state.userByEmail.get(SYSTEM_BOTS[0].email))

export const welcomeBot = ({ state }: Realm): User => defined(state.userByEmail.get(SYSTEM_BOTS[1].email))

/** Sends a direct message from a bot of the service. Returns its id. */
export function noticePerson(
  realm: Realm,
  tx: Transaction,
  user: User,
  text: string,
  bot = notificationBot(realm),
): number {
  const conversation = ensureConversation(realm, tx, bot, [bot.id, user.id])
  return deliverNotice(realm, tx, bot, { kind: 'conversation', conversation }, text)
}

export interface Moved {
  from: ChannelLocation
  to: ChannelLocation
  count: number
  /** True if these are all messages of the topic that the mover can read. */
  isWhole: boolean
  notifyOldThread: boolean
  notifyNewThread: boolean
}

export function noticeMove(realm: Realm, tx: Transaction, me: User, moved: Moved): void {
  const { from, to, count, isWhole } = moved
  const bot = notificationBot(realm)
  const what = isWhole ? 'This topic was' : count === 1 ? 'A message was' : `${count} messages were`
  const where = isWhole ? '' : ' from this topic'
  if (moved.notifyNewThread)
    deliverNotice(realm, tx, bot, to, `${what} moved here from ${linkToTopic(from)} by ${silently(me)}.`)
  if (moved.notifyOldThread)
    deliverNotice(realm, tx, bot, from, `${what} moved${where} to ${linkToTopic(to)} by ${silently(me)}.`)
}

/**
 * If the change is undone at once, deletes the previous notice instead of adding one. The settings of each user decide whether the notice
 * counts as read.
 */
export function noticeResolve(realm: Realm, tx: Transaction, me: User, place: ChannelLocation): void {
  const bot = notificationBot(realm)
  const topic = findTopic(realm, place.channel, place.topic)
  const newest = topic && realm.store.messages.newestOfTopic(topic.id)
  if (newest?.sender === bot.id && nowOf(realm) - newest.time <= UNDO_S && isResolveNotice(newest.content)) {
    removeMessages(realm, tx, [newest])
    return
  }
  const text = `${silently(me)}${isResolved(place.topic) ? RESOLVED : UNRESOLVED}`
  deliverNotice(realm, tx, bot, place, text, (user) => readsNotice(realm, user, place))
}

const isResolveNotice = (content: string): boolean => content.endsWith(RESOLVED) || content.endsWith(UNRESOLVED)

function readsNotice(realm: Realm, user: User, place: ChannelLocation): boolean {
  const policy = userSetting(user, 'resolved_topic_notice_auto_read_policy')
  return policy === 'always' || (policy === 'except_followed' && !isFollowedBy(realm, user.id, place))
}

const silently = ({ fullName, id }: User): string => `@_**${fullName}|${id}**`
