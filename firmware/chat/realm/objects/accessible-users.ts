/**
 * Events for limited guests when users become accessible to them or stop being accessible. Contract section 7.7, V33 and V35, level 232.
 */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { accessibleAmong, accessWork, isLimited, seesAddress } from '../permissions/user-access.ts'
import { statusObject } from './statuses.ts'
import { placeholderObject, userObject } from './user-view.ts'

/** The accounts whose subscriptions or conversations change, and the channels they enter or leave. */
interface AccessChange {
  readonly userIds: readonly number[]
  readonly channelIds?: readonly number[]
}

/**
 * Ids that one change may examine for guests with event queues, so that it does not delay other requests. The queues of further guests are
 * dropped; their clients register again.
 */
const LOOKED_AT_MAX = 2_000_000

/** Call before subscriptions or conversations change; call the returned function after the change to publish the events. */
export function trackAccessibleUsers(realm: Realm, change: AccessChange): (tx: Transaction) => void {
  const before = new Map<User, ReadonlySet<number>>()
  const untold: User[] = []
  const isChanged = new Set(change.userIds)
  const peers = new Set(change.userIds)
  for (const id of change.channelIds ?? []) for (const peer of realm.state.subscribersOf.get(id).keys()) peers.add(peer)
  let lookedAt = 0
  for (const id of peers) {
    const guest = realm.state.user.get(id)
    if (guest === undefined || !realm.events.hasQueue(id) || !guest.isActive || !isLimited(realm, guest)) continue
    // A guest whose own subscriptions stay the same can only gain or lose the accounts that change.
    const others = isChanged.has(id) ? peers : isChanged
    if (lookedAt <= LOOKED_AT_MAX) lookedAt += others.size * accessWork(realm, guest)
    if (lookedAt > LOOKED_AT_MAX) untold.push(guest)
    else before.set(guest, accessibleAmong(realm, guest, others))
  }
  return (tx) => {
    for (const [guest, old] of before) {
      const now = accessibleAmong(realm, guest, isChanged.has(guest.id) ? peers : isChanged)
      for (const id of now.difference(old)) publishMet(realm, tx, guest, realm.state.user.require(id))
      for (const id of old.difference(now)) publishLost(realm, tx, guest, realm.state.user.require(id))
    }
    for (const { id } of untold) tx.onCommit(() => realm.events.dropQueuesOf(id))
  }
}

/** Bots are accessible to everyone: no event. */
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

/** Clients without `user_list_incomplete` get a placeholder, because they need a user for each id. */
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
