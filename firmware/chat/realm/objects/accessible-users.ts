/**
 * Guests who see only whom they share a channel or a conversation with: whom they meet, and whom they meet no more.
 * Contract section 7.7, V33 and V35, level 232.
 */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { accessibleUserIds, isLimited, seesAddress } from '../permissions/user-access.ts'
import { statusObject } from './statuses.ts'
import { placeholderObject, userObject } from './user-view.ts'

/** To be called before subscriptions or conversations change; what it returns, after it: it tells those guests. */
export function trackAccessibleUsers(realm: Realm): (tx: Transaction) => void {
  const before = new Map(limitedGuests(realm).map((guest) => [guest, accessibleUserIds(realm, guest)]))
  return (tx) => {
    for (const [guest, old] of before) {
      const now = accessibleUserIds(realm, guest)
      for (const id of now.difference(old)) publishMet(realm, tx, guest, realm.state.user.get(id)!)
      for (const id of old.difference(now)) publishLost(realm, tx, guest, realm.state.user.get(id)!)
    }
  }
}

/** Those who wait for events: nobody else needs to be told. */
const limitedGuests = (realm: Realm): User[] =>
  [...realm.state.user.all()].filter(
    (user) => realm.events.hasQueue(user.id) && user.isActive && isLimited(realm, user),
  )

/** Everybody sees bots anyway. */
function publishMet(realm: Realm, tx: Transaction, guest: User, user: User): void {
  if (user.bot !== null) return
  const sees = seesAddress(guest, user)
  tx.publish({
    type: 'realm_user',
    to: [guest.id],
    make: ({ clientGravatar }) => ({
      op: 'add',
      person: userObject(realm, user, sees, { clientGravatar, includeProfileData: true }),
    }),
  })
  const status = statusObject(realm, user)
  if (Object.keys(status).length > 0)
    tx.publish({ type: 'user_status', to: [guest.id], make: () => ({ user_id: user.id, ...status }) })
  if (user.isActive) return
  const body = { op: 'update', person: { user_id: user.id, is_active: false } }
  tx.publish({ type: 'realm_user', to: [guest.id], make: () => body })
}

/** Clients that need one for each id get a placeholder. */
function publishLost(realm: Realm, tx: Transaction, guest: User, user: User): void {
  if (user.bot !== null) return
  const person = placeholderObject(realm, user)
  const gone = { op: 'remove', person: { user_id: user.id, full_name: person.full_name } }
  tx.publish({ type: 'realm_user', to: [guest.id], make: () => gone })
  tx.publish({
    type: 'realm_user',
    to: [guest.id],
    make: ({ can }) => (can.user_list_incomplete ? null : { op: 'add', person }),
  })
}
