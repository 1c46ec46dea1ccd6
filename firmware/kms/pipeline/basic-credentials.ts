/** The `authorization` header. RFC 7617; contract sections 1.7 and 7.2. */

import { readBase64Into } from '../../base/base64.ts'
import { USER_ID_PATTERN } from '../domain/identifiers.ts'

export interface BasicCredentials {
  userId: string
  /** Gives `use` the passphrase, which is wiped when it returns. Decodes it anew, for attempts may wait for each other. */
  withPassphrase<T>(use: (passphrase: Uint8Array) => T): T
}

const COLON = 0x3a

const scratch = new Uint8Array(16_384) // more than headers hold; new memory with each request costs more than decoding
const characters = Buffer.from(scratch.buffer)

/** Null when the header is no Basic credentials of a well-formed user id. */
export function readBasic(header: string | undefined): BasicCredentials | null {
  const text = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i.exec(header ?? '')?.[1]
  if (text === undefined) return null
  const userId = withDecoded(text, (bytes) => {
    const colon = bytes?.indexOf(COLON) ?? -1
    return colon === -1 ? '' : characters.toString('latin1', 0, colon)
  })
  if (!USER_ID_PATTERN.test(userId)) return null
  return { userId, withPassphrase: (use) => withDecoded(text, (bytes) => use(bytes!.subarray(userId.length + 1))) }
}

/** Null instead of what is not base64. */
function withDecoded<T>(text: string, use: (bytes: Uint8Array | null) => T): T {
  const length = readBase64Into(text, scratch)
  try {
    return use(length === null ? null : scratch.subarray(0, length))
  } finally {
    scratch.fill(0, 0, length ?? scratch.length)
  }
}
