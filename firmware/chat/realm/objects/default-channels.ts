/** Default channels of new members. Contract row E61, V8, realm_default_streams. */

import { badRequest } from '../../base/error.ts'
import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { ROLES } from '../model/roles.ts'
import type { Transaction } from '../model/transaction.ts'
import { findChannel } from '../permissions/channel-find.ts'

export const defaultChannelIds = (realm: Realm): number[] =>
  [...realm.state.channel.all()]
    .filter(({ isDefault, isArchived }) => isDefault && !isArchived)
    .map(({ id }) => id)
    .sort((a, b) => a - b)

/** No event if nothing changes. Throws `BAD_REQUEST` for private and archived channels. */
export function setDefault(realm: Realm, me: User, channelId: number, isDefault: boolean): void {
  realm.transaction((tx) => {
    const channel = findChannel(realm, me, channelId)
    if (channel.isDefault === isDefault) return
    if (isDefault && channel.isPrivate) throw badRequest('Private channels cannot be made default.')
    if (isDefault && channel.isArchived) throw badRequest('Archived channels cannot be made default.')
    tx.put('channel', { ...channel, isDefault })
    publishDefaultChannels(realm, tx)
  })
}

export function publishDefaultChannels(
  realm: Realm,
  tx: Transaction,
  users: Iterable<User> = realm.state.user.all(),
): void {
  const to = [...users].filter(({ role, isActive }) => isActive && role !== ROLES.guest)
  const default_streams = defaultChannelIds(realm)
  tx.publish({ type: 'default_streams', to: to.map(({ id }) => id), make: () => ({ default_streams }) })
}
