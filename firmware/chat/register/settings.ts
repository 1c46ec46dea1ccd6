/** Register sections of user settings, in the three formats that clients have read over time. Contract sections 2.7 and 4.2. */

import { userDefault, userSettings } from '../realm/model/read-settings.ts'
import type { User } from '../realm/model/records.ts'
import { organizationOf } from '../realm/model/state.ts'
import {
  LEGACY_DISPLAY_SETTINGS,
  LEGACY_NOTIFICATION_SETTINGS,
  NOT_IN_REALM_DEFAULTS,
  picked,
  READ_ONLY,
  USER_SETTINGS,
  type UserSetting,
} from '../realm/model/user-settings.ts'
import type { OpenRegisterSection, RegisterSection } from './section.ts'

export const userSettingsBlock: RegisterSection = ({ me }) => ({ user_settings: { ...userSettings(me), ...READ_ONLY } })

export const displaySettings: RegisterSection = ({ me, shape }) =>
  shape.can.user_settings_object
    ? {}
    : { ...legacy(me, LEGACY_DISPLAY_SETTINGS), emojiset_choices: READ_ONLY.emojiset_choices }

export const notificationSettings: RegisterSection = ({ me, shape }) =>
  shape.can.user_settings_object
    ? {}
    : {
        ...legacy(me, LEGACY_NOTIFICATION_SETTINGS),
        available_notification_sounds: READ_ONLY.available_notification_sounds,
      }

const legacy = (me: User, names: Parameters<typeof picked>[1]) => picked(userSettings(me), names)

export const realmDefaults: OpenRegisterSection = ({ realm }) => {
  const organization = organizationOf(realm.state)
  const left: readonly string[] = NOT_IN_REALM_DEFAULTS
  const names = (Object.keys(USER_SETTINGS) as UserSetting[]).filter((name) => !left.includes(name))
  const shared = names.map((name) => [name, userDefault(organization, name)])
  return { realm_user_settings_defaults: { ...Object.fromEntries(shared), ...READ_ONLY } }
}
