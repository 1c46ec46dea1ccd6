/**
 * Sessions of the chat page. They are stored as key records, but the secret is in a cookie: a session secret is not valid for Basic
 * authentication, nor an API key as a cookie. Contract section 1.2.1, rows E150 and E151.
 */

import { ChatError } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { ApiKey, PageSession, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { expectKey, findKey, isOver, keysOf, makeKey, revoke } from './keys.ts'

/** Replaces the key `keyId` by a session. Returns the secret for the cookie. */
export function openSession(realm: Realm, tx: Transaction, user: User, keyId: number, session: PageSession): string {
  revoke(realm, tx, expectKey(realm, user, keyId))
  for (const old of keysOf(realm, user)) if (isOver(realm, old)) revoke(realm, tx, old)
  return makeKey(realm, tx, user, 'website', { session })
}

/** Throws `INVALID_API_KEY` for an unknown, expired or revoked session. */
export function findBySession(realm: Realm, secret: string): { user: User; apiKey: ApiKey; session: PageSession } {
  const apiKey = findKey(realm, Buffer.from(secret))
  const user = apiKey && realm.state.user.get(apiKey.userId)
  if (apiKey?.session === undefined || user === undefined || isOver(realm, apiKey))
    throw new ChatError('INVALID_API_KEY', 'This session has ended')
  return { user, apiKey, session: apiKey.session }
}
