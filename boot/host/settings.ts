/** Settings of the host platform from the environment. Unknown names and invalid values are refused by name. */

import { isIP } from 'node:net'
import { resolve } from 'node:path'
import type { LogLevel } from '../../firmware/base/log.ts'
import { SettingsError } from '../base/settings-error.ts'

export interface HostSettings {
  /** Absolute path; contains the device key and the store's directory. */
  dataDirectory: string
  host: string
  /** 0 lets the system choose. */
  port: number
  /** Port of plain HTTP; null for none. */
  httpPort: number | null
  /** Port of the chat, if there is one; 0 lets the system choose. */
  chatPort: number
  /** False disables the web console, whatever an administrator sets. */
  console: boolean
  logLevel: LogLevel
  /** Absolute path; null without clustering. */
  etcdPath: string | null
  /** How long a node continues without the other members; 0 for no limit. */
  isolatedMaxMs: number
  /** Absolute path; null for the default, `release.pub` in the data directory, which may be missing. */
  releaseKeyPath: string | null
}

const NAMES = [
  'COFFER_DATA',
  'COFFER_HOST',
  'COFFER_PORT',
  'COFFER_HTTP_PORT',
  'COFFER_CHAT_PORT',
  'COFFER_CONSOLE',
  'COFFER_ETCD',
  'COFFER_ISOLATED_MAX',
  'COFFER_LOG',
  'COFFER_RELEASE_KEY',
] as const
/** Variables of Coffer's tools, which a shell may export to all programs. */
const OF_OTHERS = ['COFFER_QEMU_ACCEL', 'COFFER_PROFILE', 'COFFER_PASSPHRASE', 'COFFER_ASKPASS']

/** Variables that Kubernetes and Docker set for a service or container named coffer or coffer-something. */
const INJECTED =
  /^COFFER_(NAME|ENV_.+|([A-Z0-9_]+_)?(SERVICE_(HOST|PORT(_.+)?)|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?))$/
/** Values that they give `COFFER_PORT` and `COFFER_SOMETHING_PORT`. */
const INJECTED_ADDRESS = /^(tcp|udp|sctp):\/\//

const LEVELS: readonly LogLevel[] = ['debug', 'info', 'warning', 'error']
const PORT_MAX = 65535

/** Throws a SettingsError with the name of the setting. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): HostSettings {
  refuseUnknownNames(environment)
  return {
    dataDirectory: readDirectory(environment.COFFER_DATA ?? './var'),
    host: readHost(environment.COFFER_HOST ?? '127.0.0.1'),
    port: readPort('COFFER_PORT', own(environment.COFFER_PORT) ?? '8443'),
    httpPort: readHttpPort(own(environment.COFFER_HTTP_PORT)),
    chatPort: readPort('COFFER_CHAT_PORT', own(environment.COFFER_CHAT_PORT) ?? '9443'),
    console: readSwitch('COFFER_CONSOLE', environment.COFFER_CONSOLE ?? 'on'),
    logLevel: readLevel(environment.COFFER_LOG ?? 'info'),
    isolatedMaxMs: readSeconds('COFFER_ISOLATED_MAX', environment.COFFER_ISOLATED_MAX ?? '86400'),
    etcdPath: readPath('COFFER_ETCD', environment.COFFER_ETCD, 'program of etcd'),
    releaseKeyPath: readPath('COFFER_RELEASE_KEY', environment.COFFER_RELEASE_KEY, 'file of the release key'),
  }
}

function refuseUnknownNames(environment: Readonly<Record<string, string | undefined>>): void {
  const known: readonly string[] = [...NAMES, ...OF_OTHERS]
  const isInjected = (name: string): boolean =>
    INJECTED.test(name) || (name.endsWith('_PORT') && own(environment[name]) === undefined)
  const unknown = Object.keys(environment).find(
    (name) => name.startsWith('COFFER_') && !known.includes(name) && !isInjected(name),
  )
  if (unknown !== undefined) throw new SettingsError(`${unknown} is not a setting; there are ${NAMES.join(', ')}`)
}

/** Undefined if an orchestrator has set the variable. */
const own = (value: string | undefined): string | undefined =>
  value !== undefined && INJECTED_ADDRESS.test(value) ? undefined : value

function readDirectory(value: string): string {
  if (value === '') throw new SettingsError('COFFER_DATA is empty; it names the data directory')
  // Node's permission model treats an asterisk in an allowed path as a wildcard.
  if (value.includes('*')) throw new SettingsError('COFFER_DATA must not contain an asterisk')
  return resolve(value)
}

function readPath(name: string, value: string | undefined, what: string): string | null {
  if (value === undefined) return null
  if (value === '') throw new SettingsError(`${name} is empty; it names the ${what}`)
  return resolve(value)
}

function readHost(value: string): string {
  if (value === 'localhost' || isIP(value) !== 0) return value
  throw new SettingsError(`COFFER_HOST is ${JSON.stringify(value)}; it must be an IP address or localhost`)
}

const readHttpPort = (value: string | undefined): number | null => (value ? readPort('COFFER_HTTP_PORT', value) : null)

function readPort(name: string, value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) <= PORT_MAX) return Number(value)
  throw new SettingsError(`${name} is ${JSON.stringify(value)}; it must be a number from 0 to ${PORT_MAX}`)
}

function readSeconds(name: string, value: string): number {
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000
  throw new SettingsError(`${name} is ${JSON.stringify(value)}; it must be a number of seconds, or 0`)
}

function readSwitch(name: string, value: string): boolean {
  if (value === 'on' || value === 'off') return value === 'on'
  throw new SettingsError(`${name} is ${JSON.stringify(value)}; it must be on or off`)
}

function readLevel(value: string): LogLevel {
  const level = LEVELS.find((level) => level === value)
  if (level !== undefined) return level
  throw new SettingsError(`COFFER_LOG is ${JSON.stringify(value)}; it must be one of ${LEVELS.join(', ')}`)
}
