/** Basic credentials in the `authorization` header. RFC 7617. */

export interface BasicCredentials {
  readonly user: string
  /** Passes the decoded secret to `use` and wipes it afterward. Decodes on each call, because a request may wait long between checks. */
  withSecret<T>(use: (secret: Uint8Array) => T): T
}

interface BasicForm {
  /** The colon that ends the user name. RFC 7617 says the first; `last` is for user names with colons and secrets without. */
  colon: 'first' | 'last'
  isPaddingOptional?: boolean
}

const HEADER = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i
const COLON = 0x3a

const scratch = new Uint8Array(16_384) // larger than any header; allocating per request would cost more than decoding
const decoded = Buffer.from(scratch.buffer)

export function readBasic(header: string | undefined, form: BasicForm): BasicCredentials | null {
  const text = HEADER.exec(header ?? '')?.[1]
  if (text === undefined || (text.length * 3) / 4 > scratch.length) return null
  if (text.length % 4 !== 0 && form.isPaddingOptional !== true) return null
  const [colon, user] = withDecoded(text, (bytes) => {
    const at = form.colon === 'first' ? bytes.indexOf(COLON) : bytes.lastIndexOf(COLON)
    return [at, decoded.toString('utf8', 0, Math.max(at, 0))] as const
  })
  if (colon === -1) return null
  return { user, withSecret: (use) => withDecoded(text, (bytes) => use(bytes.subarray(colon + 1))) }
}

function withDecoded<T>(text: string, use: (bytes: Uint8Array) => T): T {
  const length = decoded.write(text, 'base64')
  try {
    return use(scratch.subarray(0, length))
  } finally {
    scratch.fill(0, 0, length)
  }
}
