/** What becomes of marks when messages are moved away from somebody. */

import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import { removeRun } from '../runs.ts'
import type { Turn } from '../turn.ts'
import { changeFlag, setRead } from './flags.ts'

/** Of messages that were moved to where he is not subscribed; he may still read them. */
export function markMovedRead(realm: Realm, turn: Turn, user: User, rows: readonly MessageRow[]): void {
  changeFlag(realm, turn, user, 'read', 'add', rows)
}

/** Of messages that he cannot read any more: his clients are told that they are gone. */
export function forgetMarks(realm: Realm, userId: number, rows: readonly MessageRow[]): void {
  const { flags } = realm.store
  for (const row of rows) {
    setRead(realm, userId, row)
    flags.setRuns(
      userId,
      row.birth,
      'starred',
      removeRun(flags.runs(userId, row.birth, 'starred'), row.ordinal, row.ordinal),
    )
  }
}
