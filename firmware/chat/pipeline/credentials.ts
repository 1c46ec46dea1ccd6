/** Credentials of requests. Contract section 1.2. */

import { type BasicCredentials, readBasic } from '../../http/endpoint/basic.ts'
import { missingParameter } from '../base/error.ts'

/** Reads `api_key` of an incoming webhook; it names no account. Throws `REQUEST_VARIABLE_MISSING`. */
export function readQueryKey(query: string): string {
  const key = new URLSearchParams(query).get('api_key')
  if (key === null) throw missingParameter('api_key')
  return key
}

/** Reads an email address and an API key. The address may end in a port with a colon; keys have no colon. */
export const readCredentials = (header: string | undefined): BasicCredentials | null =>
  readBasic(header, { colon: 'last', isPaddingOptional: true })
