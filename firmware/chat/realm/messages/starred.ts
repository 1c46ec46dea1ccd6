/** What somebody has starred; it stays so where he can read it no longer, and is his again when he can. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'

const STARRED_MAX = 100_000

/** Ids, ascending. */
export function starredMessages(realm: Realm, user: User): number[] {
  const { flags, messages } = realm.store
  const ids: number[] = []
  for (const [birth, runs] of flags.allRuns(user.id, 'starred'))
    for (const [from, to] of runs)
      for (const row of messages.sentBetween(birth, from, to, STARRED_MAX)) ids.push(row.id)
  return ids.sort((a, b) => a - b)
}
