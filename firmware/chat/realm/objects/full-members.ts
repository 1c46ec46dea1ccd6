/** Events about members who become full members, or are none any more. Contract section 2.1, V56. */

import type { Log } from '../../../base/log.ts'
import { type PeriodicTask, startPeriodic } from '../../../base/periodic.ts'
import { realmSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import { becameFullMember } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import type { Transaction } from '../model/transaction.ts'
import { systemGroupId } from '../permissions/group-rights.ts'
import { watchGroup } from './group-events.ts'
import { isCounted, membersOf, watchMemberships } from './group-view.ts'

const INTERVAL_MS = 60_000 // waiting periods are in days

/** Unix time in seconds until which clients were told whose waiting period was over. */
const toldUntil = new WeakMap<Realm, number>()

/** `savedAt`: time at which the queues were saved that this start has restored; undefined if there are none. */
export function startFullMembers(realm: Realm, savedAt: number | undefined, log: Log): PeriodicTask {
  toldUntil.set(realm, savedAt ?? nowOf(realm))
  return startPeriodic({
    run: async () => {
      if (realm.state.organization.size > 0) realm.transaction((tx) => publishFullMembers(realm, tx))
    },
    intervalMs: INTERVAL_MS,
    failure: 'cannot publish full members',
    source: 'chat',
    log,
  })
}

/** Publishes the members whose waiting period is over since the last call. */
function publishFullMembers(realm: Realm, tx: Transaction): void {
  const now = nowOf(realm)
  const told = toldUntil.get(realm) ?? now
  tx.onCommit(() => toldUntil.set(realm, now))
  const days = realmSetting(organizationOf(realm.state), 'waiting_period_threshold')
  const ids = [...realm.state.user.all()]
    .filter((user) => isCounted(user) && becameFullMember(user, days, told, now))
    .map(({ id }) => id)
  if (ids.length === 0) return
  const group = systemGroupId(realm, 'role:fullmembers')
  const earlier: Realm = { ...realm, clock: { ...realm.clock, now: () => told * 1000 } }
  const publishSight = watchGroup(realm, group, () => ids, earlier)
  const body = { op: 'add_members', group_id: group, user_ids: ids }
  tx.publish({ type: 'user_group', to: membersOf(realm), make: () => body })
  publishSight(tx)
}

/** Call before the waiting period changes; call the returned function after the change to publish the events. */
export function watchFullMembers(realm: Realm, tx: Transaction): (tx: Transaction) => void {
  publishFullMembers(realm, tx)
  const publishMemberships = watchMemberships(realm)
  const everybody = [...realm.state.user.all()].map(({ id }) => id)
  const publishSight = watchGroup(realm, systemGroupId(realm, 'role:fullmembers'), () => everybody)
  return (tx) => {
    publishMemberships(tx)
    publishSight(tx)
  }
}
