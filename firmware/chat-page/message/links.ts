/** A link that an element may have; `safeLink` returns null for any other link. */
interface SafeLink {
  readonly href: string
  readonly isOwn: boolean
  readonly host: string
}

const PROTOCOLS: ReadonlySet<string> = new Set(['http:', 'https:', 'mailto:'])

export function safeLink(href: string, origin: string): SafeLink | null {
  if (!URL.canParse(href, origin)) return null
  const url = new URL(href, origin)
  if (!PROTOCOLS.has(url.protocol)) return null
  if (url.origin === origin && url.pathname === '/' && url.hash !== '')
    return { href: url.hash, isOwn: true, host: url.host }
  return { href: url.href, isOwn: false, host: url.host }
}

/** Address of an upload, emoji or avatar of this server; null for other addresses, which are never fetched. */
export function ownMedia(src: string, origin: string): string | null {
  if (!URL.canParse(src, origin)) return null
  const { origin: from, pathname, search } = new URL(src, origin)
  return from === origin && /^\/(user_uploads|user_avatars|static)\//.test(pathname) ? pathname + search : null
}

/** Host that the text of a link shows, if the text looks like an address. */
export function namedHost(text: string): string | null {
  const address = text.trim()
  const match =
    /^(?:[a-z][a-z0-9+.-]*:\/*)?(?:[^\s/@]*@)?((?:[\p{L}\p{N}-]+\.)+[\p{L}-]{2,}|\d+(?:\.\d+){3})(?=[:/?#\s]|$)/iu.exec(
      address,
    )
  const host = match?.[1]
  return host !== undefined && URL.canParse(`https://${host}`) ? new URL(`https://${host}`).host : null
}
