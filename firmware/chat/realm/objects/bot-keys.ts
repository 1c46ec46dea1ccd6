/** API keys of bots: which users have received one, and when it is replaced. Contract section 3.5.1. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { publishBotKey } from './bot-events.ts'
import { type BotUser, isBot, mayManage } from './bot-view.ts'
import { keysOf, makeKey, receiversOf, revokeKeys, shownKey } from './keys.ts'

/** Revokes earlier keys. `givenTo` is an administrator who receives the key of another account's bot. */
export function replaceKey(realm: Realm, tx: Transaction, bot: BotUser, givenTo?: number): string {
  revokeKeys(realm, tx, bot)
  return makeKey(realm, tx, bot, 'bot', givenTo === undefined ? {} : { givenTo: [givenTo] })
}

/** As `replaceKey`, and publishes the key to the owner's clients that cannot request it. */
export function renewKey(realm: Realm, tx: Transaction, bot: BotUser, givenTo?: number): string {
  const key = replaceKey(realm, tx, bot, givenTo)
  if (bot.bot.ownerId !== null) publishBotKey(tx, bot, key, bot.bot.ownerId)
  return key
}

/** Returns the key to the owner for clients below level 474, and `""` to other users. */
export const keyFor = (realm: Realm, viewerId: number | undefined, bot: User | undefined): string =>
  bot?.bot != null && bot.bot.ownerId === viewerId ? shownKey(realm, bot) : ''

/**
 * Returns the bot's key to `viewer`, who may manage it, and records an administrator as receiver: the key is replaced when the
 * administrator loses that right.
 */
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
 * Called after the role of `user` changed or `user` was deactivated. Replaces bot keys that a user received who may no longer manage the
 * bot, because either the user or the bot changed role.
 */
export function renewLostKeys(realm: Realm, tx: Transaction, user: User): void {
  const bots = isBot(user) ? [user] : botsGivenTo(realm, user)
  for (const bot of bots)
    if (receiversOfBot(realm, bot).some((viewer) => !mayUse(viewer, bot))) renewKey(realm, tx, bot)
}

const mayUse = (viewer: User, bot: BotUser): boolean => viewer.isActive && mayManage(viewer, bot)

const receiversOfBot = (realm: Realm, bot: BotUser): User[] =>
  keysOf(realm, bot).flatMap((apiKey) => receiversOf(apiKey).map((id) => realm.state.user.require(id)))

function botsGivenTo({ state }: Realm, { id }: User): BotUser[] {
  const given = [...state.apiKey.all()].filter((apiKey) => receiversOf(apiKey).includes(id))
  const bots = [...new Set(given.map(({ userId }) => userId))].map((userId) => state.user.get(userId))
  return bots.filter((bot) => bot !== undefined && isBot(bot)) as BotUser[]
}
