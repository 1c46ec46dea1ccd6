/** An account created by an administrator joins at its first sign-in. Contract section 4.4, V34; level 475. */

import { nowOf, type Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { publishMemberships } from '../../objects/group-view.ts'
import { publishPerson } from '../../objects/user-events.ts'
import { isoTime } from '../../objects/user-view.ts'

/** Returns the updated account. Its waiting period also begins at the first sign-in. */
export function noteSignIn(realm: Realm, tx: Transaction, user: User): User {
  const { hasNeverSignedIn, ...account } = user
  if (!hasNeverSignedIn) return user
  const after = { ...account, dateJoined: nowOf(realm) }
  tx.put('user', after)
  publishPerson(realm, tx, after, { date_joined: isoTime(after.dateJoined) }, 'first_sign_in')
  publishMemberships(realm, tx, user, after)
  return after
}
