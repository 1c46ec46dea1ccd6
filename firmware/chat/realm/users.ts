/** Accounts of people. Contract section 2.2. */

import { badRequest, invalidParameter } from '../error.ts'
import { nowOf, type Realm } from './realm.ts'
import type { Bot, Password, User } from './records.ts'
import type { Role } from './roles.ts'
import { organizationOf } from './state.ts'
import type { Turn } from './turn.ts'

const EMAIL = /^[^\s@,<>"()]+@[^\s@,<>"()]+$/
const EMAIL_LENGTH_MAX = 254 // RFC 5321 section 4.5.3.1.3
const NAME_LENGTH = { min: 2, max: 100 } as const
// biome-ignore lint/suspicious/noControlCharactersInRegex: those are what a name may not have
const NAME_FORBIDDEN = /[\u0000-\u001f\u007f-\u009f*`\\>"@]/

export interface NewUser {
  email: string
  fullName: string
  role: Role
  bot?: Bot
  isSystemBot?: boolean
}

/** Within a change. Throws `BAD_REQUEST` for an address that is taken. The event is the caller's to publish. */
export function createUser(
  realm: Realm,
  turn: Turn,
  { email, fullName, role, bot, isSystemBot = false }: NewUser,
): User {
  expectEmail(email)
  if (realm.state.userByDeliveryEmail.get(email.toLowerCase()) !== undefined)
    throw badRequest(`Email '${email}' already in use`)
  const user: User = {
    id: turn.nextId('user'),
    email,
    deliveryEmail: email,
    fullName: checkedName(fullName),
    role,
    isActive: true,
    dateJoined: nowOf(realm),
    avatarVersion: 1,
    avatarSource: 'J',
    timezone: '',
    settings: {},
    profileData: {},
    bot: bot ?? null,
    isSystemBot,
    isDeleted: false,
  }
  turn.put('user', user)
  return user
}

/** The name without white space at its ends. Throws `REQUEST_VARIABLE_INVALID`. */
export function checkedName(fullName: string): string {
  const name = fullName.trim()
  const length = [...name].length
  if (length < NAME_LENGTH.min || length > NAME_LENGTH.max || NAME_FORBIDDEN.test(name))
    throw invalidParameter(
      'full_name',
      `full_name must have ${NAME_LENGTH.min} to ${NAME_LENGTH.max} characters, none of * \` \\ > " @`,
    )
  return name
}

export function expectEmail(email: string): void {
  if (!EMAIL.test(email) || email.length > EMAIL_LENGTH_MAX) throw invalidParameter('email', 'email is not an address')
}

/** Whether the organization may be used at all. */
export const isDeactivated = (realm: Realm): boolean => organizationOf(realm.state).isDeactivated

export const setPassword = (turn: Turn, password: Password): void => turn.put('password', password)
