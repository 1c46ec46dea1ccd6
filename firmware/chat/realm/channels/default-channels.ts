/** Channels that new members are subscribed to. Contract V8, realm_default_streams. */

import type { Realm } from '../realm.ts'
import type { User } from '../records.ts'
import { ROLES } from '../roles.ts'
import type { Turn } from '../turn.ts'

/** Ascending. */
export const defaultChannelIds = (realm: Realm): number[] =>
  [...realm.state.channel.all()]
    .filter(({ isDefault, isArchived }) => isDefault && !isArchived)
    .map(({ id }) => id)
    .sort((a, b) => a - b)

/** Guests have no such list. */
export function publishDefaultChannels(realm: Realm, turn: Turn, users: Iterable<User> = realm.state.user.all()): void {
  const to = [...users].filter(({ role, isActive }) => isActive && role !== ROLES.guest)
  const default_streams = defaultChannelIds(realm)
  turn.publish({ type: 'default_streams', to: to.map(({ id }) => id), make: () => ({ default_streams }) })
}
