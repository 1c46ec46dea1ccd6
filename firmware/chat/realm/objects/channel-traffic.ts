/** Traffic of channels. Contract section 2.3: is_recently_active, stream_weekly_traffic. */

import { firstIdAt } from '../../store/times.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel } from '../model/records.ts'

const DAY_S = 86_400
const RECENTLY_DAYS = 180
const TRAFFIC_DAYS = 28 // four weeks; younger channels have no count
const WEEKS = TRAFFIC_DAYS / 7

export function isRecentlyActive({ store }: Realm, { recipientId, dateCreated }: Channel, now: number): boolean {
  const since = now - RECENTLY_DAYS * DAY_S
  if (dateCreated > since) return true
  const [newest] = store.select<{ time: number }>(
    'SELECT time FROM messages WHERE recipient = ? ORDER BY id DESC LIMIT 1',
    [recipientId],
  )
  return newest !== undefined && newest.time > since
}

/** Counted once a day, by recipient: each register answer lists every channel. */
const counted = new WeakMap<Realm, { day: number; weekly: Map<number, number> }>()

/** Average messages per week over the last four weeks, rounded to two digits. Null for younger channels. */
export function weeklyTraffic(realm: Realm, { recipientId, dateCreated }: Channel, now: number): number | null {
  if (now - dateCreated < TRAFFIC_DAYS * DAY_S) return null
  const day = Math.floor(now / DAY_S)
  let cache = counted.get(realm)
  if (cache?.day !== day) {
    cache = { day, weekly: new Map() }
    counted.set(realm, cache)
  }
  let weekly = cache.weekly.get(recipientId)
  if (weekly === undefined) {
    weekly = twoDigits(Math.floor(countSince(realm, recipientId, now - TRAFFIC_DAYS * DAY_S) / WEEKS))
    cache.weekly.set(recipientId, weekly)
  }
  return weekly
}

function countSince({ store }: Realm, recipientId: number, since: number): number {
  const from = firstIdAt(store, since)
  if (from === null) return 0
  const [row] = store.select<{ count: number }>(
    'SELECT count(*) AS count FROM messages WHERE recipient = ? AND id >= ?',
    [recipientId, from],
  )
  return row?.count ?? 0
}

function twoDigits(count: number): number {
  if (count < 100) return count
  const unit = 10 ** (Math.floor(Math.log10(count)) - 1)
  return Math.round(count / unit) * unit
}
