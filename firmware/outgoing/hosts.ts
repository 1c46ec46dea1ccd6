/** Decides whether a URL leads to one of the listed hosts: `host` at the default port of its scheme, or `host:port`. Names of loopback. */

import { canonicalIPv6, ipVersion } from '../base/ip-address.ts'
import { OutgoingError } from './error.ts'

/** Returns the URL in its normal form, which is ASCII. Throws `OutgoingError`. */
export function expectListed(url: string, hosts: readonly string[]): string {
  const parsed = URL.parse(url)
  if (parsed === null || !isListed(parsed, hosts))
    throw new OutgoingError('the administrator of the server has not listed its host', true)
  return parsed.href
}

function isListed({ protocol, host, hostname, port }: URL, hosts: readonly string[]): boolean {
  if (protocol !== 'https:' && protocol !== 'http:') return false
  return hosts.includes(withoutDot(port === '' ? hostname : host))
}

/** Names of this computer, with their addresses. */
const LOOPBACK: ReadonlyMap<string, readonly string[]> = new Map([
  ['localhost', ['127.0.0.1', '::1']],
  ['127.0.0.1', ['127.0.0.1']],
  ['::1', ['::1']],
])

/** Addresses of a host that is this computer by its name; undefined for others. */
export const loopbackOf = (host: string): readonly string[] | undefined =>
  LOOPBACK.get(ipVersion(host) === 6 ? canonicalIPv6(host) : host)

/** A name with a trailing dot is the same host. */
export const withoutDot = (host: string): string => host.replace(/\.(?=$|:\d+$)/, '')
