/** Marking messages by their ids. Contract section 3.2, E18 and E19. */

import { badRequest } from '../../error.ts'
import type { Flag } from '../../store/flags.ts'
import type { MessageRow } from '../../store/messages.ts'
import { isSubscribed } from '../channels/rights.ts'
import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import { changeFlag, EDITABLE_FLAGS, type FlagOp } from './flags.ts'
import { sightOf } from './sight.ts'

export interface Marked {
  /** Ids that really changed, ascending. */
  changed: readonly number[]
  /** Channels that he has left, where nothing is marked unread. Ascending. */
  ignoredChannels: readonly number[]
}

/** What he may not read is left out when he marks it read, and refused else. */
export function markMessages(realm: Realm, me: User, ids: readonly number[], op: FlagOp, flagName: string): Marked {
  const flag = editableFlag(flagName)
  return realm.change((turn) => {
    const sight = sightOf(realm, me)
    const rows: MessageRow[] = []
    for (const id of new Set(ids)) {
      const row = realm.store.messages.get(id)
      if (row !== undefined && sight.canRead(row)) rows.push(row)
      else if (flag !== 'read') throw badRequest('Invalid message(s)')
    }
    const ignored = new Set<number>()
    const marked = flag === 'read' && op === 'remove' ? rows.filter((row) => !isLeft(realm, me, row, ignored)) : rows
    const changed = changeFlag(realm, turn, me, flag, op, marked)
    return { changed, ignoredChannels: [...ignored].sort((a, b) => a - b) }
  })
}

/** Throws `BAD_REQUEST` for a flag that is not the reader's to change. */
export function editableFlag(name: string): Flag {
  const flag = EDITABLE_FLAGS.find((flag) => flag === name)
  if (flag === undefined) throw badRequest(`Flag not editable: '${name}'`)
  return flag
}

function isLeft(realm: Realm, me: User, { recipient }: MessageRow, ignored: Set<number>): boolean {
  const channel = realm.state.channelByRecipient.get(recipient)
  if (channel === undefined || isSubscribed(realm, me, channel)) return false
  ignored.add(channel.id)
  return true
}
