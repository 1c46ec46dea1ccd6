/** The cookie of the page's sessions: RFC 6265bis section 4.1.3.2 for the prefix of its name. Contract section 1.2.1. */

const NAME = '__Host-Http-coffer'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'
const DAY_S = 86_400

type Header = (name: string) => string | undefined

/**
 * Null where the request has no such cookie, or no page of this origin made it (W3C Fetch Metadata section 2.4). Media may
 * also be opened by their address. A cookie is not bound to a port, so other services of the host can read and set it.
 */
export function readSessionCookie(header: Header, isMedia: boolean): string | null {
  const site = header('sec-fetch-site')
  if (site !== 'same-origin' && !(isMedia && site === 'none')) return null
  return /(?:^|; *)__Host-Http-coffer=([^;]*)/.exec(header('cookie') ?? '')?.[1] ?? null
}

/** The browser keeps it for so many days; null: until it is closed. */
export const sessionCookie = (secret: string, days: number | null): string =>
  `${NAME}=${secret}; ${ATTRIBUTES}${days === null ? '' : `; Max-Age=${days * DAY_S}`}`

/** With the last answer to a session: the browser removes the cookie and everything that the page stored. */
export const EXPIRY_HEADERS: Readonly<Record<string, string>> = {
  'set-cookie': `${NAME}=; ${ATTRIBUTES}; Max-Age=0`,
  'clear-site-data': '"cache", "storage"',
}
