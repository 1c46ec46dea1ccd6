/** The cookie of page sessions, named with a prefix of RFC 6265bis section 4.1.3.2. Contract section 1.2.1. */

const NAME = '__Host-Http-coffer'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'
const DAY_S = 86_400

type Header = (name: string) => string | undefined

/**
 * Returns null without the cookie, or if another origin's page made the request (W3C Fetch Metadata section 2.4). Media may also be opened
 * by their address. Cookies are not bound to a port: other services of the host can read and set this one.
 */
export function readSessionCookie(header: Header, isMedia: boolean): string | null {
  const site = header('sec-fetch-site')
  if (site !== 'same-origin' && !(isMedia && site === 'none')) return null
  return /(?:^|; *)__Host-Http-coffer=([^;]*)/.exec(header('cookie') ?? '')?.[1] ?? null
}

/** `days`: lifetime in the browser; null ends it when the browser closes. */
export const sessionCookie = (secret: string, days: number | null): string =>
  `${NAME}=${secret}; ${ATTRIBUTES}${days === null ? '' : `; Max-Age=${days * DAY_S}`}`

/** Headers of the last answer of a session: the browser removes the cookie and all data stored by the page. */
export const EXPIRY_HEADERS: Readonly<Record<string, string>> = {
  'set-cookie': `${NAME}=; ${ATTRIBUTES}; Max-Age=0`,
  'clear-site-data': '"cache", "storage"',
}
