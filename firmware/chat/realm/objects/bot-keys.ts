/** Keys of bots: who has been told one, and when another takes its place. Contract section 3.5.1. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { publishBotKey } from './bot-events.ts'
import { type BotUser, isBot, mayManage } from './bot-view.ts'
import { keysOf, makeKey, receiversOf, revokeKeys, shownKey } from './keys.ts'

/** Within a change: earlier keys are refused from now on. `givenTo` is an administrator who is told a key of another account's bot. */
export function replaceKey(realm: Realm, tx: Transaction, bot: BotUser, givenTo?: number): string {
  revokeKeys(realm, tx, bot)
  return makeKey(realm, tx, bot, 'bot', givenTo === undefined ? {} : { givenTo: [givenTo] })
}

/** The same; clients of the owner that cannot ask for the new key are told it. */
export function renewKey(realm: Realm, tx: Transaction, bot: BotUser, givenTo?: number): string {
  const key = replaceKey(realm, tx, bot, givenTo)
  if (bot.bot.ownerId !== null) publishBotKey(tx, bot, key, bot.bot.ownerId)
  return key
}

/** For its owner alone, as clients of before level 474 are told of a bot; `""` for administrators. */
export const keyFor = (realm: Realm, viewerId: number | undefined, bot: User | undefined): string =>
  bot?.bot != null && bot.bot.ownerId === viewerId ? shownKey(realm, bot) : ''

/** Within a change: the key of a bot for `viewer`, who may manage it. It is replaced when an administrator may no longer. */
export function giveKey(realm: Realm, tx: Transaction, viewer: User, bot: BotUser): string {
  const key = shownKey(realm, bot)
  if (bot.bot.ownerId === viewer.id) return key
  for (const apiKey of keysOf(realm, bot)) {
    const receivers = receiversOf(apiKey)
    if (!receivers.includes(viewer.id)) tx.put('apiKey', { ...apiKey, givenTo: [...receivers, viewer.id] })
  }
  return key
}

/**
 * Within a change, after `user` was put with another role or deactivated: keys of bots end that somebody was given who may manage
 * the bot no longer, be it that they were demoted or that the bot rose.
 */
export function renewLostKeys(realm: Realm, tx: Transaction, user: User): void {
  const bots = isBot(user) ? [user] : botsGivenTo(realm, user)
  for (const bot of bots)
    if (receiversOfBot(realm, bot).some((viewer) => !mayUse(viewer, bot))) renewKey(realm, tx, bot)
}

const mayUse = (viewer: User, bot: BotUser): boolean => viewer.isActive && mayManage(viewer, bot)

const receiversOfBot = (realm: Realm, bot: BotUser): User[] =>
  keysOf(realm, bot).flatMap((apiKey) => receiversOf(apiKey).map((id) => realm.state.user.get(id)!))

function botsGivenTo({ state }: Realm, { id }: User): BotUser[] {
  const given = [...state.apiKey.all()].filter((apiKey) => receiversOf(apiKey).includes(id))
  const bots = [...new Set(given.map(({ userId }) => userId))].map((userId) => state.user.get(userId))
  return bots.filter((bot) => bot !== undefined && isBot(bot)) as BotUser[]
}
