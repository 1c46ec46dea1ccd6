/** Finds the user group that a request names. Contract section 3.6. */

import { badRequest } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { Group } from '../model/records.ts'

/** Throws `BAD_REQUEST` for an unknown group. */
export function findGroup(realm: Realm, id: number): Group {
  const group = realm.state.group.get(id)
  if (group === undefined) throw badRequest('Invalid user group')
  return group
}

/** As `findGroup`, but also rejects system groups: their members follow from roles. */
export function findOwnGroup(realm: Realm, id: number): Group {
  const group = findGroup(realm, id)
  if (group.isSystem) throw badRequest('System groups cannot be changed.')
  return group
}

export function expectActive({ isDeactivated }: Group): void {
  if (isDeactivated) throw badRequest('User group is deactivated.')
}
