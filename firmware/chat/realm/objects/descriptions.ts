/** Descriptions of channels, channel folders and user groups. Contract section 9. */

import { badRequest } from '../../base/error.ts'

export const DESCRIPTION_CHARACTERS_MAX = 1024

/** Trims. Throws `BAD_REQUEST` if the description is too long. */
export function checkedDescription(input: string): string {
  const description = input.trim()
  if ([...description].length > DESCRIPTION_CHARACTERS_MAX)
    throw badRequest(`description is too long (limit: ${DESCRIPTION_CHARACTERS_MAX} characters)`)
  return description
}
