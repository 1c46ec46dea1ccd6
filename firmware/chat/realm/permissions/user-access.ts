/** Accounts and addresses that a user may see. Contract sections 2.2 and 7.7. */

import { userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { atLeast, ROLES } from '../model/roles.ts'
import { canSee } from './channel-rights.ts'
import { mayInRealm, realmGroupValue } from './group-rights.ts'

/** True if `viewer` is a guest who may see only accessible users: those in a shared channel or conversation. */
export const isLimited = (realm: Realm, viewer: User): boolean =>
  viewer.role === ROLES.guest && !mayInRealm(realm, 'can_access_all_users_group', viewer)

/** Returns a test for the accounts that spectators may see: all, or, if guests are limited, subscribers of web-public channels and bots. */
export function spectatorAccess(realm: Realm): (user: User) => boolean {
  const value = realmGroupValue(realm, 'can_access_all_users_group')
  if (typeof value === 'number' && realm.state.group.get(value)?.name === 'role:everyone') return () => true
  const known = new Set<number>()
  for (const channel of realm.state.channel.all())
    if (canSee(realm, null, channel)) for (const id of realm.state.subscribersOf.get(channel.id).keys()) known.add(id)
  return (user) => user.bot !== null || known.has(user.id)
}

/** `mayAccess` for many accounts: the accessible users are collected once. */
export function accessOf(realm: Realm, viewer: User): (user: User) => boolean {
  if (!isLimited(realm, viewer)) return () => true
  const known = accessibleUserIds(realm, viewer)
  return (user) => user.bot !== null || known.has(user.id)
}

/** Details of a message's sender for a viewer. `name` omits the address; `nothing` hides a sender whom the viewer may not see. */
export type SenderVisibility = 'all' | 'name' | 'nothing'

/** `viewer` is null for spectators. */
export function senderVisibilityOf(realm: Realm, viewer: User | null): (senderId: number) => SenderVisibility {
  const sees = viewer === null ? spectatorAccess(realm) : accessOf(realm, viewer)
  const seen = viewer === null ? 'name' : 'all'
  return (senderId) => (sees(realm.state.user.require(senderId)) ? seen : 'nothing')
}

export const cannotSee = (realm: Realm, viewers: Iterable<User>, other: User): Set<number> =>
  new Set([...viewers].filter((viewer) => !mayAccess(realm, viewer, other)).map(({ id }) => id))

/** Includes the viewer. */
function accessibleUserIds(realm: Realm, viewer: User): Set<number> {
  const known = new Set([viewer.id])
  for (const [channelId, { isActive }] of realm.state.subscriptionsOf.get(viewer.id)) {
    if (!isActive) continue
    for (const id of realm.state.subscribersOf.get(channelId).keys()) known.add(id)
  }
  for (const { userIds } of realm.state.conversationsOf(viewer.id)) for (const id of userIds) known.add(id)
  return known
}

/** The accounts of `ids` that the guest may see, without collecting all of them as `accessibleUserIds` does. */
export const accessibleAmong = (realm: Realm, guest: User, ids: ReadonlySet<number>): Set<number> => {
  const found = new Set<number>()
  for (const id of ids) {
    const user = realm.state.user.get(id)
    if (user !== undefined && isAcquainted(realm, guest, user)) found.add(id)
  }
  return found
}

/** Cost of one access check: the number of channels and conversation participants that it visits. */
export function accessWork({ state }: Realm, guest: User): number {
  let work = 1 + state.subscriptionsOf.get(guest.id).size
  for (const { userIds } of state.conversationsOf(guest.id)) work += userIds.length
  return work
}

export const mayAccess = (realm: Realm, viewer: User, user: User): boolean =>
  user.bot !== null || !isLimited(realm, viewer) || isAcquainted(realm, viewer, user)

function isAcquainted({ state }: Realm, viewer: User, { id }: User): boolean {
  if (viewer.id === id) return true
  for (const [channelId, { isActive }] of state.subscriptionsOf.get(viewer.id))
    if (isActive && state.subscribersOf.get(channelId).has(id)) return true
  for (const { userIds } of state.conversationsOf(viewer.id)) if (userIds.includes(id)) return true
  return false
}

export function audiencesOf(realm: Realm, user: User): { seeing: User[]; others: User[] } {
  const seeing: User[] = []
  const others: User[] = []
  for (const viewer of realm.state.user.all()) {
    if (viewer.isActive && realm.events.hasQueue(viewer.id))
      (mayAccess(realm, viewer, user) ? seeing : others).push(viewer)
  }
  return { seeing, others }
}

/** Minimum role by `email_address_visibility`: 1 everyone, 2 members, 3 administrators, 5 moderators. 4, nobody, is handled below. */
const LEAST_ROLE = { 1: ROLES.guest, 2: ROLES.member, 3: ROLES.administrator, 5: ROLES.moderator } as const

/** True if `viewer`, who can access `user`, may see the real address. Bots have only that one. */
export function seesAddress(viewer: User, user: User): boolean {
  if (viewer.id === user.id || user.bot !== null) return true
  const visibility = userSetting(user, 'email_address_visibility')
  return visibility !== 4 && atLeast(viewer.role, LEAST_ROLE[visibility])
}
