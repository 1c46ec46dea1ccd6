/** Decides whether a URL leads to one of the listed hosts: `host` at the default port of its scheme, or `host:port`. */

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
  const [listed, bare] = [host, hostname].map(withoutDot)
  return hosts.includes(port === '' ? bare! : listed!)
}

/** A name with a trailing dot is the same host. */
const withoutDot = (host: string): string => host.replace(/\.(?=$|:\d+$)/, '')
