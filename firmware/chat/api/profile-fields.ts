/** Custom profile fields, which administrators define, and the caller's values. Contract rows E86 and E117. */

import { z } from 'zod'
import { boolean, integer, integers, json, nameText } from '../pipeline/parameters.ts'
import {
  addField,
  changeField,
  fieldObjects,
  orderFields,
  removeField,
} from '../realm/organization/users/profile-fields.ts'
import { FIELD_TYPES, type FieldType } from '../realm/organization/users/profile-types.ts'
import { changeProfile, givenValues, removeValues, VALUES_MAX } from '../realm/organization/users/profile-values.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const ONE = { path: '/realm/profile_fields/:field_id', segments: { field_id: integer() } } as const

const TYPES = Object.values(FIELD_TYPES).map(({ id }) => id)

const properties = {
  name: nameText().optional(),
  hint: nameText().optional(),
  field_data: json(z.record(z.string(), z.unknown())).optional(),
  display_in_profile_summary: boolean().optional(),
  required: boolean().optional(),
  editable_by_user: boolean().optional(),
}
type Properties = {
  name: string | undefined
  hint: string | undefined
  field_data: unknown
  display_in_profile_summary: boolean | undefined
  required: boolean | undefined
  editable_by_user: boolean | undefined
}

const fieldOf = (input: Properties) => ({
  name: input.name,
  hint: input.hint,
  fieldData: input.field_data,
  inSummary: input.display_in_profile_summary,
  isRequired: input.required,
  isEditable: input.editable_by_user,
})

export const profileFieldDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/realm/profile_fields',
    who: 'account',
    handle: ({ realm }) => ({ custom_fields: fieldObjects(realm) }),
  }),
  declare({
    method: 'POST',
    path: '/realm/profile_fields',
    who: 'administrator',
    parameters: { field_type: json(z.literal(TYPES)), ...properties },
    handle: ({ realm, input }) => ({ id: addField(realm, input.field_type as FieldType, fieldOf(input)) }),
  }),
  declare({
    method: 'PATCH',
    path: '/realm/profile_fields',
    who: 'administrator',
    parameters: { order: integers() },
    handle: ({ realm, input }) => {
      orderFields(realm, input.order)
      return {}
    },
  }),
  declare({
    method: 'PATCH',
    ...ONE,
    who: 'administrator',
    parameters: properties,
    handle: ({ realm, path, input }) => {
      changeField(realm, path.field_id, fieldOf(input))
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    ...ONE,
    who: 'administrator',
    handle: ({ realm, path }) => {
      removeField(realm, path.field_id)
      return {}
    },
  }),
  declare({
    method: 'PATCH',
    path: '/users/me/profile_data',
    who: 'human',
    parameters: { data: json(givenValues) },
    handle: ({ realm, me, input }) => {
      realm.transaction((turn) => changeProfile(realm, turn, me, me, input.data))
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/users/me/profile_data',
    who: 'human',
    parameters: { data: integers().where((ids) => ids.length <= VALUES_MAX, `must have at most ${VALUES_MAX} ids`) },
    handle: ({ realm, me, input }) => {
      realm.transaction((turn) => removeValues(realm, turn, me, input.data))
      return {}
    },
  }),
]
