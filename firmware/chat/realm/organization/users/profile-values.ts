/** Values of custom profile fields. Contract rows E72 and E86, V34. */

import { z } from 'zod'
import { defined } from '../../../../base/defined.ts'
import { expectName, expectText } from '../../../base/characters.ts'
import { badRequest } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { ProfileField, ProfileValue, User } from '../../model/records.ts'
import { atLeast, ROLES } from '../../model/roles.ts'
import type { Transaction } from '../../model/transaction.ts'
import { renderDescription } from '../../objects/rendering.ts'
import { publishPerson } from '../../objects/user-events.ts'
import { profileValue } from '../../objects/user-view.ts'
import { mayAccess } from '../../permissions/user-access.ts'
import { choicesOf, FIELD_TYPES, findField } from './profile-types.ts'

const TEXT_CHARACTERS_MAX = 50
const LONG_TEXT_CHARACTERS_MAX = 500
const URL_CHARACTERS_MAX = 2048
const PEOPLE_MAX = 50

export const VALUES_MAX = 100 // of one request: as many as there may be fields; each value is an event to all users

export const givenValues = z
  .array(z.object({ id: z.int(), value: z.union([z.string(), z.null(), z.array(z.int())]) }))
  .max(VALUES_MAX)
type Given = z.output<typeof givenValues>[number]['value']

/** All changes or none. Null, an empty text or an empty list removes a value. Throws `BAD_REQUEST`. */
export function changeProfile(
  realm: Realm,
  tx: Transaction,
  me: User,
  user: User,
  input: z.output<typeof givenValues>,
): User {
  if (user.bot !== null) throw badRequest('Bots have no profile fields')
  let after = user
  for (const { id, value } of input) {
    const field = findField(realm, id)
    expectMayChange(me, field)
    after = putValue(realm, tx, after, field.id, isNothing(value) ? null : checked(realm, me, field, value))
  }
  return after
}

export function removeValues(realm: Realm, tx: Transaction, me: User, ids: readonly number[]): void {
  changeProfile(
    realm,
    tx,
    me,
    me,
    ids.map((id) => ({ id, value: null })),
  )
}

export function dropValues(
  realm: Realm,
  tx: Transaction,
  fieldId: number,
  isGone: (value: ProfileValue) => boolean,
): void {
  for (const user of holdersOf(realm, fieldId))
    if (isGone(defined(user.profileData[fieldId]))) putValue(realm, tx, user, fieldId, null)
}

/** Called when the field is removed. No events for the values: clients drop them with the field. */
export function forgetValues(realm: Realm, tx: Transaction, fieldId: number): void {
  for (const user of holdersOf(realm, fieldId)) {
    const { [fieldId]: _, ...profileData } = user.profileData
    tx.put('user', { ...user, profileData })
  }
}

const holdersOf = ({ state }: Realm, fieldId: number): User[] =>
  [...state.user.all()].filter(({ profileData }) => profileData[fieldId] !== undefined)

export function clearProfile(realm: Realm, tx: Transaction, user: User): User {
  let after = user
  for (const id of Object.keys(user.profileData)) after = putValue(realm, tx, after, Number(id), null)
  return after
}

function putValue(realm: Realm, tx: Transaction, user: User, fieldId: number, value: ProfileValue | null): User {
  const { [fieldId]: before, ...others } = user.profileData
  if (before?.value === value?.value) return user
  const after = { ...user, profileData: value === null ? others : { ...others, [fieldId]: value } }
  tx.put('user', after)
  const told = value === null ? { value: null } : profileValue(value)
  publishPerson(realm, tx, after, { custom_profile_field: { id: fieldId, ...told } })
  return after
}

function expectMayChange(me: User, { isEditable }: ProfileField): void {
  if (!isEditable && !atLeast(me.role, ROLES.administrator))
    throw badRequest('You are not allowed to change this field. Contact an administrator to update it.')
}

const isNothing = (value: Given): value is null => value === null || value.length === 0

function checked(realm: Realm, me: User, field: ProfileField, value: string | number[]): ProfileValue {
  const { type, name } = field
  if (type === FIELD_TYPES.USER.id) {
    if (typeof value === 'string') throw badRequest(`${name} is not a list`)
    return { value: JSON.stringify(checkedPeople(realm, me, value)), html: null }
  }
  if (typeof value !== 'string') throw badRequest(`${name} is not a string`)
  expectValue(field, value)
  const isShownAsText = type === FIELD_TYPES.SHORT_TEXT.id || type === FIELD_TYPES.LONG_TEXT.id
  return { value, html: isShownAsText ? renderDescription(realm, value) : null }
}

function expectValue(field: ProfileField, value: string): void {
  const { type, name } = field
  switch (type) {
    case FIELD_TYPES.SELECT.id:
      if (!choicesOf(field).has(value)) throw badRequest(`'${value}' is not a valid choice for '${name}'.`)
      break
    case FIELD_TYPES.DATE.id:
      if (!isDate(value)) throw badRequest(`${name} is not a date`)
      break
    case FIELD_TYPES.URL.id:
      if (!isUrl(value)) throw badRequest(`${name} is not a URL`)
      break
    default: {
      const isLong = type === FIELD_TYPES.LONG_TEXT.id
      const most = isLong ? LONG_TEXT_CHARACTERS_MAX : TEXT_CHARACTERS_MAX
      if ([...value].length > most) throw badRequest(`${name} is too long (limit: ${most} characters)`)
      if (isLong) expectText(value, name)
      else expectName(value, name)
    }
  }
}

function checkedPeople(realm: Realm, me: User, ids: readonly number[]): number[] {
  const distinct = [...new Set(ids)]
  if (distinct.length > PEOPLE_MAX) throw badRequest(`At most ${PEOPLE_MAX} users`)
  for (const id of distinct) {
    const user = realm.state.user.get(id)
    if (user === undefined || !user.isActive || !mayAccess(realm, me, user)) throw badRequest(`Invalid user ID: ${id}`)
    if (user.bot !== null) throw badRequest(`User with ID ${id} is a bot`)
  }
  return distinct
}

/** True for a valid date such as `2026-11-24`. */
function isDate(text: string): boolean {
  const time = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

function isUrl(text: string): boolean {
  const url = text.length <= URL_CHARACTERS_MAX ? URL.parse(text) : null
  return url !== null && /^https?:$/.test(url.protocol)
}
