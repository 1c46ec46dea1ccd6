/** Spectators: clients without credentials. Contract section 1.2. */

import { ChatError } from '../base/error.ts'
import { realmSetting } from '../realm/model/read-settings.ts'
import type { Realm } from '../realm/model/realm.ts'
import { organizationOf } from '../realm/model/state.ts'

/** Returns the caller, or null for a spectator. Throws `UNAUTHENTICATED_USER` if the organization admits no spectators. */
export function reader<Me>({ state }: Realm, me: Me | null): Me | null {
  if (me === null && !realmSetting(organizationOf(state), 'enable_spectator_access'))
    throw new ChatError('UNAUTHENTICATED_USER', 'Not logged in: API authentication or user session required')
  return me
}
