/**
 * Refuses requests that a foreign web page makes through a user's browser, which may be on the same network and have stored credentials.
 * W3C Fetch Metadata Request Headers section 2.4; `origin`: RFC 6454 section 7. Contract section 7.1.
 */

import { CofferError } from '../../base/error.ts'

type Header = (name: string) => string | undefined

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE'])

/** `none`: typed or bookmarked by the user. Other hosts of the same site count as foreign. */
const OWN_SITES: ReadonlySet<string> = new Set(['same-origin', 'none'])

/** Throws `forbidden`. Clients other than browsers send neither header. */
export function refuseForeignPage(method: string, header: Header): void {
  if (SAFE.has(method)) return
  const site = header('sec-fetch-site')
  const origin = header('origin')
  const isOwn = (site === undefined || OWN_SITES.has(site)) && (origin === undefined || isOwnOrigin(origin, header))
  if (!isOwn) throw new CofferError('forbidden', 'Pages of other origins may not do this')
}

/** `null`, an opaque origin, is not a URL. */
function isOwnOrigin(origin: string, header: Header): boolean {
  const own = `https://${header('host') ?? ''}`
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).origin === new URL(own).origin
}
