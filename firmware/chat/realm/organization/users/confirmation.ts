/** First sign-in with a token of a foreign service, which identifies users by address alone. Contract section 1.2, row E3. */

import { noticePerson } from '../../messages/notices.ts'
import { holdScheduled } from '../../messages/scheduled.ts'
import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { publishBotUpdate } from '../../objects/bot-events.ts'
import { renewKey } from '../../objects/bot-keys.ts'
import { endedService, servicesOf } from '../../objects/bot-services.ts'
import { type BotUser, isBot } from '../../objects/bot-view.ts'
import { revokeKeys } from '../../objects/keys.ts'
import { removePassword } from '../../objects/users.ts'
import { revokeInvitationsOf } from './invitations.ts'
import { removeDevices } from './push.ts'

const NOTICE =
  'You have signed in by a token for the first time. Since nobody had confirmed the address of this account before, its earlier keys, sessions, password, invitations and registrations of devices have ended, its bots have new keys and webhook addresses, its bots that call an address elsewhere need a new one, and its scheduled messages wait for you. If you did not make this account, tell an administrator.'

/**
 * Another person may have created the account with this address, so the first such sign-in ends every other way into it. Messages and files
 * stay, because most accounts do belong to the person who signs in.
 */
export function confirmAddress(realm: Realm, tx: Transaction, user: User): User {
  if (user.isAddressTrusted) return user
  const after = { ...user, isAddressTrusted: true }
  tx.put('user', after)
  revokeKeys(realm, tx, user)
  removePassword(tx, user.id)
  removeDevices(realm, tx, user)
  for (const bot of [...realm.state.botsOf.get(user.id).values()]) if (isBot(bot)) endAccessOf(realm, tx, bot)
  revokeInvitationsOf(realm, tx, user.id)
  holdScheduled(realm, tx, user)
  noticePerson(realm, tx, after, NOTICE)
  tx.onCommit(() => realm.events.dropQueuesOf(user.id))
  return after
}

/** Renews the bot's key, which is part of its webhook URLs, and removes the address of an outgoing webhook. */
function endAccessOf(realm: Realm, tx: Transaction, bot: BotUser): void {
  renewKey(realm, tx, bot)
  const service = endedService(realm, bot.bot)
  if (service === undefined) return
  const after = { ...bot, bot: { ...bot.bot, service } }
  tx.put('user', after)
  publishBotUpdate(realm, tx, after, { services: servicesOf(realm, after.bot) })
}
