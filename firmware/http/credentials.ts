/** The `authorization` header. RFC 7617; contract sections 1.7 and 7.2. */

import { readBase64 } from './base64.ts'
import { USER_ID_PATTERN } from './schema.ts'

export interface Credentials {
  userId: string
  /** To be wiped by whoever reads the header. */
  passphrase: Uint8Array
}

const COLON = 0x3a

/** Null when the header is no Basic credentials of a well-formed user id. */
export function readBasic(header: string | undefined): Credentials | null {
  const match = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')
  if (match === null) return null
  const bytes = readBase64(match[1]!)
  if (bytes === null) return null
  const colon = bytes.indexOf(COLON)
  const userId = colon === -1 ? '' : Buffer.from(bytes.buffer, 0, colon).toString('latin1')
  if (!USER_ID_PATTERN.test(userId)) {
    bytes.fill(0)
    return null
  }
  return { userId, passphrase: bytes.subarray(colon + 1) }
}
