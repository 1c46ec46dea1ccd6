/** What is told of bots to those who manage them. Contract section 4.4, V25 and V26. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { type BotUser, botObject, managersOf } from './bot-view.ts'

export function publishBot(realm: Realm, tx: Transaction, bot: BotUser, to: Iterable<number>): void {
  for (const id of to)
    tx.publish({ type: 'realm_bot', to: [id], make: () => ({ op: 'add', bot: botObject(realm, bot, id) }) })
}

export function publishBotUpdate(
  realm: Realm,
  tx: Transaction,
  bot: User,
  changed: Readonly<Record<string, unknown>>,
  to: Iterable<number> = managersOf(realm, bot),
): void {
  tx.publish({ type: 'realm_bot', to, make: () => ({ op: 'update', bot: { user_id: bot.id, ...changed } }) })
}

export function publishBotGone(tx: Transaction, bot: User, to: Iterable<number>): void {
  tx.publish({ type: 'realm_bot', to, make: () => ({ op: 'delete', bot: { user_id: bot.id } }) })
}
