/** Members and supergroups across nested groups. Contract section 2.1. */

import { inGroup, memberTest } from '../model/group-membership.ts'
import { type GroupValue, groupsOf as groupsIn } from '../model/group-value.ts'
import { groupsOf } from '../model/groups-of-realm.ts'
import type { Realm } from '../model/realm.ts'
import type { Group, User } from '../model/records.ts'
import { isCounted } from './group-view.ts'

/** Direct and indirect subgroups, without the group itself. */
export function subgroupsOf(realm: Realm, group: Group): Set<number> {
  const found = reached(realm, group.subgroups)
  found.delete(group.id)
  return found
}

function reached({ state }: Realm, ids: readonly number[]): Set<number> {
  const found = new Set<number>()
  const open = [...ids]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue
    found.add(id)
    for (const subgroup of state.group.get(id)?.subgroups ?? []) if (!found.has(subgroup)) open.push(subgroup)
  }
  return found
}

export const reaches = (realm: Realm, value: GroupValue, groupId: number): boolean =>
  reached(realm, groupsIn(value)).has(groupId)

/** Active direct and indirect members, ascending. */
export function allMembersOf(realm: Realm, group: Group): number[] {
  const isMember = memberTest(groupsOf(realm), group.id)
  return [...realm.state.user.all()]
    .filter((user) => isCounted(user) && isMember(user))
    .map(({ id }) => id)
    .sort((a, b) => a - b)
}

/** Filters the accounts by membership in any of the groups. Each group is read once, even if groups share subgroups. */
export function* membersAmong(realm: Realm, groupIds: Iterable<number>, userIds: Iterable<number>): Generator<number> {
  const isMember = memberTest(groupsOf(realm), { direct_members: [], direct_subgroups: [...groupIds] })
  for (const id of userIds) if (isMember(realm.state.user.require(id))) yield id
}

export const isMember = (realm: Realm, group: Group, user: User): boolean =>
  isCounted(user) && inGroup(groupsOf(realm), group.id, user)
