/** User groups as clients see them, and events when accounts enter and leave system groups. Contract section 2.5. */

import { groupsOf } from '../model/groups-of-realm.ts'
import type { Realm } from '../model/realm.ts'
import type { Group, User } from '../model/records.ts'
import { directSystemGroups, inSystemGroup, ROLES, type SystemGroupName } from '../model/roles.ts'
import type { Transaction } from '../model/transaction.ts'
import { systemGroupId, userGroupValues } from '../permissions/group-rights.ts'

/** True for accounts that belong to the system group of their role. System bots belong to none. */
export const isCounted = (user: User): boolean => user.isActive && !user.isSystemBot

/** Active direct members, ascending. */
export function activeMembers(realm: Realm, group: Group): number[] {
  if (!group.isSystem) return group.members.filter((id) => realm.state.user.get(id)?.isActive === true)
  const period = groupsOf(realm).period()
  const members: number[] = []
  for (const user of realm.state.user.all()) {
    // The cheaper test first: most accounts are in few groups.
    if (!isCounted(user) || !inSystemGroup(group.name as SystemGroupName, user, period)) continue
    if (directSystemGroups(user, period).includes(group.name as SystemGroupName)) members.push(user.id)
  }
  return members.sort((a, b) => a - b)
}

export const groupObject = (realm: Realm, group: Group) => ({
  id: group.id,
  name: group.name,
  description: group.description,
  date_created: group.dateCreated,
  creator_id: group.creatorId,
  members: activeMembers(realm, group),
  direct_subgroup_ids: [...group.subgroups],
  is_system_group: group.isSystem,
  deactivated: group.isDeactivated,
  ...userGroupValues(realm, group),
})

export const groupObjects = (realm: Realm, includeDeactivated: boolean) =>
  [...realm.state.group.all()]
    .filter(({ isDeactivated }) => includeDeactivated || !isDeactivated)
    .sort((a, b) => a.id - b.id)
    .map((group) => groupObject(realm, group))

function directGroups(realm: Realm, user: User | undefined): Set<number> {
  if (user === undefined || !isCounted(user)) return new Set()
  const ids = directSystemGroups(user, groupsOf(realm).period()).map((name) => systemGroupId(realm, name))
  return realm.state.groupClosure.directGroups(user.id).union(new Set(ids))
}

/** Called after the account was stored. Publishes the groups that the account entered and left. */
export function publishMemberships(realm: Realm, tx: Transaction, before: User | undefined, after: User): void {
  publishDifference(realm, tx, after.id, directGroups(realm, before), directGroups(realm, after))
}

/** Call before the definition of a full member changes; call the returned function after the change to publish the events of all accounts. */
export function watchMemberships(realm: Realm): (tx: Transaction) => void {
  const before = new Map([...realm.state.user.all()].map((user) => [user, directGroups(realm, user)]))
  return (tx) => {
    for (const [user, old] of before) publishDifference(realm, tx, user.id, old, directGroups(realm, user))
  }
}

function publishDifference(
  realm: Realm,
  tx: Transaction,
  userId: number,
  old: ReadonlySet<number>,
  now: ReadonlySet<number>,
): void {
  const publish = (op: 'add_members' | 'remove_members', group: number) =>
    tx.publish({
      type: 'user_group',
      to: membersOf(realm),
      make: (shape) =>
        realm.state.group.require(group).isDeactivated && !shape.can.include_deactivated_groups
          ? null
          : { op, group_id: group, user_ids: [userId] },
    })
  for (const id of old.difference(now)) publish('remove_members', id)
  for (const id of now.difference(old)) publish('add_members', id)
}

export function* membersOf(realm: Realm): Generator<number> {
  for (const { id, role, isActive } of realm.state.user.all()) if (isActive && role !== ROLES.guest) yield id
}
