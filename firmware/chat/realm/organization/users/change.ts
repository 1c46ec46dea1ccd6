/** Creates accounts and changes their names, roles and addresses. Contract section 3.4, rows E71 and E72. */

import { badRequest, ChatError, forbidden } from '../../../base/error.ts'
import { markUnreadableRead } from '../../messages/access-lost.ts'
import { realmSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, User } from '../../model/records.ts'
import { atLeast, ROLES, type Role } from '../../model/roles.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import { renewLostKeys } from '../../objects/bot-keys.ts'
import { publishFoldersTo } from '../../objects/channel-folders.ts'
import { publishMemberships } from '../../objects/group-view.ts'
import { publishRoleSight } from '../../objects/role-events.ts'
import { publishAddresses, publishNewUser, publishPerson } from '../../objects/user-events.ts'
import { checkedName, createUser, freeAddress, type NewUser } from '../../objects/users.ts'
import { trackVisibility } from '../../objects/visibility-events.ts'
import { apiAddress } from '../../permissions/user-addresses.ts'
import { subscribe } from '../channels/subscribe.ts'
import { expectAllowedAddress } from '../settings/domains.ts'
import { giveHistory } from './history.ts'
import { welcome } from './welcome.ts'

export function addUser(realm: Realm, tx: Transaction, input: NewUser): User {
  const user = createUser(realm, tx, input)
  publishNewUser(realm, tx, user)
  publishMemberships(realm, tx, undefined, user)
  return user
}

/** Defaults: the default channels and the organization's welcome message. */
interface Beginning {
  channels?: readonly Channel[]
  welcomeText?: string
}

/**
 * Creates the account of a person, subscribes it to channels and sends the welcome messages. Throws `BAD_REQUEST` for an address that the
 * organization does not allow.
 */
export function addPerson(
  realm: Realm,
  tx: Transaction,
  input: NewUser,
  {
    channels = [...realm.state.channel.all()].filter(({ isDefault, isArchived }) => isDefault && !isArchived),
    welcomeText = realmSetting(organizationOf(realm.state), 'welcome_message_custom_text'),
  }: Beginning = {},
): User {
  expectAllowedAddress(realm, input.email)
  const user = addUser(realm, tx, input)
  subscribe(
    realm,
    tx,
    channels.map((channel) => ({ user, channel })),
  )
  giveHistory(realm, tx, user, channels)
  welcome(realm, tx, user, welcomeText)
  return user
}

/** Throws `REQUEST_VARIABLE_INVALID` for an invalid name, `BAD_REQUEST` for one that is taken. */
export function changeName(realm: Realm, tx: Transaction, user: User, input: string): User {
  const name = checkedName(input)
  if (name === user.fullName) return user
  expectFreeName(realm, name, user)
  const after = { ...user, fullName: name }
  tx.put('user', after)
  publishPerson(realm, tx, after, { full_name: name })
  return after
}

/** Throws `BAD_REQUEST` if another active account has the name, in any case, and the organization requires unique names. */
export function expectFreeName(realm: Realm, name: string, user: User | null): void {
  if (!realmSetting(organizationOf(realm.state), 'require_unique_names')) return
  const key = name.toLowerCase()
  for (const other of realm.state.user.all()) {
    if (other.id !== user?.id && other.isActive && other.fullName.toLowerCase() === key)
      throw badRequest('Unique names required in this organization.')
  }
}

/** Only owners may add and remove owners, and one owner must remain. The role of a bot must not be above its owner's. */
export function changeRole(realm: Realm, tx: Transaction, me: User, user: User, role: Role): User {
  if (role === user.role) return user
  if ((role === ROLES.owner || user.role === ROLES.owner) && me.role !== ROLES.owner)
    throw forbidden('Must be an organization owner')
  if (user.role === ROLES.owner && isLastOwner(realm, user))
    throw badRequest('The owner permission cannot be removed from the only organization owner.')
  const owner = user.bot?.ownerId == null ? undefined : realm.state.user.get(user.bot.ownerId)
  if (owner !== undefined && !atLeast(owner.role, role))
    throw forbidden('A bot cannot have a higher role than its owner')
  return putRole(realm, tx, user, role)
}

export const limitRole = (realm: Realm, tx: Transaction, bot: User, owner: User): User =>
  atLeast(owner.role, bot.role) ? bot : putRole(realm, tx, bot, owner.role)

function putRole(realm: Realm, tx: Transaction, user: User, role: Role): User {
  const after = { ...user, role }
  const publishSight = trackVisibility(realm, [user.id])
  tx.put('user', after)
  publishPerson(realm, tx, after, { role })
  publishMemberships(realm, tx, user, after)
  markUnreadableRead(realm, tx, after, realm.state.channel.all())
  if (user.role === ROLES.guest) publishFoldersTo(realm, tx, after) // before the events of the channels in them
  publishSight(tx)
  publishRoleSight(realm, tx, user, after)
  for (const bot of [...realm.state.botsOf.get(user.id).values()]) limitRole(realm, tx, bot, after)
  renewLostKeys(realm, tx, after)
  return after
}

interface AddressInput {
  email: string
  parameter: string
  /** True if another party than the user vouches for the address. */
  isAddressTrusted: boolean
}

/** Throws `REQUEST_VARIABLE_INVALID` for an invalid address, `BAD_REQUEST` for one that is taken. */
export function changeAddress(realm: Realm, tx: Transaction, user: User, input: AddressInput): User {
  const { email, parameter, isAddressTrusted } = input
  const deliveryEmail = freeAddress(realm, email, user.id, parameter)
  if (deliveryEmail !== user.deliveryEmail) expectAllowedAddress(realm, deliveryEmail)
  else if (!isAddressTrusted || user.isAddressTrusted) return user
  return putAddresses(realm, tx, user, { ...user, deliveryEmail, isAddressTrusted })
}

export function putAddresses(realm: Realm, tx: Transaction, before: User, changed: User): User {
  const after = { ...changed, email: apiAddress(organizationOf(realm.state), changed) }
  tx.put('user', after)
  publishAddresses(realm, tx, before, after)
  return after
}

function isLastOwner(realm: Realm, user: User): boolean {
  for (const other of realm.state.user.all()) {
    if (other.id !== user.id && other.isActive && other.bot === null && other.role === ROLES.owner) return false
  }
  return true
}

function isLastUser(realm: Realm, user: User): boolean {
  for (const other of realm.state.user.all()) {
    if (other.id !== user.id && other.isActive && other.bot === null) return false
  }
  return true
}

/** Throws `CANNOT_DEACTIVATE_LAST_USER` for the last owner and the last person. */
export function expectOthers(realm: Realm, user: User): void {
  if (user.role === ROLES.owner && isLastOwner(realm, user))
    throw new ChatError('CANNOT_DEACTIVATE_LAST_USER', 'Cannot deactivate the only organization owner.', {
      is_last_owner: true,
      entity: 'organization owner',
    })
  if (user.bot === null && isLastUser(realm, user))
    throw new ChatError('CANNOT_DEACTIVATE_LAST_USER', 'Cannot deactivate the only user.', {
      is_last_owner: false,
      entity: 'user',
    })
}

export function expectMayDeactivate(me: User, user: User): void {
  if (user.role === ROLES.owner && !atLeast(me.role, ROLES.owner)) throw forbidden('Must be an organization owner')
}
