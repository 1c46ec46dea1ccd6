/** Accounts of earlier versions may have an address that is reserved now. Contract section 2.2. */

import type { Realm } from '../../model/realm.ts'
import { REALM_ID } from '../../model/records.ts'
import { apiAddress, isReserved } from '../../permissions/user-addresses.ts'
import { putAddresses } from './change.ts'

/** They keep it for signing in; for the API it is that of the account whose placeholder it is. */
export function releaseReservedAddresses(realm: Realm): void {
  const { organization: organizations, user: users } = realm.state
  const organization = organizations.get(REALM_ID)
  if (organization === undefined) return
  const wrong = [...users.all()].filter(
    (user) => isReserved(organization, user.email) && user.email !== apiAddress(organization, user),
  )
  if (wrong.length === 0) return
  realm.transaction((turn) => {
    for (const user of wrong) {
      putAddresses(realm, turn, user, user)
      const rightful = users.get(Number(/\d+/.exec(user.email)))
      if (rightful !== undefined) putAddresses(realm, turn, rightful, rightful) // it is found by that address again
    }
  })
}
