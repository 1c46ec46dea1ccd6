/** Read receipts. Contract section 3.2, E15. */

import { badRequest } from '../../base/error.ts'
import { realmSetting, userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { hasOrdinal } from '../model/runs.ts'
import { organizationOf } from '../model/state.ts'
import { accessOf } from '../permissions/user-access.ts'
import { visibilityOf } from '../permissions/visibility.ts'
import { accessMessage, readersOf } from './access.ts'

export function readReceipts(realm: Realm, me: User, messageId: number): number[] {
  if (!realmSetting(organizationOf(realm.state), 'enable_read_receipts'))
    throw badRequest('Read receipts are disabled in this organization.')
  const row = accessMessage(realm, me, messageId)
  const sees = accessOf(realm, me)
  const mutes = (user: User, other: User): boolean =>
    realm.state.mutedUsers.get(user.id)?.value.some(({ id }) => id === other.id) ?? false
  return readersOf(realm, row)
    .filter((user) => user.id !== row.sender && userSetting(user, 'send_read_receipts') && sees(user))
    .filter((user) => !mutes(me, user) && !mutes(user, me))
    .filter((user) => visibilityOf(realm, user).received(row))
    .filter((user) => hasOrdinal(realm.store.flags.runs(user.id, row.birth, 'read'), row.ordinal))
    .map(({ id }) => id)
    .sort((a, b) => a - b)
}
