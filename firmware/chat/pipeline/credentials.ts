/** The `authorization` header: an account's address and one of its keys. RFC 7617; contract section 1.2. */

import { missingParameter } from '../base/error.ts'

export interface ChatCredentials {
  email: string
  key: string
}

/** `api_key` of an incoming webhook, which names no account. Throws `REQUEST_VARIABLE_MISSING`. */
export function readQueryKey(query: string): ChatCredentials {
  const key = new URLSearchParams(query).get('api_key')
  if (key === null) throw missingParameter('api_key')
  return { email: '', key }
}

/** Null when the header is none, or no Basic credentials. */
export function readBasic(header: string | undefined): ChatCredentials | null {
  const encoded = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.lastIndexOf(':') // keys have none, and the address may end in the port that was asked
  return colon === -1 ? null : { email: text.slice(0, colon), key: text.slice(colon + 1) }
}
