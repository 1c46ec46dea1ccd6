/** The account that a request names. Unknown and not accessible are one answer. Contract section 3.4. */

import { badRequest, type ChatError } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { mayAccess, seesAddress, spectatorAccess } from './user-access.ts'
import { findByAddress } from './user-addresses.ts'

const noSuchUser = (): ChatError => badRequest('No such user')

/** By id, or by the address for the API or the real one, where `viewer` sees that. Throws `BAD_REQUEST`. */
export function findUser(realm: Realm, viewer: User, who: number | string): User {
  const user =
    typeof who === 'number' ? realm.state.user.get(who) : findByAddress(realm, who, (real) => seesAddress(viewer, real))
  if (user === undefined || !mayAccess(realm, viewer, user)) throw noSuchUser()
  return user
}

/** By id alone, for whoever has not signed in. Throws `BAD_REQUEST`. */
export function findForSpectator(realm: Realm, who: number | string): User {
  const user = typeof who === 'number' ? realm.state.user.get(who) : undefined
  if (user === undefined || !spectatorAccess(realm)(user)) throw noSuchUser()
  return user
}

/** As `findUser`, but for the bots that the service itself is: nobody changes those. */
export function findOwnUser(realm: Realm, viewer: User, who: number | string): User {
  const user = findUser(realm, viewer, who)
  if (user.isSystemBot) throw noSuchUser()
  return user
}

/** Who signs in under this name, whoever may know of the account: its real address, or the one for the API. */
export const findByName = ({ state }: Realm, name: string): User | undefined =>
  state.userByDeliveryEmail.get(name.trim().toLowerCase()) ?? state.userByEmail.get(name.trim().toLowerCase())
