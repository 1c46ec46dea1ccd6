/** Accounts of earlier versions may have an address that is now reserved. Contract section 2.2. */

import type { Realm } from '../../model/realm.ts'
import { REALM_ID } from '../../model/records.ts'
import { apiAddress, isReserved } from '../../permissions/user-addresses.ts'
import { putAddresses } from './change.ts'

/** The accounts still sign in with the address. As an API address it returns to the account whose placeholder it is. */
export function releaseReservedAddresses(realm: Realm): void {
  const { organization: organizations, user: users } = realm.state
  const organization = organizations.get(REALM_ID)
  if (organization === undefined) return
  const wrong = [...users.all()].filter(
    (user) => isReserved(organization, user.email) && user.email !== apiAddress(organization, user),
  )
  if (wrong.length === 0) return
  realm.transaction((tx) => {
    for (const user of wrong) {
      putAddresses(realm, tx, user, user)
      const rightful = users.get(Number(/\d+/.exec(user.email)))
      if (rightful !== undefined) putAddresses(realm, tx, rightful, rightful) // indexes it under that address again
    }
  })
}
