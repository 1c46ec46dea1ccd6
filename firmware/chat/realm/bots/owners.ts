/** Bots of earlier versions could have more rights than their owners. Contract section 3.5.1. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import { atLeast } from '../model/roles.ts'
import { deactivate } from '../organization/users/activity.ts'
import { limitRole } from '../organization/users/change.ts'

/** Deactivates bots without an active owner, and lowers the role of bots above their owner. Returns the number of changed bots. */
export function limitBotsToOwners(realm: Realm): number {
  const { user: users } = realm.state
  const pairs = [...users.all()].flatMap((bot): [User, User][] => {
    const owner = bot.bot?.ownerId == null ? undefined : users.get(bot.bot.ownerId)
    return owner !== undefined && exceeds(bot, owner) ? [[bot, owner]] : []
  })
  if (pairs.length > 0)
    realm.transaction((turn) => {
      for (const [bot, owner] of pairs) {
        const limited = limitRole(realm, turn, bot, owner)
        if (!owner.isActive) deactivate(realm, turn, limited)
      }
    })
  return pairs.length
}

const exceeds = (bot: User, owner: User): boolean => (bot.isActive && !owner.isActive) || !atLeast(owner.role, bot.role)
