/** Texts of IP addresses. RFC 5952. */

import { isIP } from 'node:net'

/** Returns 0 for other texts, also for an address with a zone: a zone has no meaning on other machines (RFC 4007 section 6). */
export const ipVersion = (text: string): number => (text.includes('%') ? 0 : isIP(text))

/** A host name or address in the form of `subjectAltNames` (crypto/encoding/csr.ts). */
export const asAlternativeName = (host: string): string => (isIP(host) === 0 ? host : `IP:${host}`)

/** Canonical form of a valid address without a zone; embedded IPv4 addresses become hexadecimal. */
export const canonicalIPv6 = (address: string): string => new URL(`http://[${address}]`).hostname.slice(1, -1)

const GROUPS = 8

/** The eight groups in hexadecimal, without leading zeros. */
export function groupsOfIPv6(address: string): string[] {
  const [head = '', tail = ''] = canonicalIPv6(address).split('::')
  const [before, after] = [head, tail].map((text) => text.split(':').filter(Boolean)) as [string[], string[]]
  return [...before, ...Array<string>(GROUPS - before.length - after.length).fill('0'), ...after]
}
