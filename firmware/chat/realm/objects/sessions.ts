/**
 * Sessions of the page: records of keys whose secret is in a cookie and that is no key for Basic, nor the other way round.
 * Contract section 1.2.1, rows E150 and E151.
 */

import { ChatError } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { ApiKey, PageSession, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { expectKey, findKey, isOver, keysOf, makeKey, revoke } from './keys.ts'

/** Within a change: a session in the place of the key with that id. Returns the secret for the cookie. */
export function openSession(realm: Realm, tx: Transaction, user: User, keyId: number, session: PageSession): string {
  revoke(realm, tx, expectKey(realm, user, keyId))
  for (const old of keysOf(realm, user)) if (isOver(realm, old)) revoke(realm, tx, old)
  return makeKey(realm, tx, user, 'website', { session })
}

/** Throws `INVALID_API_KEY` for an unknown, ended or revoked session. */
export function findBySession(realm: Realm, secret: string): { user: User; apiKey: ApiKey; session: PageSession } {
  const apiKey = findKey(realm, Buffer.from(secret))
  const user = apiKey && realm.state.user.get(apiKey.userId)
  if (apiKey?.session === undefined || user === undefined || isOver(realm, apiKey))
    throw new ChatError('INVALID_API_KEY', 'This session has ended')
  return { user, apiKey, session: apiKey.session }
}
