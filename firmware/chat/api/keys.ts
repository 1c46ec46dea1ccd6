/** Keys of accounts: got by password, replaced, listed, revoked. Contract section 3.1, rows E2, E4, E5, E141 and E142. */

import { prefixOf } from '../../base/attempts.ts'
import { ChatError, forbidden } from '../error.ts'
import { integer, text } from '../http/parameters.ts'
import { keysOnList, makeKey, revokeKey, revokeKeys } from '../realm/keys.ts'
import { findByName } from '../realm/users/find.ts'
import { isDeactivated } from '../realm/users.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'

export const keyDeclarations: readonly AnyDeclaration[] = [
  declareOpen({
    row: 'E2',
    method: 'POST',
    path: '/fetch_api_key',
    who: 'nobody',
    parameters: { username: text(), password: text() },
    audit: { signsIn: { claim: 'username' } },
    handle: async ({ realm, passwords, given, client, exchange, expectBudget }) => {
      const name = given.username.trim()
      const find = () => findByName(realm, name)
      const before = find()
      const expected = before?.bot === null ? realm.state.password.get(before.id) : undefined
      const place = { rank: 'unknown', prefix: prefixOf(exchange.address) } as const
      const isRight = await passwords.matches(name, given.password, expected, place)
      // What was true before the derivation may be true no longer.
      const user = find()
      if (!isRight || user === undefined || realm.state.password.get(user.id) !== expected)
        throw new ChatError('AUTHENTICATION_FAILED', 'Your username or password is incorrect')
      if (isDeactivated(realm)) throw new ChatError('REALM_DEACTIVATED', 'This organization has been deactivated')
      if (!user.isActive) throw new ChatError('USER_DEACTIVATED', 'Account is deactivated')
      expectBudget(user.id)
      const key = realm.change((turn) => makeKey(realm, turn, user, client))
      return { api_key: key, email: user.email, user_id: user.id }
    },
  }),
  declareOpen({
    row: 'E4',
    method: 'POST',
    path: '/dev_fetch_api_key',
    who: 'nobody',
    parameters: { username: text() },
    handle: () => {
      throw noDevelopment()
    },
  }),
  declareOpen({
    row: 'E4',
    method: 'GET',
    path: '/dev_list_users',
    who: 'nobody',
    handle: () => {
      throw noDevelopment()
    },
  }),
  declare({
    row: 'E5',
    method: 'POST',
    path: '/users/me/api_key/regenerate',
    who: 'account',
    audit: {},
    handle: ({ realm, me, client }) =>
      realm.change((turn) => {
        revokeKeys(realm, turn, me)
        return { api_key: makeKey(realm, turn, me, client) }
      }),
  }),
  declare({
    row: 'E141',
    method: 'GET',
    path: '/users/me/api_keys',
    who: 'human',
    handle: ({ realm, me }) => ({ api_keys: keysOnList(realm, me) }),
  }),
  declare({
    row: 'E142',
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

/** Nobody gets a key without a password here. */
const noDevelopment = () => forbidden('Endpoint not available in production.')
