/** Limits how often a user may change the address: each old address becomes free for another account at once. Contract section 1.5. */

import { defined } from '../../../../base/defined.ts'
import { ChatError } from '../../../base/error.ts'
import { nowOf, type Realm } from '../../model/realm.ts'

const HOUR_S = 3600
const DAY_S = 86_400
const PER_HOUR = 2
const PER_DAY = 5

const changesOf = new WeakMap<Realm, Map<number, number[]>>()

/** Counts a change. Throws `RATE_LIMIT_HIT`. */
export function countAddressChange(realm: Realm, userId: number): void {
  const now = nowOf(realm)
  const changes = changesOf.get(realm) ?? new Map<number, number[]>()
  changesOf.set(realm, changes)
  const recent = (changes.get(userId) ?? []).filter((time) => time > now - DAY_S)
  const within = recent.filter((time) => time > now - HOUR_S)
  const ends = [
    ...(within.length >= PER_HOUR ? [defined(within.at(-PER_HOUR)) + HOUR_S] : []),
    ...(recent.length >= PER_DAY ? [defined(recent.at(-PER_DAY)) + DAY_S] : []),
  ]
  if (ends.length > 0)
    throw new ChatError('RATE_LIMIT_HIT', 'You have changed your email too often, try again later', {
      'retry-after': Math.max(...ends) - now,
    })
  changes.set(userId, [...recent, now])
}
