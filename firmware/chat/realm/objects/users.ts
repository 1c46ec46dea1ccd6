/** Creates accounts and validates their names and addresses. Contract section 2.2. */

import { invalidParameter } from '../../base/error.ts'
import { realmSetting } from '../model/read-settings.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { Bot, Organization, Password, Settings, User } from '../model/records.ts'
import type { Role } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import type { Transaction } from '../model/transaction.ts'
import { address, fullName } from '../model/user-names.ts'
import { USER_SETTINGS } from '../model/user-settings.ts'
import { apiAddress, expectFreeAddress } from '../permissions/user-addresses.ts'

export interface NewUser {
  email: string
  fullName: string
  role: Role
  bot?: Bot
  isSystemBot?: boolean
  isAddressTrusted?: boolean
  hasNeverSignedIn?: true
}

/** Throws `BAD_REQUEST` for an address that is taken. The caller publishes the event. */
export function createUser(
  realm: Realm,
  tx: Transaction,
  { email, fullName, role, bot, isSystemBot = false, isAddressTrusted = false, hasNeverSignedIn }: NewUser,
): User {
  const organization = organizationOf(realm.state)
  const deliveryEmail = freeAddress(realm, email, null)
  const made: User = {
    id: tx.nextId('user'),
    email: deliveryEmail,
    deliveryEmail,
    fullName: checkedName(fullName),
    role,
    isActive: true,
    dateJoined: nowOf(realm),
    avatarVersion: 1,
    avatarSource: bot === undefined ? realmSetting(organization, 'default_avatar_source') : 'J',
    settings: bot === undefined ? firstSettings(organization) : {},
    profileData: {},
    bot: bot ?? null,
    isSystemBot,
    isDeleted: false,
    isAddressTrusted,
    ...(hasNeverSignedIn && { hasNeverSignedIn }),
  }
  const user = { ...made, email: apiAddress(organization, made) }
  tx.put('user', user)
  return user
}

function firstSettings(organization: Organization): Settings {
  const language = realmSetting(organization, 'default_language')
  return {
    ...organization.userDefaults,
    ...(language !== USER_SETTINGS.default_language.default && { default_language: language }),
  }
}

/** Returns the normalized name. Throws `REQUEST_VARIABLE_INVALID`. */
export function checkedName(input: string): string {
  const name = fullName(input)
  if (name === null)
    throw invalidParameter('full_name', `full_name must have 2 to 100 characters, none of * \` \\ > " @`)
  return name
}

/** Returns the normalized address. Throws `REQUEST_VARIABLE_INVALID` for an invalid one, `BAD_REQUEST` for one that is taken. */
export function freeAddress(realm: Realm, input: string, ownId: number | null, parameter = 'email'): string {
  const email = address(input)
  if (email === null) throw invalidParameter(parameter, `${parameter} is not an address`)
  expectFreeAddress(realm, email, ownId)
  return email
}

export const isDeactivated = (realm: Realm): boolean => organizationOf(realm.state).isDeactivated

/** Also ends an open link for a new password. */
export function setPassword(tx: Transaction, password: Password): void {
  tx.put('password', password)
  tx.remove('passwordLink', password.userId)
}

/** Ends every way to sign in by a password. */
export function removePassword(tx: Transaction, userId: number): void {
  tx.remove('password', userId)
  tx.remove('passwordLink', userId)
}
