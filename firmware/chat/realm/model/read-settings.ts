import { REALM_SETTINGS, type RealmSettingName, type RealmSettings } from './realm-settings.ts'
import type { Organization, User } from './records.ts'
import { USER_SETTINGS, type UserSetting, type UserSettings } from './user-settings.ts'

export function realmSetting<K extends RealmSettingName>(organization: Organization, name: K): RealmSettings[K] {
  const { settings } = organization
  return (Object.hasOwn(settings, name) ? settings[name] : REALM_SETTINGS[name].default) as RealmSettings[K]
}

export function userSetting<K extends UserSetting>({ settings }: User, name: K): UserSettings[K] {
  return (Object.hasOwn(settings, name) ? settings[name] : USER_SETTINGS[name].default) as UserSettings[K]
}

export const userSettings = (user: User): UserSettings =>
  Object.fromEntries(
    Object.keys(USER_SETTINGS).map((name) => [name, userSetting(user, name as UserSetting)]),
  ) as UserSettings

export function userDefault<K extends UserSetting>({ userDefaults = {} }: Organization, name: K): UserSettings[K] {
  return (Object.hasOwn(userDefaults, name) ? userDefaults[name] : USER_SETTINGS[name].default) as UserSettings[K]
}
