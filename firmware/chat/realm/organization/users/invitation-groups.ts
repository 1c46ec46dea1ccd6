/** User groups that an account enters when it accepts an invitation. Contract section 3.8, level 322. */

import { forbidden } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { Group, User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { publishGroup, watchGroup } from '../../objects/group-events.ts'
import { expectActive, findOwnGroup } from '../../permissions/group-find.ts'
import { mayInGroup, mayManageGroup } from '../../permissions/group-rights.ts'

/** Throws `BAD_REQUEST` for an unknown, system or deactivated group, or an error if the caller may not add members. */
export function expectMayAddTo(realm: Realm, me: User, id: number): void {
  const group = findOwnGroup(realm, id)
  expectActive(group)
  if (!mayAddTo(realm, me, group)) throw forbidden('Insufficient permission')
}

const mayAddTo = (realm: Realm, me: User, group: Group): boolean =>
  mayManageGroup(realm, group, me) || mayInGroup(realm, group, 'can_add_members_group', me)

/** Skips deleted and deactivated groups, and groups to which the inviter may no longer add members. */
export function enterGroups(realm: Realm, tx: Transaction, user: User, inviter: User, ids: readonly number[]): void {
  for (const id of ids) {
    const group = realm.state.group.get(id)
    if (group === undefined || group.isDeactivated || !mayAddTo(realm, inviter, group)) continue
    const publishSight = watchGroup(realm, id, () => [user.id])
    tx.put('group', { ...group, members: [...group.members, user.id] })
    publishGroup(realm, tx, group, { op: 'add_members', group_id: id, user_ids: [user.id] })
    publishSight(tx)
  }
}
