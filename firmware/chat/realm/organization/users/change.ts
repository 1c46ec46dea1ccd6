/** Changing accounts: name, role, address. Contract section 3.4, rows E71 and E72. */

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

/** Within a change: an account that everybody hears of. */
export function addUser(realm: Realm, tx: Transaction, input: NewUser): User {
  const user = createUser(realm, tx, input)
  publishNewUser(realm, tx, user)
  publishMemberships(realm, tx, undefined, user)
  return user
}

/** Where nothing else is said, the channels that are for all, and what the organization says to everybody who is new. */
interface Beginning {
  channels?: readonly Channel[]
  welcomeText?: string
}

/**
 * Within a change: the same for a person, who finds himself in channels and is welcomed. Throws `BAD_REQUEST` for an address
 * that the organization does not take.
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

/** Within a change. Throws `REQUEST_VARIABLE_INVALID` for what is no name, `BAD_REQUEST` for one that is taken. */
export function changeName(realm: Realm, tx: Transaction, user: User, input: string): User {
  const name = checkedName(input)
  if (name === user.fullName) return user
  expectFreeName(realm, name, user)
  const after = { ...user, fullName: name }
  tx.put('user', after)
  publishPerson(realm, tx, after, { full_name: name })
  return after
}

/** Names may be shared unless the organisation wants none to be; compared without case. */
export function expectFreeName(realm: Realm, name: string, user: User | null): void {
  if (!realmSetting(organizationOf(realm.state), 'require_unique_names')) return
  const key = name.toLowerCase()
  for (const other of realm.state.user.all()) {
    if (other.id !== user?.id && other.isActive && other.fullName.toLowerCase() === key)
      throw badRequest('Unique names required in this organization.')
  }
}

/** Within a change: only owners make and unmake owners, and one stays. A bot may have at most the role of its owner. */
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

/** Within a change: a bot gets the role of `owner` if its own is higher. */
export const limitRole = (realm: Realm, tx: Transaction, bot: User, owner: User): User =>
  atLeast(owner.role, bot.role) ? bot : putRole(realm, tx, bot, owner.role)

/** Bots of a demoted account are demoted with it. */
function putRole(realm: Realm, tx: Transaction, user: User, role: Role): User {
  const after = { ...user, role }
  const publishSight = trackVisibility(realm, [user.id])
  tx.put('user', after)
  publishPerson(realm, tx, after, { role })
  publishMemberships(realm, tx, user, after)
  markUnreadableRead(realm, tx, after, realm.state.channel.all())
  if (user.role === ROLES.guest) publishFoldersTo(realm, tx, after) // before the channels in them
  publishSight(tx)
  publishRoleSight(realm, tx, user, after)
  for (const bot of [...realm.state.botsOf.get(user.id).values()]) limitRole(realm, tx, bot, after)
  renewLostKeys(realm, tx, after)
  return after
}

interface GivenAddress {
  email: string
  /** Its name in the request. */
  parameter: string
  /** Somebody else answers for it. */
  isAddressTrusted: boolean
}

/** Within a change. Throws `REQUEST_VARIABLE_INVALID` for what is no address, `BAD_REQUEST` for one that is taken. */
export function changeAddress(realm: Realm, tx: Transaction, user: User, input: GivenAddress): User {
  const { email, parameter, isAddressTrusted } = input
  const deliveryEmail = freeAddress(realm, email, user.id, parameter)
  if (deliveryEmail !== user.deliveryEmail) expectAllowedAddress(realm, deliveryEmail)
  else if (!isAddressTrusted || user.isAddressTrusted) return user
  return putAddresses(realm, tx, user, { ...user, deliveryEmail, isAddressTrusted })
}

/** Within a change: the address for the API follows from the real one and from who may see that. */
export function putAddresses(realm: Realm, tx: Transaction, before: User, changed: User): User {
  const after = { ...changed, email: apiAddress(organizationOf(realm.state), changed) }
  tx.put('user', after)
  publishAddresses(realm, tx, before, after)
  return after
}

/** Of those who sign in: bots own nothing. */
function isLastOwner(realm: Realm, user: User): boolean {
  for (const other of realm.state.user.all()) {
    if (other.id !== user.id && other.isActive && other.bot === null && other.role === ROLES.owner) return false
  }
  return true
}

/** Whether nobody but `user` is left who could sign in. */
function isLastUser(realm: Realm, user: User): boolean {
  for (const other of realm.state.user.all()) {
    if (other.id !== user.id && other.isActive && other.bot === null) return false
  }
  return true
}

/** Throws unless somebody stays who can run the organisation. */
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

/** Only owners take owners their accounts. */
export function expectMayDeactivate(me: User, user: User): void {
  if (user.role === ROLES.owner && !atLeast(me.role, ROLES.owner)) throw forbidden('Must be an organization owner')
}
