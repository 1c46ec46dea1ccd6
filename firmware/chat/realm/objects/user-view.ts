/** Accounts as clients see them. Contract section 2.2. */

import { userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { ProfileValue, User } from '../model/records.ts'
import { ROLES, roleFlags } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import { seesAddress } from '../permissions/user-access.ts'
import { placeholderAddress } from '../permissions/user-addresses.ts'
import { avatarUrl } from './avatar-url.ts'

interface ViewOptions {
  clientGravatar: boolean
  includeProfileData: boolean
}

/** For a viewer who can access the account. `sees`: the viewer may also see the real address. */
export function userObject(
  realm: Realm,
  user: User,
  sees: boolean,
  { clientGravatar, includeProfileData }: ViewOptions,
) {
  return {
    ...plainObject(user),
    delivery_email: sees ? user.deliveryEmail : null,
    avatar_url: avatarUrl(realm, user, { clientGravatar: clientGravatar && sees }),
    ...(includeProfileData && user.bot === null && { profile_data: profileData(user) }),
  }
}

export const userFor = (realm: Realm, viewer: User, user: User, options: ViewOptions) =>
  userObject(realm, user, seesAddress(viewer, user), options)

export const spectatorObject = (realm: Realm, user: User) => ({
  ...userObject(realm, user, false, { clientGravatar: false, includeProfileData: false }),
  email: placeholderAddress(organizationOf(realm.state), user.id),
  timezone: '',
})

const plainObject = (user: User) => ({
  user_id: user.id,
  email: user.email,
  full_name: user.fullName,
  role: user.role,
  ...roleFlags(user.role),
  is_bot: user.bot !== null,
  is_active: user.isActive,
  date_joined: isoTime(user.dateJoined),
  timezone: userSetting(user, 'timezone'),
  avatar_version: user.avatarVersion,
  bot_type: user.bot?.type ?? null,
  bot_owner_id: user.bot?.ownerId ?? null,
  ...(user.isDeleted && { is_deleted: true }),
})

export const systemBotObject = (realm: Realm, bot: User) => ({
  ...userObject(realm, bot, true, { clientGravatar: false, includeProfileData: false }),
  is_system_bot: true,
})

export const UNKNOWN_USER = 'Unknown user'

/** Placeholder for an account that the viewer may not see, for clients that need a user for each id. */
export function placeholderObject(realm: Realm, user: User) {
  const organization = organizationOf(realm.state)
  return {
    ...plainObject(user),
    email: placeholderAddress(organization, user.id),
    full_name: UNKNOWN_USER,
    delivery_email: null,
    role: ROLES.member,
    ...roleFlags(ROLES.member),
    is_active: true,
    date_joined: isoTime(organization.dateCreated),
    timezone: '',
    avatar_url: avatarUrl(realm, null, { clientGravatar: false }),
    avatar_version: 1,
  }
}

/** `{ field id: { value, rendered_value } }`. */
const profileData = ({ profileData }: User) =>
  Object.fromEntries(Object.entries(profileData).map(([field, value]) => [field, profileValue(value)]))

export const profileValue = ({ value, html }: ProfileValue) => ({
  value,
  ...(html !== null && { rendered_value: html }),
})

/** `2026-01-31T09:15:00+00:00` */
export const isoTime = (seconds: number): string => `${new Date(seconds * 1000).toISOString().slice(0, 19)}+00:00`
