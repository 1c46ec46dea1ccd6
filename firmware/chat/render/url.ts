/** Addresses in links. Contract 6.2; parsed by RFC 3986, appendix B. */

/** Schemes that the HTML standard lets pages register handlers for, and those of files. */
const SCHEMES = new Set(
  (
    'http https ftp file bitcoin geo im irc ircs magnet mailto matrix mms news nntp openpgp4fpr sip sms smsto ssh tel ' +
    'urn webcal wtai xmpp'
  ).split(' '),
)

/** Schemes whose addresses have a host, even an empty one. */
const WITH_HOST = new Set(['http', 'https', 'ftp', 'file', 'mms', 'nntp'])

interface Url {
  scheme: string
  host: string
  path: string
  query: string
  fragment: string
}

/** @returns null for an invalid host. */
export function parseUrl(text: string): Url | null {
  // Browsers drop these characters, so a scheme could hide behind them.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what has to go
  const clean = text.replace(/^[\x00-\x20]+/, '').replace(/[\t\r\n]/g, '')
  const parts = /^(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/s.exec(clean)!
  const [, scheme = '', host = '', path = '', query = '', fragment = ''] = parts
  if (host.includes('[') !== host.includes(']')) return null
  if (/[/?#@:]/.test(host.replace(/[@:#?]/g, '').normalize('NFKC'))) return null
  return { scheme: scheme.toLowerCase(), host, path, query, fragment }
}

export function formatUrl({ scheme, host, path, query, fragment }: Url): string {
  let text = path
  if (host !== '' || (WITH_HOST.has(scheme) && !path.startsWith('//')))
    text = `//${host}${path !== '' && !path.startsWith('/') ? '/' : ''}${path}`
  if (scheme !== '') text = `${scheme}:${text}`
  if (query !== '') text += `?${query}`
  return fragment === '' ? text : `${text}#${fragment}`
}

/** Normalizes an address for a link; null if it is invalid or its scheme is not allowed. */
export function linkAddress(text: string): string | null {
  const url = parseUrl(text.replaceAll(' ', '%20'))
  if (url === null) return null
  if (url.scheme === '' && url.host === '') {
    if (url.path.includes('@')) return formatUrl({ ...url, scheme: 'mailto' })
    if (url.path.startsWith('/') || (url.path === '' && url.query === '' && url.fragment !== '')) return formatUrl(url)
  }
  if (url.scheme === '') return linkAddress(`http://${text}`)
  return SCHEMES.has(url.scheme) ? formatUrl(url) : null
}

/**
 * The single definition of the organization's own addresses: relative ones, and those at `realmUrl`, which is "" until it is known. Returns
 * the part after the host without leading slash; null for a foreign address.
 */
export function insidePath(address: string, realmUrl: string): string | null {
  const url = parseUrl(address)
  if (url === null) return null
  if (url.scheme !== '' || url.host !== '') {
    const realm = parseUrl(realmUrl)
    if (realm === null || realm.host === '' || (url.scheme !== '' && url.scheme !== realm.scheme)) return null
    if (authority(url.host, realm.scheme) !== authority(realm.host, realm.scheme)) return null
  }
  return formatUrl({ ...url, scheme: '', host: '' }).replace(/^\//, '')
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { http: ':80', https: ':443' }

function authority(host: string, scheme: string): string {
  const port = DEFAULT_PORTS[scheme] ?? ''
  const lower = host.toLowerCase()
  return port !== '' && lower.endsWith(port) ? lower.slice(0, -port.length) : lower
}

/** Makes links into the organization relative, so that they open in the client that shows them. */
export function relativeAddress(address: string, realmUrl: string): string {
  if (!/^(?:[a-z][a-z0-9+.-]*:|\/\/)/i.test(address)) return address
  const inside = insidePath(address, realmUrl)
  return inside !== null && /^(?:#|user_uploads\/)/.test(inside) ? inside : address
}
