/** Values of group settings (GSV) and their updates (GSU). Contract section 0. */

import * as z from 'zod'
import { defined } from '../../../base/defined.ts'

/** A set of users and groups without a name. Both lists are in ascending order without duplicates. */
interface AnonymousGroup {
  readonly direct_members: readonly number[]
  readonly direct_subgroups: readonly number[]
}

export type GroupValue = number | AnonymousGroup

// Each entry is read on every check of the right. A larger set needs a named group.
const MEMBERS_MAX = 1000
const SUBGROUPS_MAX = 100

const id = z.int().nonnegative()

/** Normalizes: an anonymous group with a single subgroup and no members becomes the id of that subgroup. */
export const groupValue = z.union([
  id,
  z
    .object({
      direct_members: z.array(id).max(MEMBERS_MAX),
      direct_subgroups: z.array(id).max(SUBGROUPS_MAX),
    })
    .transform(normalGroupValue),
])

/** `old`: the value that the client expects to replace. The request fails if the stored value differs. */
export const groupValueUpdate = z.object({ new: groupValue, old: groupValue.optional() })
export type GroupValueUpdate = z.infer<typeof groupValueUpdate>

function normalGroupValue(value: GroupValue): GroupValue {
  if (typeof value === 'number') return value
  const direct_members = ascending(value.direct_members)
  const direct_subgroups = ascending(value.direct_subgroups)
  return direct_members.length === 0 && direct_subgroups.length === 1
    ? defined(direct_subgroups[0])
    : { direct_members, direct_subgroups }
}

/** Both values must be normalized. */
export function sameGroupValue(a: GroupValue, b: GroupValue): boolean {
  if (typeof a === 'number' || typeof b === 'number') return a === b
  return sameIds(a.direct_members, b.direct_members) && sameIds(a.direct_subgroups, b.direct_subgroups)
}

export const groupsOf = (value: GroupValue): readonly number[] =>
  typeof value === 'number' ? [value] : value.direct_subgroups

const ascending = (ids: readonly number[]): number[] => [...new Set(ids)].sort((a, b) => a - b)

const sameIds = (a: readonly number[], b: readonly number[]): boolean =>
  a.length === b.length && a.every((id, index) => id === b[index])
