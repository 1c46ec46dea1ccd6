/** Changes settings of users: their own, and for administrators those of many users. Contract sections 2.7 and 3.4.2. */

import { badRequest } from '../../../base/error.ts'
import { memberTest } from '../../model/group-membership.ts'
import { groupsOf } from '../../model/groups-of-realm.ts'
import { userSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { SettingValue, User } from '../../model/records.ts'
import { atLeast, ROLES } from '../../model/roles.ts'
import type { Transaction } from '../../model/transaction.ts'
import type { UserSetting } from '../../model/user-settings.ts'
import { publishInherited } from '../../objects/inherited-settings.ts'
import { showPresenceSetting } from '../../objects/presences.ts'
import { publishStatus } from '../../objects/statuses.ts'
import { publishPerson } from '../../objects/user-events.ts'
import { findOwnUser } from '../../permissions/user-find.ts'
import { putAddresses } from './change.ts'

export type GivenSettings = Readonly<Partial<Record<UserSetting, SettingValue>>>

/** Also records which settings the user has edited, for `skipIfEdited`. */
export function changeSettings(realm: Realm, tx: Transaction, me: User, input: GivenSettings): User {
  const changed = differing(me, input)
  if (changed.length === 0) return me
  const edited = realm.state.editedSettings.get(me.id)?.value ?? []
  const names = new Set([...edited, ...changed.map(([name]) => name)])
  if (names.size > edited.length) tx.put('editedSettings', { userId: me.id, value: [...names] })
  return putSettings(realm, tx, me, changed)
}

/** Old clients change this setting through the status endpoint. */
export const changePresenceEnabled = (realm: Realm, tx: Transaction, me: User, isEnabled: boolean): User =>
  changeSettings(realm, tx, me, { presence_enabled: isEnabled })

interface SettingsTarget {
  userIds: readonly number[]
  groupIds: readonly number[]
  skipIfEdited: boolean
}

/** Includes deactivated accounts and skips bots. Throws `BAD_REQUEST`. */
export function changeSettingsOf(
  realm: Realm,
  tx: Transaction,
  me: User,
  target: SettingsTarget,
  input: GivenSettings,
): void {
  for (const user of targetUsers(realm, me, target)) {
    const edited = target.skipIfEdited ? (realm.state.editedSettings.get(user.id)?.value ?? []) : []
    const changed = differing(user, input).filter(([name]) => !edited.includes(name))
    if (changed.length > 0) putSettings(realm, tx, user, changed)
  }
}

function targetUsers(realm: Realm, me: User, { userIds, groupIds }: SettingsTarget): User[] {
  const named = new Set(userIds.map((id) => findOwnUser(realm, me, id).id))
  for (const id of groupIds) {
    const group = realm.state.group.get(id)
    if (group === undefined || group.isDeactivated) throw badRequest('Invalid user group')
  }
  const isNamed = memberTest(groupsOf(realm), { direct_members: [...named], direct_subgroups: [...groupIds] })
  return [...realm.state.user.all()].filter((user) => user.bot === null && isNamed(user))
}

type Changed = [name: UserSetting, value: SettingValue][]

const differing = (user: User, input: GivenSettings): Changed =>
  (Object.entries(input) as Changed).filter(([name, value]) => value !== undefined && userSetting(user, name) !== value)

function putSettings(realm: Realm, tx: Transaction, before: User, changed: Changed): User {
  const settings = { ...before.settings, ...Object.fromEntries(changed) }
  const after = putAddresses(realm, tx, before, { ...before, settings })
  for (const [property, value] of changed) {
    tx.publish({
      type: 'user_settings',
      to: [after.id],
      make: () => ({
        op: 'update',
        property,
        value,
        ...(property === 'default_language' && { language_name: languageName(String(value)) }),
      }),
    })
    publishInherited(realm, tx, after, property, value)
    follow(realm, tx, after, property)
  }
  return after
}

function follow(realm: Realm, tx: Transaction, user: User, property: UserSetting): void {
  if (property === 'timezone')
    publishPerson(realm, tx, user, { email: user.email, timezone: userSetting(user, 'timezone') })
  if (property === 'allow_private_data_export') publishConsent(realm, tx, user)
  if (property === 'presence_enabled' && user.isActive) {
    const isEnabled = userSetting(user, 'presence_enabled')
    showPresenceSetting(realm, tx, user, isEnabled)
    publishStatus(realm, tx, user, { away: !isEnabled })
  }
}

/** Contract V30. */
function publishConsent(realm: Realm, tx: Transaction, user: User): void {
  const to = [...realm.state.user.all()].filter(({ isActive, role }) => isActive && atLeast(role, ROLES.administrator))
  const body = { user_id: user.id, consented: userSetting(user, 'allow_private_data_export') }
  tx.publish({ type: 'realm_export_consent', to: to.map(({ id }) => id), make: () => body })
}

/** Returns the language's own name, or the code if it is unknown. */
function languageName(code: string): string {
  const tag = code.replaceAll('_', '-')
  try {
    return new Intl.DisplayNames([tag], { type: 'language' }).of(tag) ?? code
  } catch {
    return code
  }
}
