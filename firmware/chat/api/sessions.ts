/** Browser sessions of the chat page. Contract sections 1.2.1 and 3.1, rows E150 and E151. */

import { defined } from '../../base/defined.ts'
import { badRequest, forbidden } from '../base/error.ts'
import { withHeaders } from '../pipeline/envelope.ts'
import { boolean, nameText } from '../pipeline/parameters.ts'
import { EXPIRY_HEADERS, sessionCookie } from '../pipeline/session-cookie.ts'
import { revokeKey, SESSION_DAYS } from '../realm/objects/keys.ts'
import { openSession } from '../realm/objects/sessions.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const DEVICE_CHARACTERS_MAX = 60 // fits one line of a list

export const sessionDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/session',
    who: 'human',
    usesReserve: true,
    audit: { signsIn: { claim: null } },
    parameters: {
      device: nameText()
        .map((name) => name.trim())
        .where(
          (name) => name !== '' && [...name].length <= DEVICE_CHARACTERS_MAX,
          `must have 1 to ${DEVICE_CHARACTERS_MAX} characters`,
        ),
      remember: boolean().default(true),
    },
    handle: ({ realm, me, credential, input, exchange }) => {
      // Pages of other origins must not sign a browser in, and only a cookie may hold the secret.
      if (exchange.header('sec-fetch-site') !== 'same-origin') throw forbidden('Only the page may open a session')
      if (defined(credential).isSession) throw forbidden('A session cannot open another one')
      const secret = realm.transaction((tx) => openSession(realm, tx, me, defined(credential).id, input))
      return withHeaders(
        { user_id: me.id, email: me.email },
        { 'set-cookie': sessionCookie(secret, input.remember ? SESSION_DAYS : null) },
      )
    },
  }),
  declare({
    method: 'DELETE',
    path: '/session',
    who: 'human',
    audit: {},
    handle: ({ realm, me, credential }) => {
      if (!defined(credential).isSession) throw badRequest('API keys are revoked at /users/me/api_keys')
      revokeKey(realm, me, defined(credential).id)
      return withHeaders({}, EXPIRY_HEADERS)
    },
  }),
]
