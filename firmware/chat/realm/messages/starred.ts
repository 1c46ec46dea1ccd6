/** Starred messages. A message stays starred while the user cannot read it. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'

const STARRED_MAX = 100_000

/** Ids, ascending. They include messages that the user cannot read at present. */
export function starredMessages(realm: Realm, user: User): number[] {
  const { flags, messages } = realm.store
  const ids: number[] = []
  for (const [birth, runs] of flags.allRuns(user.id, 'starred'))
    for (const [from, to] of runs)
      for (const row of messages.sentBetween(birth, from, to, STARRED_MAX)) ids.push(row.id)
  return ids.sort((a, b) => a - b)
}
