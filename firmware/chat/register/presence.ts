/** Register sections of presence and user status. Contract section 4.2. */

import { nowOf } from '../realm/model/realm.ts'
import { presencesFor } from '../realm/objects/presences.ts'
import { statusesFor } from '../realm/objects/statuses.ts'
import type { RegisterSection } from './section.ts'

export const presence: RegisterSection = ({ realm, me, shape, presenceHistoryLimitDays }) => {
  const form = shape.can.simplified_presence_events || shape.slimPresence ? 'modern' : 'legacy'
  const { presences, lastUpdateId } = presencesFor(realm, me, {
    form,
    historyDays: presenceHistoryLimitDays,
    after: -1,
  })
  return { presences, presence_last_update_id: lastUpdateId, server_timestamp: nowOf(realm) }
}

export const userStatus: RegisterSection = ({ realm, me }) => ({ user_status: statusesFor(realm, me) })
