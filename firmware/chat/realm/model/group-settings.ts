/** Settings that grant a right to a group: their defaults and the groups allowed as values. Contract section 7.2. */

import { type GroupValue, groupsOf } from './group-value.ts'
import type { SystemGroupName } from './roles.ts'

/** Default of settings whose first value is the creator of the channel or group alone. */
type CreatorName = 'channel_creator' | 'group_creator'

export interface GroupSetting {
  default: SystemGroupName | CreatorName
  /** Default for system groups; null for settings of channels and of the realm. */
  defaultForSystemGroups: SystemGroupName | null
  nobody: boolean
  everyone: boolean
  /** If not null, the value must be one of these system groups. */
  only: readonly SystemGroupName[] | null
  ownersOnly: boolean
}

const setting = (name: GroupSetting['default'], bounds: Partial<GroupSetting> = {}): GroupSetting => ({
  default: name,
  defaultForSystemGroups: null,
  nobody: false,
  everyone: false,
  only: null,
  ownersOnly: false,
  ...bounds,
})

const N = { nobody: true }
const NE = { nobody: true, everyone: true }
const OWN = { ownersOnly: true }

export const REALM_GROUP_SETTINGS = {
  can_access_all_users_group: setting('role:everyone', { everyone: true, only: ['role:everyone', 'role:members'] }),
  can_add_custom_emoji_group: setting('role:members', N),
  can_add_subscribers_group: setting('role:members', N),
  can_create_bots_group: setting('role:members', N),
  can_create_groups: setting('role:members', { ...N, ...OWN }),
  can_create_private_channel_group: setting('role:members', N),
  can_create_public_channel_group: setting('role:members', N),
  can_create_web_public_channel_group: setting('role:owners', {
    ...N,
    only: ['role:moderators', 'role:administrators', 'role:owners', 'role:nobody'],
  }),
  can_create_write_only_bots_group: setting('role:members', N),
  can_delete_any_message_group: setting('role:administrators', N),
  can_delete_own_message_group: setting('role:everyone', NE),
  can_invite_users_group: setting('role:members', { ...N, ...OWN }),
  can_manage_all_groups: setting('role:owners', OWN),
  can_manage_billing_group: setting('role:administrators', OWN),
  can_mention_many_users_group: setting('role:administrators', NE),
  can_move_messages_between_channels_group: setting('role:members', N),
  can_move_messages_between_topics_group: setting('role:everyone', NE),
  can_resolve_topics_group: setting('role:everyone', NE),
  can_set_delete_message_policy_group: setting('role:moderators', N),
  can_set_topics_policy_group: setting('role:members', NE),
  can_summarize_topics_group: setting('role:everyone', NE),
  create_multiuse_invite_group: setting('role:administrators', { ...N, ...OWN }),
  direct_message_initiator_group: setting('role:everyone', NE),
  direct_message_permission_group: setting('role:everyone', NE),
} as const satisfies Record<string, GroupSetting>

export const CHANNEL_GROUP_SETTINGS = {
  can_add_subscribers_group: setting('role:nobody', N),
  can_administer_channel_group: setting('channel_creator', N),
  can_create_topic_group: setting('role:everyone', NE),
  can_delete_any_message_group: setting('role:nobody', NE),
  can_delete_own_message_group: setting('role:nobody', NE),
  can_move_messages_out_of_channel_group: setting('role:nobody', NE),
  can_move_messages_within_channel_group: setting('role:nobody', NE),
  can_remove_subscribers_group: setting('role:administrators', NE),
  can_resolve_topics_group: setting('role:nobody', NE),
  can_send_message_group: setting('role:everyone', NE),
  can_subscribe_group: setting('role:nobody', N),
} as const satisfies Record<string, GroupSetting>

const FOR_SYSTEM = { defaultForSystemGroups: 'role:nobody' } as const // system groups cannot be edited or mentioned by default

export const USER_GROUP_SETTINGS = {
  can_add_members_group: setting('group_creator', { ...N, ...FOR_SYSTEM }),
  can_join_group: setting('role:nobody', { ...N, ...FOR_SYSTEM }),
  can_leave_group: setting('role:everyone', { ...NE, ...FOR_SYSTEM }),
  can_manage_group: setting('group_creator', { ...N, ...FOR_SYSTEM }),
  can_mention_group: setting('role:everyone', { ...NE, ...FOR_SYSTEM }),
  can_remove_members_group: setting('role:nobody', { ...N, ...FOR_SYSTEM }),
} as const satisfies Record<string, GroupSetting>

export type RealmGroupSetting = keyof typeof REALM_GROUP_SETTINGS
export type ChannelGroupSetting = keyof typeof CHANNEL_GROUP_SETTINGS
export type UserGroupSetting = keyof typeof USER_GROUP_SETTINGS

/** Default value of each setting in the table. `creator`: user id, or null if unknown. */
export function defaultValues<K extends string>(
  table: Record<K, GroupSetting>,
  idOf: (name: SystemGroupName) => number,
  creator: number | null,
): Record<K, GroupValue> {
  const entries = Object.entries<GroupSetting>(table).map(([name, { default: group }]): [string, GroupValue] => {
    if (group.startsWith('role:')) return [name, idOf(group as SystemGroupName)]
    // Without a creator, as for groups made at bootstrap, the setting grants the right to no account.
    return [name, creator === null ? idOf('role:nobody') : { direct_members: [creator], direct_subgroups: [] }]
  })
  return Object.fromEntries(entries) as Record<K, GroupValue>
}

type GroupValueError = 'system group required' | 'not allowed'

/** Returns the reason why `value` is invalid, or null. `nameOf` returns null unless the group is a system group. */
export function refusal(
  { nobody, everyone, only }: GroupSetting,
  value: GroupValue,
  nameOf: (group: number) => SystemGroupName | null,
): GroupValueError | null {
  if (only !== null) {
    const name = typeof value === 'number' ? nameOf(value) : null
    if (name === null) return 'system group required'
    return only.includes(name) ? null : 'not allowed'
  }
  const names = groupsOf(value).map(nameOf)
  if (names.includes('role:internet') || (!everyone && names.includes('role:everyone'))) return 'not allowed'
  const empty = typeof value !== 'number' && value.direct_members.length === 0 && value.direct_subgroups.length === 0
  return !nobody && (empty || names.includes('role:nobody')) ? 'not allowed' : null
}

/** `server_supported_permission_settings` of the register answer. Contract section 4.2.2. */
export const SUPPORTED_PERMISSION_SETTINGS = {
  realm: supported(REALM_GROUP_SETTINGS),
  stream: supported(CHANNEL_GROUP_SETTINGS),
  group: supported(USER_GROUP_SETTINGS),
}

function supported(table: Record<string, GroupSetting>) {
  const described = Object.entries(table).map(
    ([name, { default: group, defaultForSystemGroups, nobody, everyone, only }]) => [
      name,
      {
        require_system_group: only !== null,
        allow_internet_group: false,
        allow_nobody_group: nobody,
        allow_everyone_group: everyone,
        default_group_name: group,
        default_for_system_groups: defaultForSystemGroups,
        allowed_system_groups: only ?? [],
      },
    ],
  )
  return Object.fromEntries(described)
}
