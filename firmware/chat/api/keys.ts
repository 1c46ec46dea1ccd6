/** API keys: obtaining by password or token, replacing, listing, revoking. Contract section 3.1, rows E2 to E5, E141 and E142. */

import { defined } from '../../base/defined.ts'
import { badRequest, ChatError, forbidden } from '../base/error.ts'
import { boolean, integer, text } from '../pipeline/parameters.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { keysOnList, makeKey, regenerateKey, revokeKey } from '../realm/objects/keys.ts'
import { userFor } from '../realm/objects/user-view.ts'
import { isDeactivated } from '../realm/objects/users.ts'
import { claimsOf } from '../realm/organization/operator/operator.ts'
import { confirmAddress } from '../realm/organization/users/confirmation.ts'
import { noteSignIn } from '../realm/organization/users/first-sign-in.ts'
import { findByName } from '../realm/permissions/user-find.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'

export const keyDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
    method: 'POST',
    path: '/fetch_api_key',
    usesReserve: true,
    who: 'nobody',
    parameters: { username: text(), password: text() },
    audit: { signsIn: { claim: 'username' } },
    handle: async ({ realm, passwords, input, client, exchange, expectBudget }) => {
      const name = input.username.trim()
      const find = () => findByName(realm, name)
      const before = find()
      const expected = before?.bot === null ? realm.state.password.get(before.id) : undefined
      const { address } = exchange
      const isRight = await passwords.matches({ address, who: name, password: input.password, expected })
      // The account may have changed during the key derivation.
      const user = find()
      if (!isRight || user === undefined || realm.state.password.get(user.id) !== expected)
        throw new ChatError('AUTHENTICATION_FAILED', 'Your username or password is incorrect')
      expectMaySignIn(realm, user)
      expectBudget(user.id)
      const key = realm.transaction((tx) => makeKey(realm, tx, noteSignIn(realm, tx, user), client))
      return { api_key: key, email: user.email, user_id: user.id }
    },
  }),
  declareOpen({
    method: 'POST',
    path: '/jwt/fetch_api_key',
    usesReserve: true,
    who: 'nobody',
    parameters: { token: text(), include_profile: boolean().default(false) },
    audit: { signsIn: { claim: null } },
    handle: ({ realm, input, client, expectBudget }) => {
      const claims = claimsOf(realm, input.token)
      if (claims === null || typeof claims.email !== 'string') throw badRequest('Bad JSON web token')
      const user = realm.state.userByDeliveryEmail.get(claims.email.toLowerCase())
      if (user === undefined || user.bot !== null)
        throw new ChatError('AUTHENTICATION_FAILED', 'There is no such account')
      expectMaySignIn(realm, user)
      expectBudget(user.id)
      const key = realm.transaction((tx) =>
        makeKey(realm, tx, noteSignIn(realm, tx, confirmAddress(realm, tx, user)), client),
      )
      const view = { clientGravatar: false, includeProfileData: true }
      return {
        api_key: key,
        email: user.email,
        ...(input.include_profile && { user: userFor(realm, user, user, view) }),
      }
    },
  }),
  declareOpen({
    method: 'POST',
    path: '/dev_fetch_api_key',
    who: 'nobody',
    parameters: { username: text() },
    handle: () => {
      throw noDevelopment()
    },
  }),
  declareOpen({
    method: 'GET',
    path: '/dev_list_users',
    who: 'nobody',
    handle: () => {
      throw noDevelopment()
    },
  }),
  declare({
    method: 'POST',
    path: '/users/me/api_key/regenerate',
    usesReserve: true,
    who: 'account',
    audit: {},
    handle: ({ realm, me, credential, client }) => {
      if (credential?.isSession) throw forbidden('A session of the page cannot get an API key')
      return realm.transaction((tx) => ({ api_key: regenerateKey(realm, tx, me, client) }))
    },
  }),
  declare({
    method: 'GET',
    path: '/users/me/api_keys',
    who: 'human',
    handle: ({ realm, me, credential }) => ({ api_keys: keysOnList(realm, me, defined(credential).id) }),
  }),
  declare({
    method: 'DELETE',
    path: '/users/me/api_keys/:key_id',
    who: 'human',
    audit: {},
    segments: { key_id: integer() },
    handle: ({ realm, me, path }) => {
      revokeKey(realm, me, path.key_id)
      return {}
    },
  }),
]

/** Zulip's development servers give keys without a password; this server never does. */
const noDevelopment = () => forbidden('Endpoint not available in production.')

function expectMaySignIn(realm: Realm, user: User): void {
  if (isDeactivated(realm)) throw new ChatError('REALM_DEACTIVATED', 'This organization has been deactivated')
  if (!user.isActive) throw new ChatError('USER_DEACTIVATED', 'Account is deactivated')
}
