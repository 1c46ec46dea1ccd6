/** Links with which people who have forgotten their password set a new one. Contract rows E156 and E157. */

import { badRequest, forbidden, notFound } from '../../../base/error.ts'
import { noticePerson } from '../../messages/notices.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { User } from '../../model/records.ts'
import { atLeast, ROLES } from '../../model/roles.ts'
import { hashOf, randomKey, revokeKeys } from '../../objects/keys.ts'
import { setPassword } from '../../objects/users.ts'
import { silently } from '../channels/notices.ts'
import type { Passwords } from './passwords.ts'

const LIFETIME_S = 86_400 // long enough to reach somebody, short enough for a note on a desk

/** Only owners may let somebody into the account of an owner. */
const mayMake = (maker: User, user: User): boolean =>
  maker.isActive && atLeast(maker.role, user.role === ROLES.owner ? ROLES.owner : ROLES.administrator)

/** Replaces an earlier link for the same account, and notifies the account and all owners. Returns the key. */
export function makePasswordLink(realm: Realm, me: User, user: User): string {
  return realm.transaction((tx) => {
    if (user.bot !== null) throw badRequest('Bots have no password')
    if (!user.isActive) throw badRequest('The account is deactivated')
    if (!mayMake(me, user)) throw forbidden('Must be an organization owner')
    const key = randomKey(realm.random)
    tx.put('passwordLink', {
      ...{ userId: user.id, hash: hashOf(key), makerId: me.id, expires: nowOf(realm) + LIFETIME_S },
    })
    const text = `${silently(me)} has made a link with which ${silently(user)} can set a new password within 24 hours.`
    const isTold = ({ id, role, isActive, bot }: User) =>
      isActive && bot === null && (id === user.id || role === ROLES.owner)
    for (const person of [...realm.state.user.all()].filter(isTold)) noticePerson(realm, tx, person, text)
    return key
  })
}

/** Throws the same 404 for an unknown, used and expired link, and for one whose maker has lost the right. */
export function expectPasswordLink(realm: Realm, key: string): User {
  const { state } = realm
  const link = state.passwordLinkByHash.get(hashOf(key))
  const user = link && state.user.get(link.userId)
  const maker = link && state.user.get(link.makerId)
  if (
    link === undefined ||
    user === undefined ||
    maker === undefined ||
    !user.isActive ||
    !mayMake(maker, user) ||
    link.expires <= nowOf(realm)
  )
    throw notFound('Link does not exist')
  return user
}

/** Sets the password and signs the account out everywhere, since somebody else may have been in it. */
export async function usePasswordLink(
  realm: Realm,
  passwords: Passwords,
  key: string,
  password: string,
): Promise<User> {
  const digest = await passwords.digest(expectPasswordLink(realm, key).id, password)
  return realm.transaction((tx) => {
    const user = expectPasswordLink(realm, key) // it may have been used meanwhile
    if (user.id !== digest.userId) throw notFound('Link does not exist')
    setPassword(tx, digest)
    revokeKeys(realm, tx, user)
    tx.onCommit(() => {
      realm.events.dropQueuesOf(user.id)
      passwords.forgive([user.email, user.deliveryEmail])
    })
    return user
  })
}
