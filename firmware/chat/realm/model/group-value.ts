/** Values of settings that name a group of people (GSV), and their updates (GSU). Contract section 0. */

import * as z from 'zod'

/** Users and groups, where no single group says it. Both lists ascend and hold no id twice. */
interface AnonymousGroup {
  readonly direct_members: readonly number[]
  readonly direct_subgroups: readonly number[]
}

/** A user group's id, or a group without a name. */
export type GroupValue = number | AnonymousGroup

// Each is looked at whenever the right is asked for; a group with a name holds more.
const MEMBERS_MAX = 1000
const SUBGROUPS_MAX = 100

const id = z.int().nonnegative()

/** A group-setting value in its normal form: an anonymous group that is only one group is that group's id. */
export const groupValue = z.union([
  id,
  z
    .object({
      direct_members: z.array(id).max(MEMBERS_MAX),
      direct_subgroups: z.array(id).max(SUBGROUPS_MAX),
    })
    .transform(normalGroupValue),
])

/** `old` is what the caller believes to be stored: where it is not, the change is refused. */
export const groupValueUpdate = z.object({ new: groupValue, old: groupValue.optional() })
export type GroupValueUpdate = z.infer<typeof groupValueUpdate>

function normalGroupValue(value: GroupValue): GroupValue {
  if (typeof value === 'number') return value
  const direct_members = ascending(value.direct_members)
  const direct_subgroups = ascending(value.direct_subgroups)
  return direct_members.length === 0 && direct_subgroups.length === 1
    ? direct_subgroups[0]!
    : { direct_members, direct_subgroups }
}

/** Whether two values in their normal form are the same. */
export function sameGroupValue(a: GroupValue, b: GroupValue): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b
  return sameIds(a.direct_members, b.direct_members) && sameIds(a.direct_subgroups, b.direct_subgroups)
}

/** The groups that a value names. */
export const groupsOf = (value: GroupValue): readonly number[] =>
  typeof value === 'number' ? [value] : value.direct_subgroups

const ascending = (ids: readonly number[]): number[] => [...new Set(ids)].sort((a, b) => a - b)

const sameIds = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((id, index) => id === b[index])
