/** Rejects network settings that would make the device unreachable. Contract section 4.7. */

import { isIPv4 } from 'node:net'
import { groupsOfIPv6 } from '../base/ip-address.ts'
import type { Network } from '../channel/protocol.ts'

interface NetworkRules {
  /** True where the settings are never applied. Nodes of a test cluster may then share one computer. */
  allowLoopback: boolean
}

const NONE = '0.0.0.0'
const BITS_V4 = 32n
const BITS_V6 = 128n

/** Describes the setting that would lock administrators out; null if there is none. Expects valid addresses and prefix lengths. */
export function networkProblem({ ipAddress, netmask, gateway, ipv6 }: Network, rules: NetworkRules): string | null {
  const prefix = prefixOf(netmask)
  const own = addressProblem('ipAddress', ipAddress, prefix, rules)
  if (own !== null) return own
  if (gateway !== NONE) {
    const problem = gatewayProblem('gateway', gateway, { address: ipAddress, prefix })
    if (problem !== null) return problem
  }
  if (ipv6 === undefined) return null
  const [address = '', bits = ''] = ipv6.cidr.split('/')
  const problem = addressProblem('ipv6.cidr', address, Number(bits), rules)
  if (problem !== null || ipv6.gateway === null) return problem
  // A router's link-local address is the usual IPv6 gateway, whatever the prefix (RFC 4861 section 4.2).
  if (isWithin(ipv6.gateway, 'fe80::', 10)) return null
  return gatewayProblem('ipv6.gateway', ipv6.gateway, { address, prefix: Number(bits) })
}

function addressProblem(name: string, address: string, prefix: number, { allowLoopback }: NetworkRules): string | null {
  if (isWithin(address, '0.0.0.0', 8) || isAllZeros(address)) return `${name}: must be an address of its own`
  if (!allowLoopback && isLoopback(address)) return `${name}: must not be a loopback address`
  return hostProblem(name, address, prefix)
}

function gatewayProblem(name: string, gateway: string, own: { address: string; prefix: number }): string | null {
  if (!isWithin(gateway, own.address, own.prefix)) return `${name}: must be within the network of the address`
  if (toNumber(gateway) === toNumber(own.address)) return `${name}: must not be the address itself`
  return hostProblem(name, gateway, own.prefix)
}

/** Rejects multicast addresses, and in IPv4 the first and last address of the network. */
function hostProblem(name: string, address: string, prefix: number): string | null {
  const isMulticast = isIPv4(address) ? isWithin(address, '224.0.0.0', 4) : isWithin(address, 'ff00::', 8)
  if (isMulticast) return `${name}: must not be a multicast address`
  if (isWithin(address, '240.0.0.0', 4)) return `${name}: must not be a reserved or broadcast address`
  if (!isIPv4(address) || prefix > 30) return null // RFC 3021: both addresses of a /31 network are hosts
  const hosts = (1n << (BITS_V4 - BigInt(prefix))) - 1n
  const host = toNumber(address) & hosts
  if (host === 0n) return `${name}: must not be the address of the network`
  return host === hosts ? `${name}: must not be the broadcast address of the network` : null
}

const isLoopback = (address: string): boolean => isWithin(address, '127.0.0.0', 8) || isWithin(address, '::1', 128)

const isAllZeros = (address: string): boolean => toNumber(address) === 0n

function isWithin(address: string, network: string, prefix: number): boolean {
  if (isIPv4(address) !== isIPv4(network)) return false
  const rest = (isIPv4(address) ? BITS_V4 : BITS_V6) - BigInt(prefix)
  return toNumber(address) >> rest === toNumber(network) >> rest
}

function toNumber(address: string): bigint {
  if (isIPv4(address)) return address.split('.').reduce((value, byte) => (value << 8n) | BigInt(byte), 0n)
  return groupsOfIPv6(address).reduce((value, group) => (value << 16n) | BigInt(`0x${group}`), 0n)
}

const prefixOf = (netmask: string): number => toNumber(netmask).toString(2).replaceAll('0', '').length
