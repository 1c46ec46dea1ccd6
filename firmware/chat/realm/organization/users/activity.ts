/** Deactivates and reactivates accounts. Contract section 3.4, rows E73 to E75, and E92 for bots. */

import type { Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { publishBotUpdate } from '../../objects/bot-events.ts'
import { renewLostKeys } from '../../objects/bot-keys.ts'
import { removeDevicesOf } from '../../objects/client-devices.ts'
import { publishMemberships } from '../../objects/group-view.ts'
import { hidePresence } from '../../objects/presences.ts'
import { publishPerson } from '../../objects/user-events.ts'
import { publishPeers } from '../../objects/visibility-events.ts'
import { viewersOf } from '../../permissions/channel-find.ts'
import { begun, ended } from '../channels/subscribe.ts'
import { revokeInvitationsOf } from './invitations.ts'

/** Deactivates the account's bots first. The keys stay, so that their clients get the error for a deactivated account. */
export function deactivate(realm: Realm, tx: Transaction, user: User): void {
  if (!user.isActive) return
  for (const bot of [...realm.state.botsOf.get(user.id).values()]) deactivate(realm, tx, bot)
  setActive(realm, tx, user, false)
  renewLostKeys(realm, tx, realm.state.user.require(user.id))
  removeDevicesOf(realm, tx, user.id)
  hidePresence(realm, tx, user)
  revokeInvitationsOf(realm, tx, user.id)
  for (const { userId, makerId } of [...realm.state.passwordLink.all()])
    if (userId === user.id || makerId === user.id) tx.remove('passwordLink', userId)
  tx.onCommit(() => realm.events.dropQueuesOf(user.id))
}

/** The account's bots stay deactivated: each is reactivated separately. */
export function reactivate(realm: Realm, tx: Transaction, user: User): void {
  if (!user.isActive) setActive(realm, tx, user, true)
}

function setActive(realm: Realm, tx: Transaction, before: User, isActive: boolean): void {
  const after = { ...before, isActive }
  tx.put('user', after)
  publishPerson(realm, tx, after, { is_active: isActive })
  if (after.bot !== null) publishBotUpdate(realm, tx, after, { is_active: isActive })
  publishMemberships(realm, tx, before, after)
  for (const [channelId, subscription] of realm.state.subscriptionsOf.get(after.id)) {
    const channel = realm.state.channel.get(channelId)
    if (channel === undefined || !subscription.isActive) continue
    const intervals = (isActive ? begun : ended)(realm, channel, subscription.intervals)
    tx.put('subscription', { ...subscription, intervals }) // isActive of the subscription stays true
    const viewers = viewersOf(realm, channel)
    if (isActive) publishPeers(tx, 'peer_add', channel, [after.id], viewers)
    else publishPeers(tx, 'peer_remove', channel, [after.id], viewers, 'deactivation')
  }
}
