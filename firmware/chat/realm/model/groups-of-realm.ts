import type { Groups } from './group-membership.ts'
import { nowOf, type Realm } from './realm.ts'
import { organizationOf } from './state.ts'

export const groupsOf = (realm: Realm): Groups => ({
  find: (id) => realm.state.group.get(id),
  systemGroupId: (name) => realm.state.groupByName.get(name)?.id,
  closure: realm.state.groupClosure,
  period: () => ({
    days: Number(organizationOf(realm.state).settings.waiting_period_threshold ?? 0),
    now: nowOf(realm),
  }),
})
