/**
 * The groups that contain an account, directly or through subgroups. Building a snapshot checks thousands of channels and groups for one
 * account, so the result for an account is cached until a group changes.
 */

import type { MutableCollection } from './collection.ts'
import type { Group } from './records.ts'

type IndexedGroup = Pick<Group, 'id' | 'isSystem' | 'members' | 'subgroups'>

export interface GroupClosure {
  directGroups(userId: number): ReadonlySet<number>
  /** Custom groups that contain the account directly or through subgroups. */
  groupsOfUser(userId: number): ReadonlySet<number>
  /** Groups that contain this group as a subgroup, directly or not. */
  groupsAbove(groupId: number): ReadonlySet<number>
}

/** Limit on the ids in all cached sets: some 16 MB. */
const KEPT_IDS_MAX = 500_000

const NONE: ReadonlySet<number> = new Set()

export function closeGroups(groups: MutableCollection<IndexedGroup>): GroupClosure {
  const parents = new Map<number, Set<number>>()
  const direct = new Map<number, Set<number>>()
  // System groups are skipped: their membership follows from roles.
  const ofUsers = new Map<number, ReadonlySet<number>>()
  const ofGroups = new Map<number, ReadonlySet<number>>()
  let keptIds = 0

  groups.listen((before, after) => {
    forget()
    if (before !== undefined && !before.isSystem) {
      for (const id of before.members) remove(direct, id, before.id)
      for (const id of before.subgroups) remove(parents, id, before.id)
    }
    if (after !== undefined && !after.isSystem) {
      for (const id of after.members) add(direct, id, after.id)
      for (const id of after.subgroups) add(parents, id, after.id)
    }
  })

  function forget(): void {
    ofUsers.clear()
    ofGroups.clear()
    keptIds = 0
  }

  function above(ids: Iterable<number>): Set<number> {
    const found = new Set<number>()
    const open = [...ids]
    for (let id = open.pop(); id !== undefined; id = open.pop())
      for (const parent of parents.get(id) ?? NONE) {
        if (found.has(parent)) continue
        found.add(parent)
        open.push(parent)
      }
    return found
  }

  function keep(kept: Map<number, ReadonlySet<number>>, id: number, make: () => ReadonlySet<number>) {
    const known = kept.get(id)
    if (known !== undefined) return known
    const made = make()
    keptIds += made.size + 1
    if (keptIds > KEPT_IDS_MAX) forget()
    kept.set(id, made)
    return made
  }

  const directGroups = (userId: number) => direct.get(userId) ?? NONE

  return {
    directGroups,
    groupsOfUser: (userId) => keep(ofUsers, userId, () => directGroups(userId).union(above(directGroups(userId)))),
    groupsAbove: (groupId) => keep(ofGroups, groupId, () => above([groupId])),
  }
}

function add(sets: Map<number, Set<number>>, key: number, id: number): void {
  const set = sets.get(key)
  if (set === undefined) sets.set(key, new Set([id]))
  else set.add(id)
}

function remove(sets: Map<number, Set<number>>, key: number, id: number): void {
  const set = sets.get(key)
  set?.delete(id)
  if (set?.size === 0) sets.delete(key)
}
