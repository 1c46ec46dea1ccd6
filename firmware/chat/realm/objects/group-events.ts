/** Events about user groups, and about channels that become visible or invisible with a group's members. Contract V54 to V57, V41, V42. */

import type { EventBody } from '../../events/queue.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, Group } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { channelGroupValues } from '../permissions/group-rights.ts'
import { groupObject, membersOf } from './group-view.ts'
import { reaches } from './nested-groups.ts'
import { trackVisibility } from './visibility-events.ts'

export function publishGroup(realm: Realm, tx: Transaction, group: Group, body: EventBody): void {
  tx.publish({
    type: 'user_group',
    to: membersOf(realm),
    make: ({ can }) => (group.isDeactivated && !can.include_deactivated_groups ? null : body),
  })
}

/** After a group was deactivated or reactivated. Clients without `include_deactivated_groups` get `remove` or `add` instead. */
export function publishActivation(realm: Realm, tx: Transaction, group: Group): void {
  const { id, isDeactivated } = group
  tx.publish({
    type: 'user_group',
    to: membersOf(realm),
    make({ can }) {
      if (can.include_deactivated_groups) return { op: 'update', group_id: id, data: { deactivated: isDeactivated } }
      return isDeactivated ? { op: 'remove', group_id: id } : { op: 'add', group: groupObject(realm, group) }
    },
  })
}

/** Settings that make a private channel visible to the members of a group. Contract section 7.1. */
const SHOWING = ['can_administer_channel_group', 'can_add_subscribers_group', 'can_subscribe_group'] as const

/** `trackVisibility` for a change of the group's members, limited to channels that the group makes visible. */
export function watchGroup(
  realm: Realm,
  groupId: number,
  userIds: () => Iterable<number>,
  earlier?: Realm,
): (tx: Transaction) => void {
  const shown = [...realm.state.channel.all()].filter((channel) => isShown(realm, channel, groupId))
  return shown.length === 0 ? () => {} : trackVisibility(realm, userIds(), shown, earlier)
}

function isShown(realm: Realm, channel: Channel, groupId: number): boolean {
  if (!channel.isPrivate || Object.keys(channel.groupSettings).length === 0) return false
  const values = channelGroupValues(realm, channel)
  return SHOWING.some((name) => reaches(realm, values[name], groupId))
}
