/** What becomes of marks when messages go out of somebody's sight, or where he is not subscribed. */

import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import { removeRun } from '../runs.ts'
import type { Turn } from '../turn.ts'
import { changeFlag, setRead } from './flags.ts'
import { sightOf } from './sight.ts'
import { unreadRows } from './unread.ts'

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

/** Of what he may not read any more: unread it would come back with the channel, and no event would have told of it. */
export function markUnreadableRead(realm: Realm, turn: Turn, user: User): void {
  const sight = sightOf(realm, user)
  const rows = unreadRows(realm, user).filter((row) => !sight.canRead(row))
  changeFlag(realm, turn, user, 'read', 'add', rows)
}
