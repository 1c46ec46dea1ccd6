/**
 * Decides which IP addresses outgoing requests may reach: not this machine, not link-local or multicast addresses, and no address that
 * embeds another one. Private networks are allowed, because the operator may list a host there.
 */

import { BlockList } from 'node:net'
import { groupsOfIPv6, ipVersion } from '../base/ip-address.ts'

const REFUSED: readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'], // this host (RFC 1122 section 3.2.1.3)
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'], // link-local: RFC 3927; cloud providers serve machine credentials there
  ['192.0.0.0', 24, 'ipv4'], // protocol assignments: RFC 6890
  ['224.0.0.0', 3, 'ipv4'], // multicast, reserved, broadcast
  ['::', 96, 'ipv6'], // unspecified, loopback, and deprecated IPv4-compatible addresses (RFC 4291 section 2.5.5.1)
  ['::ffff:0:0', 96, 'ipv6'], // IPv4-mapped
  ['::ffff:0:0:0', 96, 'ipv6'], // IPv4-translated: RFC 2765 (SIIT)
  ['64:ff9b::', 96, 'ipv6'], // NAT64: RFC 6052
  ['64:ff9b:1::', 48, 'ipv6'], // NAT64 of a site: RFC 8215
  ['2001::', 32, 'ipv6'], // Teredo, embeds IPv4: RFC 4380
  ['2002::', 16, 'ipv6'], // 6to4, embeds IPv4: RFC 3056
  ['fe80::', 10, 'ipv6'], // link-local
  ['fec0::', 10, 'ipv6'], // site-local, deprecated (RFC 3879)
  ['ff00::', 8, 'ipv6'], // multicast
]

/** One list for each family, because a BlockList applies IPv4 rules to IPv4-mapped IPv6 addresses. */
const refused = { ipv4: new BlockList(), ipv6: new BlockList() }
for (const [network, prefix, family] of REFUSED) refused[family].addSubnet(network, prefix, family)

/** `own`: current addresses of this machine. */
export function mayAsk(address: string, own: Iterable<string>): boolean {
  const version = ipVersion(address)
  if (version === 0 || (version === 6 && isIsatap(address))) return false
  const mine = new BlockList()
  for (const one of own) mine.addAddress(one, familyOf(one))
  const family = familyOf(address)
  return !refused[family].check(address, family) && !mine.check(address, family)
}

export const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4')

/** The interface identifier of any network may embed an IPv4 address: RFC 5214 section 6.1. */
function isIsatap(address: string): boolean {
  const groups = groupsOfIPv6(address)
  return groups[5] === '5efe' && ['0', '200'].includes(groups[4] as string)
}
