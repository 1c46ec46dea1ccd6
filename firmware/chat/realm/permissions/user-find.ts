/** Finds the account that a request names. Unknown and inaccessible accounts give the same error. Contract section 3.4. */

import { badRequest, type ChatError } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { mayAccess, seesAddress, spectatorAccess } from './user-access.ts'
import { findByAddress } from './user-addresses.ts'

const noSuchUser = (): ChatError => badRequest('No such user')

/** By id, API address, or a real address that `viewer` may see. Throws `BAD_REQUEST`. */
export function findUser(realm: Realm, viewer: User, who: number | string): User {
  const user =
    typeof who === 'number' ? realm.state.user.get(who) : findByAddress(realm, who, (real) => seesAddress(viewer, real))
  if (user === undefined || !mayAccess(realm, viewer, user)) throw noSuchUser()
  return user
}

/** By id only: spectators see no addresses. Throws `BAD_REQUEST`. */
export function findForSpectator(realm: Realm, who: number | string): User {
  const user = typeof who === 'number' ? realm.state.user.get(who) : undefined
  if (user === undefined || !spectatorAccess(realm)(user)) throw noSuchUser()
  return user
}

/** As `findUser`, but rejects system bots, which requests cannot change. */
export function findOwnUser(realm: Realm, viewer: User, who: number | string): User {
  const user = findUser(realm, viewer, who)
  if (user.isSystemBot) throw noSuchUser()
  return user
}

/** Finds the account for a sign-in, by real or API address and without a visibility check. */
export const findByName = ({ state }: Realm, name: string): User | undefined =>
  state.userByDeliveryEmail.get(name.trim().toLowerCase()) ?? state.userByEmail.get(name.trim().toLowerCase())
