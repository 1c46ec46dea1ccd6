import { type BasicCredentials, readBasic } from '../../http/endpoint/basic.ts'
import { USER_ID_PATTERN } from '../domain/identifiers.ts'

/** Returns null unless the header has Basic credentials with a well-formed user id. Contract section 7.2. */
export function readCredentials(header: string | undefined): BasicCredentials | null {
  const credentials = readBasic(header, { colon: 'first' })
  return credentials !== null && USER_ID_PATTERN.test(credentials.user) ? credentials : null
}
