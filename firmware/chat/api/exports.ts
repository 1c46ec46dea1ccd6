/** Exports of the organization. Contract section 3.7, rows E121 to E123. */

import { integer, oneOf } from '../pipeline/parameters.ts'
import { consents } from '../realm/export/content.ts'
import { urlOf } from '../realm/model/organization-url.ts'
import { userSetting } from '../realm/model/read-settings.ts'
import { EXPORT_TYPES } from '../realm/model/records.ts'
import { organizationOf } from '../realm/model/state.ts'
import { type AnyDeclaration, declare } from './declare.ts'

export const exportDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/export/realm',
    who: 'administrator',
    audit: {},
    parameters: { export_type: oneOf(...EXPORT_TYPES).default('public') },
    handle: ({ exports, me, input }) => ({ id: exports.request(me, input.export_type) }),
  }),
  declare({
    method: 'GET',
    path: '/export/realm',
    who: 'administrator',
    handle: ({ realm, me, exports, exchange }) => ({
      exports: exports.list(me, urlOf(organizationOf(realm.state), exchange.header('host'))),
    }),
  }),
  declare({
    method: 'GET',
    path: '/export/realm/consents',
    who: 'administrator',
    handle: ({ realm }) => ({
      export_consents: [...realm.state.user.all()]
        .filter(({ bot, isActive }) => bot === null && isActive)
        .map((user) => ({
          user_id: user.id,
          consented: consents(user),
          email_address_visibility: userSetting(user, 'email_address_visibility'),
        })),
    }),
  }),
  declare({
    method: 'DELETE',
    path: '/export/realm/:export_id',
    who: 'administrator',
    audit: {},
    segments: { export_id: integer() },
    handle: async ({ exports, path }) => {
      await exports.remove(path.export_id)
      return {}
    },
  }),
]
