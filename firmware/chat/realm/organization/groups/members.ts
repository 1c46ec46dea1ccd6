/** Changes the members of user groups: users and subgroups. Contract rows E98, E99; V56. */

import { badRequest, forbidden } from '../../../base/error.ts'
import { systemName } from '../../model/group-membership.ts'
import type { Realm } from '../../model/realm.ts'
import type { Group, User } from '../../model/records.ts'
import { publishGroup, watchGroup } from '../../objects/group-events.ts'
import { expectActive, findGroup, findOwnGroup } from '../../permissions/group-find.ts'
import { mayInGroup, mayManageGroup } from '../../permissions/group-rights.ts'
import { mayAccess } from '../../permissions/user-access.ts'

const SUBGROUPS_MAX = 1000 // each check of the group's right visits all subgroups

interface MembersChange {
  add: readonly number[]
  remove: readonly number[]
  addSubgroups: readonly number[]
  removeSubgroups: readonly number[]
}

export function changeMembers(realm: Realm, me: User, id: number, change: MembersChange): void {
  const { add, remove, addSubgroups, removeSubgroups } = change
  const isNothing = [add, remove, addSubgroups, removeSubgroups].every(({ length }) => length === 0)
  if (isNothing)
    throw badRequest('Nothing to do. Specify at least one of "add", "delete", "add_subgroups" or "delete_subgroups".')
  realm.transaction((tx) => {
    const before = findOwnGroup(realm, id)
    expectActive(before)
    expectMayChange(realm, me, before, change)
    const members = changed(before.members, checkedMembers(realm, me, add), remove, {
      isThere: (user) => badRequest(`User ${user} is already a member of this group`),
      isMissing: (user) => badRequest(`There is no member '${user}' in this user group`),
    })
    const subgroups = changed(before.subgroups, checkedSubgroups(realm, addSubgroups, before), removeSubgroups, {
      isThere: (group) => badRequest(`User group ${group} is already a subgroup of this group`),
      isMissing: (group) => badRequest(`User group ${group} is not a subgroup of this group`),
    })
    const publishSight = watchGroup(realm, id, () => concerned(realm, change))
    tx.put('group', { ...before, members, subgroups })
    const publish = (op: string, name: string, ids: readonly number[]): void => {
      if (ids.length > 0) publishGroup(realm, tx, before, { op, group_id: id, [name]: [...new Set(ids)] })
    }
    publish('add_members', 'user_ids', add)
    publish('remove_members', 'user_ids', remove)
    publish('add_subgroups', 'direct_subgroup_ids', addSubgroups)
    publish('remove_subgroups', 'direct_subgroup_ids', removeSubgroups)
    publishSight(tx)
  })
}

/** can_join_group and can_leave_group allow a request only if the caller is its only user. */
function expectMayChange(realm: Realm, me: User, group: Group, change: MembersChange): void {
  if (mayManageGroup(realm, group, me)) return
  const { add, remove, addSubgroups, removeSubgroups } = change
  const isOwn = (ids: readonly number[]): boolean => ids.every((id) => id === me.id)
  const mayAdd =
    mayInGroup(realm, group, 'can_add_members_group', me) ||
    (addSubgroups.length === 0 && isOwn(add) && mayInGroup(realm, group, 'can_join_group', me))
  const mayRemove =
    mayInGroup(realm, group, 'can_remove_members_group', me) ||
    (removeSubgroups.length === 0 && isOwn(remove) && mayInGroup(realm, group, 'can_leave_group', me))
  const adds = add.length > 0 || addSubgroups.length > 0
  const removes = remove.length > 0 || removeSubgroups.length > 0
  if ((adds && !mayAdd) || (removes && !mayRemove)) throw forbidden('Insufficient permission')
}

/** Ascending. Throws `BAD_REQUEST`. */
export function checkedMembers(realm: Realm, me: User, ids: readonly number[]): number[] {
  for (const id of ids) {
    const user = realm.state.user.get(id)
    if (user?.isActive !== true || user.isSystemBot || !mayAccess(realm, me, user))
      throw badRequest(`Invalid user ID: ${id}`)
  }
  return ascending(ids)
}

/** Ascending. Throws `BAD_REQUEST`, also for a cycle of groups. */
export function checkedSubgroups(realm: Realm, ids: readonly number[], group?: Group): number[] {
  // A new cycle must pass through a supergroup of this group, whatever subgroup is added.
  const above = group === undefined ? new Set<number>() : realm.state.groupClosure.groupsAbove(group.id)
  for (const id of ids) {
    const subgroup = findGroup(realm, id)
    expectActive(subgroup)
    if (systemName(subgroup) === 'role:internet') throw badRequest(`Invalid user group ID: ${id}`)
    if (group !== undefined && (id === group.id || above.has(id)))
      throw badRequest(`User group ${group.id} would be in itself through ${id}`)
  }
  if (ids.length + (group?.subgroups.length ?? 0) > SUBGROUPS_MAX) throw badRequest('There are too many subgroups')
  return ascending(ids)
}

function changed(
  before: readonly number[],
  add: readonly number[],
  remove: readonly number[],
  refuse: { isThere: (id: number) => Error; isMissing: (id: number) => Error },
): number[] {
  const ids = new Set(before)
  for (const id of add) {
    if (ids.has(id)) throw refuse.isThere(id)
    ids.add(id)
  }
  for (const id of new Set(remove)) if (!ids.delete(id)) throw refuse.isMissing(id)
  return ascending(ids)
}

/** Users whose membership may change: with subgroups all active users. */
function* concerned({ state }: Realm, { add, remove, addSubgroups, removeSubgroups }: MembersChange) {
  if (addSubgroups.length === 0 && removeSubgroups.length === 0) yield* [...add, ...remove]
  else for (const { id, isActive } of state.user.all()) if (isActive) yield id
}

const ascending = (ids: Iterable<number>): number[] => [...new Set(ids)].sort((a, b) => a - b)
