/** Groups within groups: whom all of one has, and which groups reach another. Contract section 2.1. */

import { inGroup, systemName } from '../model/group-membership.ts'
import { type GroupValue, groupsOf as groupsIn } from '../model/group-value.ts'
import { groupsOf } from '../model/groups-of-realm.ts'
import type { Realm } from '../model/realm.ts'
import type { Group, User } from '../model/records.ts'
import { inSystemGroup } from '../model/roles.ts'
import { isCounted } from './group-view.ts'

/** Its subgroups and theirs, without the group itself. */
export function subgroupsOf(realm: Realm, group: Group): Set<number> {
  const found = reached(realm, group.subgroups)
  found.delete(group.id)
  return found
}

/** These groups and all that are in them. */
function reached({ state }: Realm, ids: readonly number[]): Set<number> {
  const found = new Set<number>()
  const open = [...ids]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (found.has(id)) continue
    found.add(id)
    open.push(...(state.group.get(id)?.subgroups ?? []))
  }
  return found
}

/** Whether the value gives the right to whoever is in the group. */
export const reaches = (realm: Realm, value: GroupValue, groupId: number): boolean =>
  reached(realm, groupsIn(value)).has(groupId)

/** Active members, direct or not, ascending. */
export function allMembersOf(realm: Realm, group: Group): number[] {
  const groups = [...reached(realm, [group.id])].map((id) => realm.state.group.get(id)!)
  const people = new Set(groups.flatMap(({ members }) => members))
  const roles = groups.map(systemName).filter((name) => name !== null)
  const period = groupsOf(realm).period()
  return [...realm.state.user.all()]
    .filter((user) => isCounted(user))
    .filter((user) => people.has(user.id) || roles.some((role) => inSystemGroup(role, user, period)))
    .map(({ id }) => id)
    .sort((a, b) => a - b)
}

/**
 * Filters the accounts by membership in any of the groups. Each group is read once, however many groups there are and however they
 * share their subgroups.
 */
export function* membersAmong(realm: Realm, groupIds: Iterable<number>, userIds: Iterable<number>): Generator<number> {
  const groups = [...reached(realm, [...groupIds])].flatMap((id) => realm.state.group.get(id) ?? [])
  const people = new Set<number>()
  for (const { members } of groups) for (const id of members) people.add(id)
  const roles = groups.map(systemName).filter((name) => name !== null)
  const period = groupsOf(realm).period()
  for (const id of userIds) {
    if (people.has(id) || roles.some((role) => inSystemGroup(role, realm.state.user.get(id)!, period))) yield id
  }
}

export const isMember = (realm: Realm, group: Group, user: User): boolean =>
  isCounted(user) && inGroup(groupsOf(realm), group.id, user)
