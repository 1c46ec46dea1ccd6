/** Reads what arrives from the firmware: its process meets the network, so its messages are checked like any input. */

import { isIPv4, isIPv6 } from 'node:net'
import { printable } from '../base/printable.ts'
import { STATES } from '../base/states.ts'
import { isEtcdName, isPeerUrl, PEERS_MAX, PEM_BYTES_MAX, URLS_MAX } from './etcd-texts.ts'
import {
  type EtcdLaunch,
  type EtcdPeer,
  type EtcdStep,
  type EtcdTls,
  type Network,
  type Ntp,
  SLOT_WRITE_BYTES_MAX,
  type SlotStep,
  type ToBoot,
} from './protocol.ts'

const RESULTS = ['unlocked', 'wrong', 'tooManyAttempts', 'notLocked', 'failed'] as const
const TEXT_CHARACTERS_MAX = 2000 // what is left of it goes on the console and into records of ours
const FINGERPRINT = /^sha256\/\/[A-Za-z0-9+/]{43}=$/
const ACTIONS = ['reboot', 'shutdown', 'factoryReset'] as const
const WISHES = ['running', 'fresh', 'none'] as const

/** The message, rebuilt from its checked members with printable texts, or null when it is none of the protocol's. */
export function readMessage(value: unknown): ToBoot | null {
  if (typeof value !== 'object' || value === null || !('type' in value)) return null
  const members = value as Record<string, unknown>
  switch (members.type) {
    case 'listening': {
      const { address, port } = members
      return typeof address === 'string' && Number.isInteger(port)
        ? { type: 'listening', address: readText(address), port: port as number }
        : null
    }
    case 'state': {
      const state = STATES.find((state) => state === members.state)
      return state === undefined ? null : { type: 'state', state, ...optionalText('reason', members.reason) }
    }
    case 'unlockResult': {
      const result = RESULTS.find((result) => result === members.result)
      return result === undefined ? null : { type: 'unlockResult', result, ...optionalText('message', members.message) }
    }
    case 'refused':
      return typeof members.reason === 'string' ? { type: 'refused', reason: readText(members.reason) } : null
    case 'request': {
      const action = ACTIONS.find((action) => action === members.action)
      return action === undefined ? null : { type: 'request', action }
    }
    case 'slot': {
      const step = readStep(members.step)
      return step === null ? null : { type: 'slot', step }
    }
    case 'network': {
      const network = readNetwork(members.network)
      return network === null ? null : { type: 'network', network }
    }
    case 'ntp': {
      const ntp = readNtp(members.ntp)
      return ntp === null ? null : { type: 'ntp', ntp }
    }
    case 'tlsKey': {
      const { fingerprint } = members
      return typeof fingerprint === 'string' && FINGERPRINT.test(fingerprint) ? { type: 'tlsKey', fingerprint } : null
    }
    case 'kept': {
      const { count } = members
      return Number.isSafeInteger(count) ? { type: 'kept', count: count as number } : null
    }
    case 'chat':
    case 'outgoing': {
      const wanted = WISHES.find((wish) => wish === members.wanted)
      return wanted === undefined ? null : { type: members.type, wanted }
    }
    case 'etcd': {
      const step = readEtcdStep(members.step)
      return step === null ? null : { type: 'etcd', step }
    }
    case 'pong':
      return { type: 'pong' }
    default:
      return null
  }
}

function readStep(value: unknown): SlotStep | null {
  if (typeof value !== 'object' || value === null || !('do' in value)) return null
  const { do: what, manifest, signature, name, bytes } = value as Record<string, unknown>
  switch (what) {
    case 'begin':
      return isPiece(manifest) && isPiece(signature) ? { do: 'begin', manifest, signature } : null
    case 'write':
      return typeof name === 'string' && isPiece(bytes) ? { do: 'write', name, bytes } : null
    case 'finish':
    case 'activate':
    case 'discard':
      return { do: what }
    default:
      return null
  }
}

const isPiece = (value: unknown): value is Uint8Array =>
  value instanceof Uint8Array && value.length <= SLOT_WRITE_BYTES_MAX

const HOWS = ['create', 'join', 'run'] as const

function readEtcdStep(value: unknown): EtcdStep | null {
  if (typeof value !== 'object' || value === null || !('do' in value)) return null
  const { do: what, start } = value as Record<string, unknown>
  switch (what) {
    case 'run': {
      const read = readEtcdLaunch(start)
      return read === null ? null : { do: 'run', start: read }
    }
    case 'stop':
    case 'erase':
    case 'look':
      return { do: what }
    default:
      return null
  }
}

/** Its texts become arguments of a program. Members do not meet without TLS but in tests, which do not come this way. */
function readEtcdLaunch(value: unknown): EtcdLaunch | null {
  const { how: asked, name, peerUrl, members, token, tls } = (value ?? {}) as Record<string, unknown>
  const how = HOWS.find((how) => how === asked)
  const peers = readPeers(members)
  const files = readEtcdTls(tls)
  if (how === undefined || peers === null || files === null) return null
  if (!isEtcdName(name) || !isEtcdName(token) || !isPeerUrl(peerUrl)) return null
  return { how, name, peerUrl, members: peers, token, tls: files }
}

function readPeers(value: unknown): EtcdPeer[] | null {
  if (!Array.isArray(value) || value.length > PEERS_MAX) return null
  const peers: EtcdPeer[] = []
  for (const peer of value) {
    const { name, urls } = (peer ?? {}) as Record<string, unknown>
    if (!isEtcdName(name) || !Array.isArray(urls) || urls.length > URLS_MAX || !urls.every(isPeerUrl)) return null
    peers.push({ name, urls: [...urls] })
  }
  return peers
}

function readEtcdTls(value: unknown): EtcdTls | null {
  const { certificate, key, authority } = (value ?? {}) as Record<string, unknown>
  return isPem(certificate) && isPem(key) && isPem(authority) ? { certificate, key, authority } : null
}

const isPem = (value: unknown): value is Uint8Array => value instanceof Uint8Array && value.length <= PEM_BYTES_MAX

/** The platform hands these texts to the system. */
function readNetwork(value: unknown): Network | null {
  if (typeof value !== 'object' || value === null) return null
  const { ipAddress, netmask, gateway, ipv6 } = value as Record<string, unknown>
  if (!isAddress(ipAddress) || !isAddress(netmask) || !isAddress(gateway)) return null
  if (ipv6 === undefined) return { ipAddress, netmask, gateway }
  const { cidr, gateway: gateway6 } = (ipv6 ?? {}) as Record<string, unknown>
  const [, address = ''] =
    typeof cidr === 'string' ? (/^([0-9A-Fa-f:.]+)\/(?:\d|[1-9]\d|1[01]\d|12[0-8])$/.exec(cidr) ?? []) : []
  if (!isIPv6(address) || !(gateway6 === null || isAddress6(gateway6))) return null
  return { ipAddress, netmask, gateway, ipv6: { cidr: cidr as string, gateway: gateway6 } }
}

const HOST_NAME = /^[A-Za-z0-9][A-Za-z0-9.-]{0,252}$/

function readNtp(value: unknown): Ntp | null {
  if (typeof value !== 'object' || value === null) return null
  const { ntpIP, ntsName } = value as Record<string, unknown>
  if (ntpIP !== undefined && !isAddress(ntpIP) && !isAddress6(ntpIP)) return null
  if (ntsName !== undefined && !(typeof ntsName === 'string' && HOST_NAME.test(ntsName))) return null
  return { ...(ntpIP !== undefined && { ntpIP }), ...(ntsName !== undefined && { ntsName }) }
}

const isAddress = (value: unknown): value is string => typeof value === 'string' && isIPv4(value)
const isAddress6 = (value: unknown): value is string =>
  typeof value === 'string' && isIPv6(value) && !value.includes('%') // a zone is text of any kind

const readText = (text: string): string => printable(text.slice(0, TEXT_CHARACTERS_MAX))

const optionalText = <Name extends string>(name: Name, value: unknown): { [N in Name]?: string } =>
  typeof value === 'string' ? ({ [name]: readText(value) } as { [N in Name]: string }) : {}
