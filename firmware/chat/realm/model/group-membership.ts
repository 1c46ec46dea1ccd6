/** Membership of groups, and rights that a setting grants to a group. Contract sections 2.1 and 7.2. */

import type { GroupClosure } from './group-closure.ts'
import type { GroupValue } from './group-value.ts'
import {
  inSystemGroup,
  ROLES,
  type Seniority,
  SYSTEM_GROUPS,
  type SystemGroupName,
  type WaitingPeriod,
} from './roles.ts'

/** Membership of system groups follows from roles, so their `members` are not read. */
export interface GroupNode {
  readonly name: string
  readonly isSystem: boolean
  readonly members: readonly number[]
  readonly subgroups: readonly number[]
}

export const systemName = (group: GroupNode | undefined): SystemGroupName | null =>
  group?.isSystem === true ? (group.name as SystemGroupName) : null

export interface Person extends Seniority {
  id: number
}

export interface Groups {
  find(id: number): GroupNode | undefined
  systemGroupId(name: SystemGroupName): number | undefined
  readonly closure: Pick<GroupClosure, 'groupsOfUser' | 'groupsAbove'>
  period(): WaitingPeriod
}

/** True if `person` is in the group, directly or through subgroups. False if the group does not exist. */
export function inGroup(groups: Groups, groupId: number, person: Person): boolean {
  const group = groups.find(groupId)
  if (group === undefined) return false
  const role = systemName(group)
  if (role !== null) return inSystemGroup(role, person, groups.period())
  const { closure } = groups
  return (
    closure.groupsOfUser(person.id).has(groupId) ||
    SYSTEM_GROUPS.some((name) => {
      const id = groups.systemGroupId(name)
      return id !== undefined && closure.groupsAbove(id).has(groupId) && inSystemGroup(name, person, groups.period())
    })
  )
}

export function isAmong(groups: Groups, value: GroupValue, person: Person): boolean {
  if (typeof value === 'number') return inGroup(groups, value, person)
  return value.direct_members.includes(person.id) || value.direct_subgroups.some((id) => inGroup(groups, id, person))
}

/** Like `isAmong`, for testing many people: reads each group once. */
export function memberTest(groups: Groups, value: GroupValue): (person: Person) => boolean {
  const { direct_members, direct_subgroups } =
    typeof value === 'number' ? { direct_members: [], direct_subgroups: [value] } : value
  const people = new Set(direct_members)
  const roles: SystemGroupName[] = []
  const seen = new Set<number>()
  const open = [...direct_subgroups]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue
    seen.add(id)
    const group = groups.find(id)
    if (group === undefined) continue
    const role = systemName(group)
    if (role !== null) {
      roles.push(role)
      continue
    }
    for (const member of group.members) people.add(member)
    for (const subgroup of group.subgroups) if (!seen.has(subgroup)) open.push(subgroup)
  }
  const period = groups.period()
  return (person) => people.has(person.id) || roles.some((role) => inSystemGroup(role, person, period))
}

/** True if `person` holds the right. Guests hold it only if the setting may be granted to everyone, even if they are in the group. */
export const holds = (groups: Groups, bounds: { everyone: boolean }, value: GroupValue, person: Person): boolean =>
  (bounds.everyone || person.role !== ROLES.guest) && isAmong(groups, value, person)

export function holdsTest(
  groups: Groups,
  bounds: { everyone: boolean },
  value: GroupValue,
): (person: Person) => boolean {
  const isMember = memberTest(groups, value)
  return (person) => (bounds.everyone || person.role !== ROLES.guest) && isMember(person)
}
