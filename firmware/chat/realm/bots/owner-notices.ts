/** Notifies bot owners of failures, at a limited rate so that a retrying service does not flood them. Contract section 3.5.2. */

import { noticePerson } from '../messages/notices.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'

const INTERVAL_S = 3600

/** `problem` names the kind of failure: each kind is reported once an hour per bot. */
export type OwnerNotices = (bot: User, problem: string, text: string) => void

export function createOwnerNotices(realm: Realm): OwnerNotices {
  /** Unix time in seconds of the last notice, in insertion order. */
  const told = new Map<string, number>()
  return (bot, problem, text) => {
    const now = nowOf(realm)
    for (const [key, time] of told) {
      if (time > now - INTERVAL_S && time <= now) break
      told.delete(key)
    }
    const owner = realm.state.user.get(bot.bot?.ownerId ?? 0)
    const key = `${bot.id} ${problem}`
    if (!owner?.isActive || told.has(key)) return
    realm.transaction((tx) => noticePerson(realm, tx, owner, text))
    told.set(key, now)
  }
}
