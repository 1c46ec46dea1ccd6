/** Users that a user has muted. Contract row E83, V16. */

import { badRequest } from '../../../base/error.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'

const mutedBy = (realm: Realm, user: User) => realm.state.mutedUsers.get(user.id)?.value ?? []

/** Throws `BAD_REQUEST` if the user is `me` or already muted. */
export function mute(realm: Realm, tx: Transaction, me: User, user: User): void {
  if (user.id === me.id) throw badRequest('Cannot mute self')
  const muted = mutedBy(realm, me)
  if (muted.some(({ id }) => id === user.id)) throw badRequest('User already muted')
  put(tx, me, [...muted, { id: user.id, timestamp: nowOf(realm) }])
}

/** Throws `BAD_REQUEST` if the user is not muted. */
export function unmute(realm: Realm, tx: Transaction, me: User, user: User): void {
  const muted = mutedBy(realm, me)
  const left = muted.filter(({ id }) => id !== user.id)
  if (left.length === muted.length) throw badRequest('User is not muted')
  put(tx, me, left)
}

function put(tx: Transaction, me: User, muted: ReturnType<typeof mutedBy>): void {
  tx.put('mutedUsers', { userId: me.id, value: muted })
  tx.publish({ type: 'muted_users', to: [me.id], make: () => ({ muted_users: muted }) })
}
