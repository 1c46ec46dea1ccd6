/** Links for a new password. Contract rows E156 and E157. */

import { integer, text } from '../pipeline/parameters.ts'
import { urlOf } from '../realm/model/organization-url.ts'
import { organizationOf } from '../realm/model/state.ts'
import { expectPasswordLink, makePasswordLink, usePasswordLink } from '../realm/organization/users/password-links.ts'
import { findOwnUser } from '../realm/permissions/user-find.ts'
import { type AnyDeclaration, declare, declareOpen } from './declare.ts'

export const passwordLinkDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/users/:user_id/password_link',
    who: 'administrator',
    audit: {},
    segments: { user_id: integer() },
    handle: ({ realm, me, path, exchange }) => {
      const key = makePasswordLink(realm, me, findOwnUser(realm, me, path.user_id))
      return { link: `${urlOf(organizationOf(realm.state), exchange.header('host'))}/password/#${key}/` }
    },
  }),
  declareOpen({
    method: 'GET',
    path: '/password/:key',
    who: 'nobody',
    segments: { key: text() },
    handle: ({ realm, path }) => ({
      realm_name: organizationOf(realm.state).name,
      email: expectPasswordLink(realm, path.key).deliveryEmail,
    }),
  }),
  declareOpen({
    method: 'POST',
    path: '/password/:key',
    who: 'nobody',
    audit: { signsIn: { claim: null } },
    usesReserve: true,
    segments: { key: text() },
    parameters: { password: text() },
    handle: async ({ realm, passwords, path, input }) => ({
      email: (await usePasswordLink(realm, passwords, path.key, input.password)).email,
    }),
  }),
]
