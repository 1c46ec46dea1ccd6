/** Keys of bots: who has been told one, and when another takes its place. Contract section 3.5.1. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { publishBotUpdate } from './bot-events.ts'
import { type BotUser, isBot, mayManage } from './bot-view.ts'
import { makeKey, revokeKeys } from './keys.ts'

/** Within a change: earlier keys are refused from now on. `givenTo` is an administrator who is told a key of another account's bot. */
export function replaceKey(realm: Realm, tx: Transaction, bot: BotUser, givenTo?: number): string {
  revokeKeys(realm, tx, bot)
  return makeKey(realm, tx, bot, 'bot', givenTo === undefined ? {} : { givenTo })
}

/** The same; the owner is told the new key. */
export function renewKey(realm: Realm, tx: Transaction, bot: BotUser, givenTo?: number): string {
  const key = replaceKey(realm, tx, bot, givenTo)
  if (bot.bot.ownerId !== null) publishBotUpdate(realm, tx, bot, { api_key: key }, [bot.bot.ownerId])
  return key
}

/** Within a change, after `user` was put with a lower role or deactivated: keys of bots end that `user` may manage no longer. */
export function renewLostKeys(realm: Realm, tx: Transaction, user: User): void {
  if (isBot(user)) return
  for (const { givenTo, userId } of [...realm.state.apiKey.all()]) {
    const bot = givenTo === user.id ? realm.state.user.get(userId) : undefined
    if (bot !== undefined && isBot(bot) && !(user.isActive && mayManage(user, bot))) renewKey(realm, tx, bot)
  }
}
