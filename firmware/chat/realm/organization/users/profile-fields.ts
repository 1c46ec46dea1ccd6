/** Custom profile fields that the organization defines. Contract section 2.5, row E117, V6. */

import { z } from 'zod'
import { nameString } from '../../../base/characters.ts'
import { badRequest, invalidParameter } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { ProfileField } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'
import { DEFAULT_ACCOUNTS, expectAccountPattern } from './external-accounts.ts'
import { choicesOf, FIELD_TYPES, type FieldType, findField } from './profile-types.ts'
import { dropValues, forgetValues } from './profile-values.ts'

const NAME_CHARACTERS_MAX = 40
const HINT_CHARACTERS_MAX = 80
const CHOICES_MAX = 200
const CHOICE_CHARACTERS_MAX = 100
const SUMMARY_FIELDS_MAX = 2

const NOT_IN_SUMMARY: readonly FieldType[] = [FIELD_TYPES.USER.id]

interface FieldInput {
  name: string | undefined
  hint: string | undefined
  /** Parsed JSON. */
  fieldData: unknown
  inSummary: boolean | undefined
  isRequired: boolean | undefined
  isEditable: boolean | undefined
}

export const fieldsOf = ({ state }: Realm): ProfileField[] =>
  [...state.profileField.all()].sort((a, b) => a.order - b.order)

export const fieldObjects = (realm: Realm) => fieldsOf(realm).map(fieldObject)

const fieldObject = ({ id, type, order, name, hint, fieldData, inSummary, isRequired, isEditable }: ProfileField) => ({
  id,
  type,
  order,
  name,
  hint,
  field_data: fieldData,
  ...(inSummary && { display_in_profile_summary: true }),
  required: isRequired,
  editable_by_user: isEditable,
})

/** Throws `BAD_REQUEST`. */
export function addField(realm: Realm, type: FieldType, input: FieldInput): number {
  return realm.transaction((tx) => {
    const orders = fieldsOf(realm).map(({ order }) => order)
    const field: ProfileField = {
      id: tx.nextId('profileField'),
      type,
      order: Math.max(0, ...orders) + 1,
      ...named(type, input),
      fieldData: checkedData(type, input.fieldData ?? {}),
      inSummary: input.inSummary ?? false,
      isRequired: input.isRequired ?? false,
      isEditable: input.isEditable ?? true,
    }
    put(realm, tx, field)
    return field.id
  })
}

/** Undefined members stay unchanged. */
export function changeField(realm: Realm, id: number, input: FieldInput): void {
  realm.transaction((tx) => {
    const before = findField(realm, id)
    const after: ProfileField = {
      ...before,
      ...named(before.type, input, before),
      fieldData: input.fieldData === undefined ? before.fieldData : checkedData(before.type, input.fieldData),
      inSummary: input.inSummary ?? before.inSummary,
      isRequired: input.isRequired ?? before.isRequired,
      isEditable: input.isEditable ?? before.isEditable,
    }
    if (after.type === FIELD_TYPES.SELECT.id && after.fieldData !== before.fieldData) {
      const choices = choicesOf(after)
      dropValues(realm, tx, id, ({ value }) => !choices.has(value))
    }
    put(realm, tx, after)
  })
}

export function removeField(realm: Realm, id: number): void {
  realm.transaction((tx) => {
    findField(realm, id)
    forgetValues(realm, tx, id)
    tx.remove('profileField', id)
    publishFields(realm, tx)
  })
}

/** `ids` must contain every field once. */
export function orderFields(realm: Realm, ids: readonly number[]): void {
  realm.transaction((tx) => {
    const fields = fieldsOf(realm)
    if (new Set(ids).size !== ids.length || fields.some(({ id }) => !ids.includes(id)) || ids.length !== fields.length)
      throw badRequest('Invalid order mapping.')
    for (const field of fields) tx.put('profileField', { ...field, order: ids.indexOf(field.id) + 1 })
    publishFields(realm, tx)
  })
}

export function expectInSummary(type: FieldType, refused: readonly FieldType[]): void {
  if (refused.includes(type)) throw badRequest('Field type not supported for display in profile summary.')
}

function put(realm: Realm, tx: Transaction, field: ProfileField): void {
  for (const { id, name } of realm.state.profileField.all())
    if (id !== field.id && name === field.name) throw badRequest('A field with that label already exists.')
  if (field.inSummary) {
    expectInSummary(field.type, NOT_IN_SUMMARY)
    const others = fieldsOf(realm).filter(({ id, inSummary }) => inSummary && id !== field.id)
    if (others.length >= SUMMARY_FIELDS_MAX)
      throw badRequest('Only 2 custom profile fields can be displayed in the profile summary.')
  }
  tx.put('profileField', field)
  publishFields(realm, tx)
}

function publishFields(realm: Realm, tx: Transaction): void {
  const fields = fieldObjects(realm)
  tx.publish({ type: 'custom_profile_fields', to: 'everyone', make: () => ({ fields }) })
}

function named(type: FieldType, input: FieldInput, before?: ProfileField): Pick<ProfileField, 'name' | 'hint'> {
  const known = before === undefined && type === FIELD_TYPES.EXTERNAL_ACCOUNT.id && knownAccount(input.fieldData)
  if (known) return { name: known.name, hint: known.hint }
  const name = input.name?.trim() ?? before?.name ?? ''
  const hint = input.hint?.trim() ?? before?.hint ?? ''
  if (name === '') throw badRequest('Label cannot be blank.')
  if ([...name].length > NAME_CHARACTERS_MAX)
    throw invalidParameter('name', `name must have at most ${NAME_CHARACTERS_MAX} characters`)
  if ([...hint].length > HINT_CHARACTERS_MAX)
    throw invalidParameter('hint', `hint must have at most ${HINT_CHARACTERS_MAX} characters`)
  return { name, hint }
}

const KNOWN = z.looseObject({ subtype: z.string() })

function knownAccount(fieldData: unknown): { name: string; hint: string } | undefined {
  const parsed = KNOWN.safeParse(fieldData)
  const name = parsed.success ? parsed.data.subtype : ''
  return Object.hasOwn(DEFAULT_ACCOUNTS, name) ? DEFAULT_ACCOUNTS[name as keyof typeof DEFAULT_ACCOUNTS] : undefined
}

const LABEL = nameString().refine((text) => text.trim() !== '' && [...text].length <= CHOICE_CHARACTERS_MAX)
const CHOICES = z
  .record(z.string().regex(/^[\w-]{1,40}$/), z.strictObject({ text: LABEL, order: z.string().regex(/^\d{1,6}$/) }))
  .refine((input) => Object.keys(input).length > 0 && Object.keys(input).length <= CHOICES_MAX)
const ACCOUNT = z.union([
  z.strictObject({ subtype: z.literal('custom'), url_pattern: nameString() }),
  z.strictObject({ subtype: z.enum(Object.keys(DEFAULT_ACCOUNTS) as (keyof typeof DEFAULT_ACCOUNTS)[]) }),
])

/** Returns the data as stored. Throws `BAD_REQUEST`. */
function checkedData(type: FieldType, input: unknown): string {
  if (type === FIELD_TYPES.SELECT.id) {
    const parsed = CHOICES.safeParse(input)
    if (!parsed.success) throw badRequest('Field must have at least one choice.')
    const texts = Object.values(parsed.data).map(({ text }) => text)
    if (new Set(texts).size !== texts.length) throw badRequest('Field must not have duplicate choices.')
    return JSON.stringify(parsed.data)
  }
  if (type === FIELD_TYPES.EXTERNAL_ACCOUNT.id) {
    const parsed = ACCOUNT.safeParse(input)
    if (!parsed.success) throw badRequest('Invalid external account type')
    if (parsed.data.subtype === 'custom') expectAccountPattern(parsed.data.url_pattern)
    return JSON.stringify(parsed.data)
  }
  return ''
}
