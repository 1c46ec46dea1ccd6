/** Rights that settings currently give to groups. Contract section 7.2. */

import { holds, holdsTest } from '../model/group-membership.ts'
import {
  CHANNEL_GROUP_SETTINGS,
  type ChannelGroupSetting,
  defaultValues,
  type GroupSetting,
  REALM_GROUP_SETTINGS,
  type RealmGroupSetting,
  USER_GROUP_SETTINGS,
  type UserGroupSetting,
} from '../model/group-settings.ts'
import type { GroupValue } from '../model/group-value.ts'
import { groupsOf } from '../model/groups-of-realm.ts'
import type { Realm } from '../model/realm.ts'
import type { Channel, Group, User } from '../model/records.ts'
import type { SystemGroupName } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'

/** Throws before the organization exists: system groups are created with it. */
export function systemGroupId(realm: Realm, name: SystemGroupName): number {
  const group = realm.state.groupByName.get(name)
  if (group === undefined) throw new Error(`There is no group ${name}`)
  return group.id
}

const allOf = <K extends string>(
  realm: Realm,
  table: Record<K, GroupSetting>,
  values: Readonly<Record<string, GroupValue>>,
  creatorId: number | null,
): Record<K, GroupValue> => ({ ...defaultValues(table, (name) => systemGroupId(realm, name), creatorId), ...values })

export const realmGroupValues = (realm: Realm): Record<RealmGroupSetting, GroupValue> =>
  allOf(realm, REALM_GROUP_SETTINGS, organizationOf(realm.state).groupSettings, null)

export const channelGroupValues = (realm: Realm, channel: Channel): Record<ChannelGroupSetting, GroupValue> =>
  allOf(realm, CHANNEL_GROUP_SETTINGS, channel.groupSettings, channel.creatorId)

export function userGroupValues(realm: Realm, group: Group): Record<UserGroupSetting, GroupValue> {
  if (!group.isSystem) return allOf(realm, USER_GROUP_SETTINGS, group.groupSettings, group.creatorId)
  const entries = Object.entries<GroupSetting>(USER_GROUP_SETTINGS)
  return Object.fromEntries(
    entries.map(([name, { defaultForSystemGroups }]) => [
      name,
      systemGroupId(realm, defaultForSystemGroups ?? 'role:nobody'),
    ]),
  ) as Record<UserGroupSetting, GroupValue>
}

export function realmGroupValue(realm: Realm, name: RealmGroupSetting): GroupValue {
  const chosen = organizationOf(realm.state).groupSettings[name]
  return chosen ?? systemGroupId(realm, REALM_GROUP_SETTINGS[name].default as SystemGroupName)
}

export const mayInRealm = (realm: Realm, name: RealmGroupSetting, user: User): boolean =>
  holds(groupsOf(realm), REALM_GROUP_SETTINGS[name], realmGroupValue(realm, name), user)

function channelGroupValue(realm: Realm, channel: Channel, name: ChannelGroupSetting): GroupValue {
  return channel.groupSettings[name] ?? channelGroupValues(realm, channel)[name]
}

export const mayInChannel = (realm: Realm, channel: Channel, name: ChannelGroupSetting, user: User): boolean =>
  holds(groupsOf(realm), CHANNEL_GROUP_SETTINGS[name], channelGroupValue(realm, channel, name), user)

/** As `mayInChannel`, for many users of one channel. */
export const channelRightTest = (
  realm: Realm,
  channel: Channel,
  name: ChannelGroupSetting,
): ((user: User) => boolean) =>
  holdsTest(groupsOf(realm), CHANNEL_GROUP_SETTINGS[name], channelGroupValue(realm, channel, name))

export const mayInGroup = (realm: Realm, group: Group, name: UserGroupSetting, user: User): boolean =>
  holds(groupsOf(realm), USER_GROUP_SETTINGS[name], userGroupValues(realm, group)[name], user)

export const mayManageGroup = (realm: Realm, group: Group, user: User): boolean =>
  mayInRealm(realm, 'can_manage_all_groups', user) || mayInGroup(realm, group, 'can_manage_group', user)
