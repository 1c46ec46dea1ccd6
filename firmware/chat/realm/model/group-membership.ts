/** Who is in a group, and who holds a right that a setting gives to one. Contract sections 2.1 and 7.2. */

import type { GroupValue } from './group-value.ts'
import { inSystemGroup, ROLES, type Seniority, type SystemGroupName, type WaitingPeriod } from './roles.ts'

/** What is asked of a group here. System groups have no members of their own: the roles of accounts decide. */
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

/** Where groups are found, and what a full member is at present. */
export interface Groups {
  find(id: number): GroupNode | undefined
  period(): WaitingPeriod
}

/** Whether `person` is in the group, directly or through subgroups. A group that does not exist holds nobody. */
export function inGroup(groups: Groups, groupId: number, person: Person): boolean {
  const seen = new Set<number>()
  const open = [groupId]
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (seen.has(id)) continue
    seen.add(id)
    const group = groups.find(id)
    if (group === undefined) continue
    const role = systemName(group)
    if (role !== null) {
      if (inSystemGroup(role, person, groups.period())) return true
    } else if (group.members.includes(person.id)) {
      return true
    } else {
      open.push(...group.subgroups)
    }
  }
  return false
}

/** Whether `person` is among those whom `value` names. */
export function isAmong(groups: Groups, value: GroupValue, person: Person): boolean {
  if (typeof value === 'number') return inGroup(groups, value, person)
  return value.direct_members.includes(person.id) || value.direct_subgroups.some((id) => inGroup(groups, id, person))
}

/** Whether `person` holds the right; guests do not where the setting has no room for everyone, also inside the group. */
export const holds = (groups: Groups, bounds: { everyone: boolean }, value: GroupValue, person: Person): boolean =>
  (bounds.everyone || person.role !== ROLES.guest) && isAmong(groups, value, person)
