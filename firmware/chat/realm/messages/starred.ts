/** What somebody has starred, of what he may still read. */

import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import { sightOf } from './sight.ts'

const STARRED_MAX = 100_000

/** Ids, ascending. */
export function starredMessages(realm: Realm, user: User): number[] {
  const { flags, messages } = realm.store
  const sight = sightOf(realm, user)
  const ids: number[] = []
  for (const [birth, runs] of flags.allRuns(user.id, 'starred'))
    for (const [from, to] of runs)
      for (const row of messages.sentBetween(birth, from, to, STARRED_MAX)) if (sight.canRead(row)) ids.push(row.id)
  return ids.sort((a, b) => a - b)
}
