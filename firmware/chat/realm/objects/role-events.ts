/** Events to an account whose role changed. Contract sections 2.2, 4.4 and 7.7. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { ROLES } from '../model/roles.ts'
import type { Transaction } from '../model/transaction.ts'
import { isLimited, seesAddress } from '../permissions/user-access.ts'
import { publishBot, publishBotGone } from './bot-events.ts'
import { type BotUser, managedBots, managersOf } from './bot-view.ts'
import { publishDefaultChannels } from './default-channels.ts'
import { publishDefaultGroups } from './default-groups.ts'
import { groupObject } from './group-view.ts'

/**
 * Called after the account was stored. If the user is now a guest, or guest limits begin or end to apply, the user's queues are dropped and
 * the clients register again: too much changes for single events.
 */
export function publishRoleSight(realm: Realm, tx: Transaction, before: User, after: User): void {
  if (after.bot !== null) publishManagers(realm, tx, before, after)
  const isDemoted = after.role === ROLES.guest || isLimited(realm, before) !== isLimited(realm, after)
  if (isDemoted) tx.onCommit(() => realm.events.dropQueuesOf(after.id))
  else {
    if (before.role === ROLES.guest) {
      publishGroups(realm, tx, after)
      publishDefaultChannels(realm, tx, [after])
      publishDefaultGroups(realm, tx, [after])
    }
    publishBots(realm, tx, before, after)
    publishAddressesTo(realm, tx, before, after)
  }
}

function publishGroups(realm: Realm, tx: Transaction, user: User): void {
  for (const group of realm.state.group.all()) {
    tx.publish({
      type: 'user_group',
      to: [user.id],
      make: ({ can }) =>
        group.isDeactivated && !can.include_deactivated_groups ? null : { op: 'add', group: groupObject(realm, group) },
    })
  }
}

function publishBots(realm: Realm, tx: Transaction, before: User, after: User): void {
  const [old, now] = [new Set(managedBots(realm, before)), new Set(managedBots(realm, after))]
  for (const bot of now.difference(old)) publishBot(realm, tx, bot, [after.id])
  for (const bot of old.difference(now)) publishBotGone(tx, bot, [after.id])
}

function publishManagers(realm: Realm, tx: Transaction, before: User, after: User): void {
  const [old, now] = [new Set(managersOf(realm, before)), new Set(managersOf(realm, after))]
  publishBot(realm, tx, after as BotUser, now.difference(old))
  publishBotGone(tx, after, old.difference(now))
}

function publishAddressesTo(realm: Realm, tx: Transaction, before: User, after: User): void {
  for (const user of realm.state.user.all()) {
    const sees = seesAddress(after, user)
    if (user.isSystemBot || sees === seesAddress(before, user)) continue
    const person = { user_id: user.id, delivery_email: sees ? user.deliveryEmail : null }
    tx.publish({ type: 'realm_user', to: [after.id], make: () => ({ op: 'update', person }) })
  }
}
