/** Changes settings of the organization. Contract section 2.6, rows E103 and E104, V22, V23, V36. */

import { badRequest } from '../../../base/error.ts'
import { REALM_GROUP_SETTINGS, type RealmGroupSetting } from '../../model/group-settings.ts'
import type { GroupValue, GroupValueUpdate } from '../../model/group-value.ts'
import { realmSetting, userDefault } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import { REALM_SETTINGS, type RealmSetting, type RealmSettingName } from '../../model/realm-settings.ts'
import type { SettingValue, User } from '../../model/records.ts'
import { ROLES } from '../../model/roles.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import type { UserSetting } from '../../model/user-settings.ts'
import { watchFullMembers } from '../../objects/full-members.ts'
import { renderDescription } from '../../objects/rendering.ts'
import { findChannel } from '../../permissions/channel-find.ts'
import { realmGroupValues } from '../../permissions/group-rights.ts'
import { updatedGroupValues } from '../../permissions/group-update.ts'

export type GivenRealmSettings = Readonly<Partial<Record<RealmSettingName, SettingValue>>>
export type GivenGroups = Readonly<Partial<Record<RealmGroupSetting, GroupValueUpdate>>>

/** Settings whose value is a channel for announcements or reports. -1: none. */
const CHANNEL_SETTINGS: readonly RealmSettingName[] = [
  'new_stream_announcements_stream_id',
  'signup_announcements_stream_id',
  'zulip_update_announcements_stream_id',
  'moderation_request_channel_id',
]

/** Throws `BAD_REQUEST` for a channel that the caller may not see, an archived one, and a public one for reports. */
export function expectChannels(realm: Realm, me: User, input: GivenRealmSettings): void {
  for (const name of CHANNEL_SETTINGS) {
    const id = input[name]
    if (id === undefined || id === -1 || id === current(realm, name)) continue
    const channel = findChannel(realm, me, Number(id))
    if (channel.isArchived) throw badRequest('Invalid channel ID')
    if (name === 'moderation_request_channel_id' && !channel.isPrivate)
      throw badRequest('Moderation request channel must be private.')
  }
}

/** Returns the settings that changed, by name. */
export function changeRealmSettings(
  realm: Realm,
  tx: Transaction,
  input: GivenRealmSettings,
): Record<string, SettingValue> {
  const changed = Object.fromEntries(
    Object.entries(input).filter(
      ([name, value]) => value !== undefined && value !== current(realm, name as RealmSettingName),
    ),
  ) as Record<string, SettingValue>
  if (Object.keys(changed).length === 0) return {}
  const publishMemberships = 'waiting_period_threshold' in changed ? watchFullMembers(realm, tx) : null
  const { name, ...settings } = changed
  const organization = organizationOf(realm.state)
  tx.put('organization', {
    ...organization,
    ...(name !== undefined && { name: String(name) }),
    settings: { ...organization.settings, ...settings },
  })
  publishChanges(realm, tx, changed)
  publishMemberships?.(tx)
  return changed
}

const current = (realm: Realm, name: RealmSettingName): SettingValue => {
  const organization = organizationOf(realm.state)
  return name === 'name' ? organization.name : realmSetting(organization, name)
}

function publishChanges(realm: Realm, tx: Transaction, changed: Readonly<Record<string, SettingValue>>): void {
  const together: Record<string, SettingValue> = {}
  for (const [property, value] of Object.entries(changed)) {
    const { event } = REALM_SETTINGS[property as RealmSettingName] as RealmSetting
    if (property === 'description')
      publishTogether(tx, { description: value, rendered_description: renderDescription(realm, String(value)) })
    else if (event === 'update_dict') together[property] = value
    else tx.publish({ type: 'realm', to: 'everyone', make: () => ({ op: 'update', property, value }) })
  }
  if ('topics_policy' in together) together.mandatory_topics = together.topics_policy === 'disable_empty_topic'
  if (Object.keys(together).length > 0) publishTogether(tx, together)
}

const publishTogether = (tx: Transaction, data: Readonly<Record<string, unknown>>): void =>
  tx.publish({ type: 'realm', to: 'everyone', make: () => ({ op: 'update_dict', property: 'default', data }) })

/**
 * Returns the settings that changed, by name. Throws `EXPECTATION_MISMATCH` if `old` of an update is not the stored value,
 * `SYSTEM_GROUP_REQUIRED`, and `BAD_REQUEST`.
 */
export function changeRealmGroups(realm: Realm, tx: Transaction, input: GivenGroups): Record<string, GroupValue> {
  const changed = updatedGroupValues(realm, REALM_GROUP_SETTINGS, realmGroupValues(realm), input)
  if (Object.keys(changed).length === 0) return {}
  const organization = organizationOf(realm.state)
  tx.put('organization', { ...organization, groupSettings: { ...organization.groupSettings, ...changed } })
  publishTogether(tx, changed)
  if ('can_access_all_users_group' in changed) tx.onCommit(() => dropQueuesOfGuests(realm))
  return changed
}

/** Guests now see other users, so their clients have to register again. Contract section 7.7. */
function dropQueuesOfGuests({ state, events }: Realm): void {
  for (const { id, role } of state.user.all()) if (role === ROLES.guest) events.dropQueuesOf(id)
}

export function changeUserDefaults(
  realm: Realm,
  tx: Transaction,
  input: Readonly<Partial<Record<UserSetting, SettingValue>>>,
): void {
  const organization = organizationOf(realm.state)
  const changed = Object.entries(input).filter(
    ([name, value]) => value !== undefined && value !== userDefault(organization, name as UserSetting),
  )
  if (changed.length === 0) return
  const userDefaults = { ...organization.userDefaults, ...Object.fromEntries(changed) } as Record<string, SettingValue>
  tx.put('organization', { ...organization, userDefaults })
  for (const [property, value] of changed)
    tx.publish({
      type: 'realm_user_settings_defaults',
      to: 'everyone',
      make: () => ({ op: 'update', property, value }),
    })
}
