/** Certificates that Coffer makes itself name all that clients reach its ports by. Contract sections 2 and 3.4. */

import { BlockList } from 'node:net'
import { networkInterfaces } from 'node:os'
import type { Appliance } from './appliance/appliance.ts'
import { CofferError } from './base/error.ts'
import { asAlternativeName } from './base/ip-address.ts'
import type { Log } from './base/log.ts'
import { runDetached } from './base/request-authorization.ts'
import type { Network } from './channel/protocol.ts'
import type { Operational } from './kms/domain/operational.ts'

const NAMES_MAX = 64 // a handshake carries them all; a machine of many networks has more addresses than clients use

const EVERYWHERE = new Set(['0.0.0.0', '::'])
const LOOPBACK = ['localhost', 'IP:127.0.0.1', 'IP:::1']

/** Addresses that mean nothing beyond one link: RFC 4291 section 2.5.6, RFC 3927. */
const LINK_LOCAL = new BlockList()
LINK_LOCAL.addSubnet('fe80::', 10, 'ipv6')
LINK_LOCAL.addSubnet('169.254.0.0', 16, 'ipv4')

interface Reach {
  host: string
  /** The settings of a device; on a host the system has its own addresses and may ignore them. */
  network: Network | null
  /** The host in the address of the organization. */
  chatHost: string | null
}

/** As `alternativeNames` takes them. */
export function reachNames({ host, network, chatHost }: Reach): string[] {
  const addresses = EVERYWHERE.has(host)
    ? [...machineAddresses(), ...(network === null ? [] : addressesOf(network))]
    : [host.replace(/%.*$/, '')] // without its zone
  const others = chatHost === null ? addresses : [chatHost, ...addresses]
  return [...new Set([...LOOPBACK, ...others.map(asAlternativeName)])].slice(0, NAMES_MAX)
}

const machineAddresses = (): string[] =>
  Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .filter(
      ({ internal, address, family }) => !internal && !LINK_LOCAL.check(address, family === 'IPv6' ? 'ipv6' : 'ipv4'),
    )
    .map(({ address }) => address)

const addressesOf = ({ ipAddress, ipv6 }: Network): string[] =>
  ipv6 === undefined ? [ipAddress] : [ipAddress, ipv6.cidr.replace(/\/.*$/, '')]

/** From now on, also after each change of the network, of the organization's address, and of the certificates themselves. */
export function keepCertificateNames(
  { configuration }: Pick<Appliance<Operational>, 'configuration'>,
  { host, log }: { host: string; log: Log },
): void {
  const keep = async (): Promise<void> => {
    const names = reachNames({ host, network: configuration.network, chatHost: configuration.chatHost })
    for (const tls of [configuration.tls, configuration.chatTls]) {
      tls.names = names
      await tls.keepNames()
    }
  }
  const keepAlone = () =>
    void runDetached(keep).catch((error) => {
      if (!(error instanceof CofferError)) throw error
      log.warning('general', `cannot renew a certificate for all names: ${error.message}`)
    })
  configuration.onChange((part) => {
    if (part === 'tls' || part === 'chatTls' || part === 'network' || part === 'chatHost') keepAlone()
  })
  keepAlone()
}
