/** Types of custom profile fields. Contract section 2.5. */

import { badRequest } from '../../../base/error.ts'
import type { Realm } from '../../model/realm.ts'
import type { ProfileField } from '../../model/records.ts'

/** `custom_profile_field_types` of the register answer. */
export const FIELD_TYPES = {
  SHORT_TEXT: { id: 1, name: 'Text (short)' },
  LONG_TEXT: { id: 2, name: 'Text (long)' },
  SELECT: { id: 3, name: 'List of options' },
  DATE: { id: 4, name: 'Date' },
  URL: { id: 5, name: 'Link' },
  USER: { id: 6, name: 'Users' },
  EXTERNAL_ACCOUNT: { id: 7, name: 'External account' },
  PRONOUNS: { id: 8, name: 'Pronouns' },
} as const
export type FieldType = ProfileField['type']

export const choicesOf = ({ fieldData }: ProfileField): Set<string> => new Set(Object.keys(JSON.parse(fieldData)))

/** Throws `BAD_REQUEST`. */
export function findField({ state }: Realm, id: number): ProfileField {
  const field = state.profileField.get(id)
  if (field === undefined) throw badRequest(`Field id ${id} not found.`)
  return field
}
