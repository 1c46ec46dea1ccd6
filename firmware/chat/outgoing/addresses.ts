/**
 * Which IP addresses the chat may ask something of: none of this machine, none of the link alone, none of many at once, and
 * none that are another address in disguise. Private networks are not refused: whoever lists a host may mean one in there.
 */

import { BlockList, isIP } from 'node:net'

const REFUSED: readonly [network: string, prefix: number, family: 'ipv4' | 'ipv6'][] = [
  ['0.0.0.0', 8, 'ipv4'], // this host (RFC 1122 section 3.2.1.3)
  ['127.0.0.0', 8, 'ipv4'],
  ['169.254.0.0', 16, 'ipv4'], // of the link: RFC 3927; where clouds tell machines their secrets
  ['192.0.0.0', 24, 'ipv4'], // of protocols: RFC 6890
  ['224.0.0.0', 3, 'ipv4'], // multicast, reserved, broadcast
  ['::', 96, 'ipv6'], // unspecified, loopback, and IPv4 in a form that is no more (RFC 4291 section 2.5.5.1)
  ['::ffff:0:0', 96, 'ipv6'], // IPv4, mapped
  ['64:ff9b::', 96, 'ipv6'], // IPv4, translated: RFC 6052
  ['64:ff9b:1::', 48, 'ipv6'], // RFC 8215
  ['2001::', 32, 'ipv6'], // IPv4 inside: RFC 4380
  ['2002::', 16, 'ipv6'], // RFC 3056
  ['fe80::', 10, 'ipv6'], // of the link
  ['fec0::', 10, 'ipv6'], // of the site, once (RFC 3879)
  ['ff00::', 8, 'ipv6'], // multicast
]

/** One for each family: a list takes IPv4 addresses for the IPv6 ones that they are mapped to. */
const refused = { ipv4: new BlockList(), ipv6: new BlockList() }
for (const [network, prefix, family] of REFUSED) refused[family].addSubnet(network, prefix, family)

/** `own`: those that this machine has now. */
export function mayAsk(address: string, own: Iterable<string>): boolean {
  const family = isIP(address)
  if (family === 0) return false
  const mine = new BlockList()
  for (const one of own) mine.addAddress(one, isIP(one) === 6 ? 'ipv6' : 'ipv4')
  const name = family === 6 ? 'ipv6' : 'ipv4'
  return !refused[name].check(address, name) && !mine.check(address, name)
}
