/** Changing flags of messages by id. Contract section 3.2, E18 and E19. */

import { badRequest } from '../../base/error.ts'
import type { Flag } from '../../store/flags.ts'
import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { isSubscribed } from '../permissions/channel-rights.ts'
import { visibilityOf } from '../permissions/visibility.ts'
import { changeFlag, EDITABLE_FLAGS, FLAG_OPS, type FlagOp } from './flags.ts'

interface FlagUpdate {
  op: FlagOp
  flag: Flag
}

interface Marked {
  changed: readonly number[]
  /** Channels without a subscription of the user, where nothing is marked unread. Ascending. */
  ignoredChannels: readonly number[]
}

/** Skips messages that the user may not read if the flag is `read`; throws `BAD_REQUEST` for other flags. */
export function markMessages(realm: Realm, me: User, ids: readonly number[], { op, flag }: FlagUpdate): Marked {
  return realm.transaction((turn) => {
    const visibility = visibilityOf(realm, me)
    const rows: MessageRow[] = []
    for (const id of new Set(ids)) {
      const row = realm.store.messages.get(id)
      if (row !== undefined && visibility.canRead(row)) rows.push(row)
      else if (flag !== 'read') throw badRequest('Invalid message(s)')
    }
    const ignored = new Set<number>()
    const marked = flag === 'read' && op === 'remove' ? rows.filter((row) => !isLeft(realm, me, row, ignored)) : rows
    const changed = changeFlag(realm, turn, me, flag, op, marked)
    return { changed, ignoredChannels: [...ignored].sort((a, b) => a - b) }
  })
}

/** Throws `BAD_REQUEST` for a flag that users cannot change, and for an unknown operation. */
export function toFlagUpdate(input: { op: string; flag: string }): FlagUpdate {
  const flag = EDITABLE_FLAGS.find((flag) => flag === input.flag)
  if (flag === undefined) throw badRequest(`Flag not editable: '${input.flag}'`)
  const op = FLAG_OPS.find((op) => op === input.op)
  if (op === undefined) throw badRequest(`Invalid message flag operation: '${input.op}'`)
  return { op, flag }
}

function isLeft(realm: Realm, me: User, { recipient }: MessageRow, ignored: Set<number>): boolean {
  const channel = realm.state.channelByRecipient.get(recipient)
  if (channel === undefined || isSubscribed(realm, me, channel)) return false
  ignored.add(channel.id)
  return true
}
