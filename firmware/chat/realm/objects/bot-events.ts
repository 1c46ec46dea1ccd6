/** Events about bots to the users who manage them. Contract section 4.4, V25 and V26. */

import { isOlder } from '../../base/version.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { type BotUser, botObject, managersOf } from './bot-view.ts'

/** One event for each recipient: below level 474 the owner's also contains the key. */
export function publishBot(realm: Realm, tx: Transaction, bot: BotUser, to: Iterable<number>): void {
  for (const id of to)
    tx.publish({ type: 'realm_bot', to: [id], make: () => ({ op: 'add', bot: botObject(realm, bot) }) })
}

export function publishBotUpdate(
  realm: Realm,
  tx: Transaction,
  bot: User,
  changed: Readonly<Record<string, unknown>>,
  { to = managersOf(realm, bot), cause }: { to?: Iterable<number>; cause?: 'email' } = {},
): void {
  tx.publish({
    type: 'realm_bot',
    to,
    make: () => ({ op: 'update', bot: { user_id: bot.id, ...changed } }),
    ...(cause !== undefined && { cause }),
  })
}

/** Publishes a new key to queues below level 474 only: later clients request it. */
export function publishBotKey(tx: Transaction, bot: User, key: string, to: number): void {
  tx.publish({
    type: 'realm_bot',
    to: [to],
    make: ({ level }) => (isOlder(level, 474) ? { op: 'update', bot: { user_id: bot.id, api_key: key } } : null),
  })
}

export function publishBotGone(tx: Transaction, bot: User, to: Iterable<number>): void {
  tx.publish({ type: 'realm_bot', to, make: () => ({ op: 'delete', bot: { user_id: bot.id } }) })
}
