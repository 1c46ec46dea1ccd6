/** The settings of a device as a NetHSM stores them, and as we do. Contract section 8.2. */

import { X509Certificate } from 'node:crypto'
import { isIP, isIPv4, isIPv6 } from 'node:net'
import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { CofferError } from '../../base/error.ts'
import { wipe } from '../../base/secret.ts'
import type { Network } from '../../channel/protocol.ts'
import { type Logging, NO_LOG_HOST } from '../../configuration/configuration.ts'
import { networkProblem } from '../../configuration/network-check.ts'
import { MEMBERS, type Vocabulary } from '../../configuration/vocabulary.ts'
import { certificatesIn } from '../../crypto/encoding/certificates.ts'
import { encodePem } from '../../crypto/encoding/pem.ts'
import { assertServable } from '../../crypto/tls/context.ts'
import type { TlsIdentity } from '../../crypto/tls/identity.ts'
import type { Omission } from '../restore-report.ts'
import { type NethsmJson, parseJson } from './json.ts'
import { membersOf, text, unreadable } from './records.ts'

/** The settings that move; `config/` is before each name. */
export interface NethsmSettings {
  tls: TlsIdentity | null
  network: Network | null
  logging: Logging | null
  timeOffsetMs: number | null
  /** In backups that were made here only. */
  vocabulary: Vocabulary | null
}

/** A NetHSM passes over the last one. */
export const SETTING_NAMES = [
  'certificate',
  'private-key',
  'ip-config',
  'log-config',
  'time-offset',
  'coffer-vocabulary',
] as const
type SettingName = (typeof SETTING_NAMES)[number]

/** `values` are opened. A setting that cannot be read or used is left out and told in `omissions`. */
export async function decodeSettings(
  values: ReadonlyMap<string, Uint8Array>,
  version: 0 | 1,
): Promise<{ settings: NethsmSettings; omissions: Omission[] }> {
  const omissions: Omission[] = []
  const omit = (name: SettingName, part: string, error: unknown): null => {
    if (!(error instanceof CofferError)) throw error
    omissions.push({ entry: `setting ${name}`, part, reason: error.message })
    return null
  }
  const decode = <T>(name: SettingName, read: (value: Uint8Array, omitPart: OmitPart) => T): T | null => {
    const value = values.get(name)
    try {
      return value === undefined ? null : read(value, (part, error) => omit(name, part, error))
    } catch (error) {
      return omit(name, 'all', error)
    }
  }
  const network = decode('ip-config', (value, omitPart) => {
    const read = version === 0 ? decodeOldNetwork(value) : decodeNetwork(value, omitPart)
    const problem = networkProblem(read, { allowLoopback: false })
    if (problem !== null) throw new CofferError('invalid', problem)
    return read
  })
  const settings: NethsmSettings = {
    tls: null,
    network,
    logging: decode('log-config', version === 0 ? decodeOldLogging : decodeLogging),
    timeOffsetMs: decode('time-offset', (value) => decodeSeconds(value) * 1000),
    vocabulary: decode('coffer-vocabulary', decodeVocabulary),
  }
  const tls = await decodeIdentity(values).catch((error) => omit('certificate', 'all', error))
  return { settings: { ...settings, tls }, omissions }
}

type OmitPart = (part: string, error: unknown) => null

/** Null where there is none. Throws `invalid` where it cannot be served with. */
async function decodeIdentity(values: ReadonlyMap<string, Uint8Array>): Promise<TlsIdentity | null> {
  const [certificates, key] = [values.get('certificate'), values.get('private-key')]
  if (certificates === undefined || key === undefined) return null
  const identity = { key: key.slice(), cert: decodeCertificates(certificates).join('') }
  try {
    await assertServable(identity)
    return identity
  } catch (error) {
    wipe(identity.key)
    throw error
  }
}

/** The caller wipes them. */
export function encodeSettings({
  tls,
  network,
  logging,
  timeOffsetMs,
  vocabulary,
}: NethsmSettings): [SettingName, Uint8Array][] {
  const entries: [SettingName, Uint8Array][] = []
  if (tls !== null) entries.push(['certificate', encodeCertificates(tls.cert)], ['private-key', tls.key.slice()])
  if (network !== null) entries.push(['ip-config', utf8ToBytes(JSON.stringify(encodeNetwork(network)))])
  if (logging !== null) {
    const ipAddress = logging.ipAddress
    entries.push(['log-config', utf8ToBytes(JSON.stringify({ ...logging, ipAddress }))])
  }
  if (timeOffsetMs !== null) entries.push(['time-offset', utf8ToBytes(String(Math.round(timeOffsetMs / 1000)))])
  if (vocabulary !== null) entries.push(['coffer-vocabulary', utf8ToBytes(JSON.stringify({ members: vocabulary }))])
  return entries
}

// ---- vocabulary

function decodeVocabulary(value: Uint8Array): Vocabulary {
  const name = text(membersOf(parseJson(value)).get('members'))
  const members = MEMBERS.find((known) => known === name)
  if (members === undefined) throw unreadable()
  return members
}

// ---- certificates: DER, each after its length in four bytes

const CERTIFICATE_LENGTH_BYTES = 4

/** PEM of each. */
export function decodeCertificates(value: Uint8Array): string[] {
  const certificates: string[] = []
  for (let at = 0; at < value.length; ) {
    const der = value.subarray(at + CERTIFICATE_LENGTH_BYTES)
    if (value.length < at + CERTIFICATE_LENGTH_BYTES) throw unreadable()
    const length = new DataView(value.buffer, value.byteOffset + at).getUint32(0)
    if (length > der.length) throw unreadable()
    certificates.push(encodePem('CERTIFICATE', parseCertificate(der.subarray(0, length))))
    at += CERTIFICATE_LENGTH_BYTES + length
  }
  if (certificates.length === 0) throw unreadable()
  return certificates
}

function parseCertificate(der: Uint8Array): Uint8Array {
  try {
    return new X509Certificate(der).raw
  } catch {
    throw unreadable()
  }
}

export function encodeCertificates(pem: string): Uint8Array {
  const parts = certificatesIn(pem).flatMap(({ raw }) => {
    const der = new Uint8Array(raw)
    const length = new DataView(new ArrayBuffer(CERTIFICATE_LENGTH_BYTES))
    length.setUint32(0, der.length)
    return [new Uint8Array(length.buffer), der]
  })
  return concatBytes(...parts)
}

// ---- network

function decodeNetwork(value: Uint8Array, omitPart: OmitPart): Network {
  const members = membersOf(parseJson(value))
  const ipv4 = membersOf(members.get('ipv4'))
  const [ipAddress = '', bits = ''] = text(ipv4.get('cidr')).split('/')
  if (!isIPv4(ipAddress) || !/^\d{1,2}$/.test(bits) || Number(bits) > 32) throw unreadable()
  const ipv6 = decodeIpv6(members.get('ipv6'), omitPart)
  return {
    ipAddress,
    netmask: netmaskOf(Number(bits)),
    gateway: optional(ipv4.get('gateway'), isIPv4) ?? '0.0.0.0',
    ...(ipv6 !== null && { ipv6 }),
  }
}

function decodeIpv6(value: NethsmJson | undefined, omitPart: OmitPart): NonNullable<Network['ipv6']> | null {
  if (value == null) return null
  try {
    const members = membersOf(value)
    const cidr = text(members.get('cidr'))
    const [address = '', bits = ''] = cidr.split('/')
    if (!isPlainIpv6(address) || !/^\d{1,3}$/.test(bits) || Number(bits) > 128) throw unreadable()
    return { cidr, gateway: optional(members.get('gateway'), isPlainIpv6) }
  } catch (error) {
    return omitPart('ipv6', error)
  }
}

/** A zone says nothing beyond the machine that the backup was made on. */
const isPlainIpv6 = (address: string): boolean => isIPv6(address) && !address.includes('%')

function optional(value: NethsmJson | undefined, isValid: (text: string) => unknown): string | null {
  if (value == null) return null
  const address = text(value)
  if (!isValid(address)) throw unreadable()
  return address
}

const encodeNetwork = ({ ipAddress, netmask, gateway, ipv6 }: Network) => ({
  ipv4: { cidr: `${ipAddress}/${bitsOf(netmask)}`, gateway: gateway === '0.0.0.0' ? null : gateway },
  ...(ipv6 !== undefined && { ipv6 }),
})

const netmaskOf = (bits: number): string =>
  [0, 8, 16, 24].map((start) => 256 - 2 ** (8 - Math.min(8, Math.max(0, bits - start)))).join('.')

const bitsOf = (netmask: string): number =>
  netmask.split('.').reduce((bits, part) => bits + Number(part).toString(2).replaceAll('0', '').length, 0)

/** Gateway, address, netmask. */
function decodeOldNetwork(value: Uint8Array): Network {
  if (value.length !== 12) throw unreadable()
  const address = (at: number) => value.subarray(at, at + 4).join('.')
  return { gateway: address(0), ipAddress: address(4), netmask: netmaskOf(bitsOf(address(8))) }
}

// ---- log

const LEVELS = ['debug', 'info', 'warning', 'error'] as const

function loggingOf(ipAddress: string | null, port: NethsmJson | undefined, level: string): Logging {
  const logLevel = LEVELS.find((known) => known === level) ?? (level === 'app' ? 'info' : undefined)
  if (logLevel === undefined || typeof port !== 'number' || port < 0 || port > 65535) throw unreadable()
  return { ipAddress: ipAddress ?? NO_LOG_HOST, port, logLevel }
}

function decodeLogging(value: Uint8Array): Logging {
  const members = membersOf(parseJson(value))
  return loggingOf(optional(members.get('ipAddress'), isIP), members.get('port'), text(members.get('logLevel')))
}

/** Address, port, level as text. */
function decodeOldLogging(value: Uint8Array): Logging {
  if (value.length < 7) throw unreadable()
  const port = ((value[4] ?? 0) << 8) | (value[5] ?? 0)
  return loggingOf(value.subarray(0, 4).join('.'), port, text(value.subarray(6)))
}

// ---- time

function decodeSeconds(value: Uint8Array): number {
  const seconds = text(value)
  if (!/^-?\d{1,12}$/.test(seconds)) throw unreadable()
  return Number(seconds)
}
