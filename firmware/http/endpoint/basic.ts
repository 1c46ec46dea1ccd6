/** Basic credentials in the `authorization` header. RFC 7617. */

export interface BasicCredentials {
  readonly user: string
  /** Lends `use` the secret, which is wiped when `use` returns. Decodes it each time, since attempts may wait for each other. */
  withSecret<T>(use: (secret: Uint8Array) => T): T
}

interface BasicForm {
  /** The one that ends the user: the first by RFC 7617, the last where the user may have colons and the secret has none. */
  colon: 'first' | 'last'
  /** Base64 without its padding is taken, too. */
  isPaddingOptional?: boolean
}

const HEADER = /^basic +([A-Za-z0-9+/]+={0,2}) *$/i
const COLON = 0x3a

const scratch = new Uint8Array(16_384) // more than headers hold; new memory with each request costs more than decoding
const decoded = Buffer.from(scratch.buffer)

/** Null for a header that holds no Basic credentials. */
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
