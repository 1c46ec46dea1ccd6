/** Settings of users. Contract section 3.4, rows E84 and E88. */

import { z } from 'zod'
import { defined } from '../../base/defined.ts'
import { badRequest } from '../base/error.ts'
import { json, type Parameter, text, textOf } from '../pipeline/parameters.ts'
import { realmSetting } from '../realm/model/read-settings.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { Password, User } from '../realm/model/records.ts'
import { atLeast, ROLES } from '../realm/model/roles.ts'
import type { Setting } from '../realm/model/setting.ts'
import { organizationOf } from '../realm/model/state.ts'
import type { Transaction } from '../realm/model/transaction.ts'
import { NOT_IN_BULK, USER_SETTINGS, type UserSetting, type UserSettings } from '../realm/model/user-settings.ts'
import { revokeOtherSessions } from '../realm/objects/keys.ts'
import { setPassword } from '../realm/objects/users.ts'
import { countAddressChange } from '../realm/organization/users/address-changes.ts'
import { changeAddress, changeName } from '../realm/organization/users/change.ts'
import type { Passwords } from '../realm/organization/users/passwords.ts'
import { changeSettings, changeSettingsOf, type GivenSettings } from '../realm/organization/users/settings.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const IDS_MAX = 10_000 // more accounts than an organization has

const targetUsers = z
  .object({
    user_ids: z.array(z.int()).max(IDS_MAX).optional(),
    group_ids: z.array(z.int()).max(IDS_MAX).optional(),
    skip_if_already_edited: z.boolean().default(false),
  })
  .refine(
    ({ user_ids, group_ids }) => user_ids !== undefined || group_ids !== undefined,
    'user_ids or group_ids is needed',
  )

type SettingParameters = { [K in UserSetting]: Parameter<UserSettings[K] | undefined> }

export const settingParameters = Object.fromEntries(
  Object.entries<Setting>(USER_SETTINGS).map(([name, { schema, raw }]) => [
    name,
    (raw ? textOf(schema) : json(schema)).optional(),
  ]),
) as SettingParameters

const identityParameters = {
  full_name: text().optional(),
  email: text().optional(),
  old_password: text().optional(),
  new_password: text().optional(),
}

type Identity = { [K in keyof typeof identityParameters]: string | undefined } & {
  address: string
  /** Key or session that made the call. */
  keyId: number | undefined
}

const change = (path: string): AnyDeclaration =>
  declare({
    method: 'PATCH',
    path,
    who: 'account',
    usesReserve: true,
    audit: { parameters: ['email', 'new_password', 'target_users'] },
    parameters: { ...settingParameters, ...identityParameters, target_users: json(targetUsers).optional() },
    handle: async ({ realm, passwords, me, credential, input, sent, exchange: { address } }) => {
      const { full_name, email, old_password, new_password, target_users, ...settings } = input
      const chosen = Object.fromEntries(
        Object.entries(settings).filter(([, value]) => value !== undefined),
      ) as GivenSettings
      if (target_users !== undefined) changeOthers(realm, me, target_users, chosen, sent)
      else {
        const identity = { full_name, email, old_password, new_password, address, keyId: credential?.id }
        await changeOwn(realm, passwords, me, identity, chosen)
      }
      return {}
    },
  })

export const settingDeclarations: readonly AnyDeclaration[] = [
  change('/settings'),
  change('/settings/notifications'),
  change('/settings/display'),
]

const REFUSED_FOR_OTHERS: readonly string[] = [...Object.keys(identityParameters), ...NOT_IN_BULK]

function changeOthers(
  realm: Realm,
  me: User,
  target: z.output<typeof targetUsers>,
  input: GivenSettings,
  sent: ReadonlySet<string>,
): void {
  if (!atLeast(me.role, ROLES.administrator)) throw badRequest('Must be an organization administrator')
  const refused = REFUSED_FOR_OTHERS.filter((name) => sent.has(name))
  if (refused.length > 0)
    throw badRequest(`Cannot be changed for other users: ${refused.join(', ')}`, {
      parameters: ['target_users', ...refused],
    })
  const { user_ids: userIds = [], group_ids: groupIds = [], skip_if_already_edited: skipIfEdited } = target
  realm.transaction((tx) => changeSettingsOf(realm, tx, me, { userIds, groupIds, skipIfEdited }, input))
}

async function changeOwn(
  realm: Realm,
  passwords: Passwords,
  me: User,
  input: Identity,
  settings: GivenSettings,
): Promise<void> {
  const before = realm.state.password.get(me.id)
  const password = input.new_password === undefined ? null : await newPassword(passwords, me, before, input)
  realm.transaction((tx) => {
    let user = realm.state.user.require(me.id)
    if (password !== null) {
      // Another request may have changed the password during the key derivation.
      if (realm.state.password.get(me.id) !== before) throw badRequest('Wrong password!')
      setPassword(tx, password)
      revokeOtherSessions(realm, tx, user, input.keyId)
    }
    if (input.email !== undefined) user = changeOwnAddress(realm, tx, user, input.email)
    if (input.full_name !== undefined) user = changeOwnName(realm, tx, user, input.full_name)
    changeSettings(realm, tx, user, settings)
  })
}

async function newPassword(
  passwords: Passwords,
  me: User,
  before: Password | undefined,
  { old_password: old, new_password: wanted, address }: Identity,
): Promise<Password> {
  if (old === undefined) throw badRequest('Please fill out all fields.')
  const attempt = { address, who: me.id, password: old, expected: before }
  if (before === undefined || !(await passwords.matches(attempt))) throw badRequest('Wrong password!')
  return passwords.digest(me.id, defined(wanted), 'new_password')
}

function changeOwnAddress(realm: Realm, tx: Transaction, user: User, email: string): User {
  if (email.trim() === user.deliveryEmail) return user
  if (user.bot !== null) throw badRequest('The address of a bot comes from its short name')
  expectAllowed(realm, user, 'email_changes_disabled', 'Email address changes are disabled in this organization.')
  const after = changeAddress(realm, tx, user, { email, parameter: 'email', isAddressTrusted: false })
  countAddressChange(realm, user.id)
  return after
}

function changeOwnName(realm: Realm, tx: Transaction, user: User, name: string): User {
  if (name.trim() === user.fullName) return user
  expectAllowed(realm, user, 'name_changes_disabled', 'Name changes are disabled in this organization.')
  return changeName(realm, tx, user, name)
}

/** Throws `message` if the organization forbids the change and the user is not an administrator. */
export function expectAllowed(
  realm: Realm,
  user: User,
  setting: 'name_changes_disabled' | 'email_changes_disabled' | 'avatar_changes_disabled',
  message: string,
): void {
  if (realmSetting(organizationOf(realm.state), setting) && !atLeast(user.role, ROLES.administrator))
    throw badRequest(message)
}
