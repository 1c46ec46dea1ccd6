/** Deprecated policy numbers that stand for group settings in the register answer. Contract section 4.2.2, levels 264 to 352. */

import { defined } from '../../../base/defined.ts'
import { type Groups, holdsTest, type Person, systemName } from '../model/group-membership.ts'
import type { GroupValue } from '../model/group-value.ts'
import { inSystemGroup, type SystemGroupName } from '../model/roles.ts'

/** System groups with their policy numbers, from the narrowest group to the widest. */
export type Policy = readonly (readonly [SystemGroupName, number])[]

export const CREATE_POLICY: Policy = [
  ['role:nobody', 6],
  ['role:owners', 7],
  ['role:administrators', 2],
  ['role:moderators', 4],
  ['role:fullmembers', 3],
  ['role:members', 1],
]

export const WILDCARD_MENTION_POLICY: Policy = [
  ['role:nobody', 6],
  ['role:administrators', 5],
  ['role:moderators', 7],
  ['role:fullmembers', 3],
  ['role:members', 2],
  ['role:everyone', 1],
]

/** Returns the number of the narrowest group that contains every user of `people` with the right, or else of the widest group. */
export function policyOf(
  policy: Policy,
  groups: Groups,
  bounds: { everyone: boolean },
  value: GroupValue,
  people: Iterable<Person>,
): number {
  const name = typeof value === 'number' ? systemName(groups.find(value)) : null
  const exact = policy.find(([group]) => group === name)
  if (exact !== undefined) return exact[1]
  const isHolder = holdsTest(groups, bounds, value)
  let index = 0
  for (const person of people) {
    if (!isHolder(person)) continue
    while (index < policy.length - 1 && !inSystemGroup(defined(policy[index])[0], person, groups.period())) index++
  }
  return defined(policy[index])[1]
}
