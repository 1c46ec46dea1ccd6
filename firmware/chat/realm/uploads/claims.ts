/** Which messages link which uploads. Contract section 6.4. */

import type { MessageRow } from '../../store/messages.ts'
import type { Realm } from '../realm.ts'
import type { Turn } from '../turn.ts'

export type Attachment = Readonly<Record<string, unknown>>

/** The message links these and no others from now on. Those that it linked before and nothing links any more. */
export const claimUploads = (
  _realm: Realm,
  _turn: Turn,
  _row: MessageRow,
  _pathIds: readonly string[],
): Attachment[] => []

/** The message is gone. */
export const releaseUploads = (_realm: Realm, _turn: Turn, _messageId: number): void => {}
