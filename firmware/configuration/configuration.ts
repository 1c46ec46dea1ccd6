/** Settings of the device, set by Administrators and readable in every state. Contract sections 3.4 and 4.7. */

import { createFairQueue } from '../base/fair-queue.ts'
import type { Log, LogLevel } from '../base/log.ts'
import type { Network, Ntp } from '../channel/protocol.ts'
import type { Random } from '../crypto/random.ts'
import type { CryptoPool } from '../crypto/types.ts'
import {
  CHAT_TLS_IDENTITY,
  CLUSTER_TLS_IDENTITY,
  CONSOLE,
  INTERFACES,
  LOGGING,
  MAIL,
  NETWORK,
  NTP,
  OUTGOING,
  SYSLOG,
  SYSLOG_TLS_IDENTITY,
  VOCABULARY,
} from '../store/device-area.ts'
import { type DeviceRecords, readText, writeText, writeUnlessDefault } from './device-records.ts'
import { changeMail, DEFAULT_MAIL, type MailChange, type MailSettings } from './mail.ts'
import { changeOutgoing, DEFAULT_OUTGOING, type OutgoingChange, type OutgoingSettings } from './outgoing.ts'
import { Peers } from './peers.ts'
import { DEFAULT_SYSLOG, type SyslogChange, type SyslogSettings } from './syslog.ts'
import { TlsSettings } from './tls-settings.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface Logging {
  /** IPv4 or IPv6; `0.0.0.0` turns remote logging off. */
  ipAddress: string
  port: number
  logLevel: LogLevel
}

export const NO_LOG_HOST = '0.0.0.0'
const SYSLOG_PORT = 514 // RFC 3164 section 2

const DEFAULT_NETWORK: Network = { ipAddress: '192.168.1.1', netmask: '255.255.255.0', gateway: '0.0.0.0' }

const DEFAULT_NTP: Ntp = {}
const DEFAULT_MEMBERS: Vocabulary = 'both'
const DEFAULT_CONSOLE = true
export const DEFAULT_INTERFACES: Interfaces = { transit: 'off', tokenHours: 24 }
const TLS_CHANGES_MAX = 16 // bound of queued TLS changes, a few milliseconds each

type Part =
  | 'tls'
  | 'chatTls'
  | 'clusterTls'
  | 'network'
  | 'ntp'
  | 'logging'
  | 'vocabulary'
  | 'console'
  | 'outgoing'
  | 'mail'
  | 'interfaces'
  | 'chatHost'
  | 'syslog'
  | 'syslogTls'

/** APIs beside NetHSM's. */
export interface Interfaces {
  transit: 'on' | 'off'
  /** Lifetime of login tokens. */
  tokenHours: number
}

interface ConfigurationServices {
  records: DeviceRecords
  pool: CryptoPool
  random: Random
  log: Log
}

export class Configuration {
  readonly tls: TlsSettings
  readonly chatTls: TlsSettings
  readonly clusterTls: TlsSettings
  /** The client's key for the log server. It has no identity until a key was generated. */
  readonly syslogTls: TlsSettings
  readonly peers: Peers
  readonly #records: DeviceRecords
  readonly #listeners: ((part: Part) => void)[] = []
  #network = DEFAULT_NETWORK
  #ntp = DEFAULT_NTP
  #members = DEFAULT_MEMBERS
  #console = DEFAULT_CONSOLE
  #outgoing = DEFAULT_OUTGOING
  #mail = DEFAULT_MAIL
  #interfaces = DEFAULT_INTERFACES
  #syslog = DEFAULT_SYSLOG
  #chatHost: string | null = null
  readonly #defaultLogging: Logging
  #logging: Logging

  constructor({ records, pool, random, log }: ConfigurationServices) {
    this.#records = records
    const [services, changes] = [{ records, pool, random }, createFairQueue(TLS_CHANGES_MAX)]
    this.tls = new TlsSettings({
      ...{ ...services, changes },
      rules: () => (this.clusterTls.isOwn ? null : this.peers),
      onChange: () => this.#notify('tls'),
    })
    this.clusterTls = new TlsSettings({
      ...{ ...services, changes },
      name: CLUSTER_TLS_IDENTITY,
      fallback: this.tls,
      noun: 'cluster',
      rules: () => this.peers,
      onChange: () => this.#notify('clusterTls'),
    })
    this.peers = new Peers({ records, tls: this.clusterTls, changes })
    this.chatTls = new TlsSettings({
      ...services,
      name: CHAT_TLS_IDENTITY,
      changes: createFairQueue(TLS_CHANGES_MAX),
      onChange: () => this.#notify('chatTls'),
    })
    this.syslogTls = new TlsSettings({
      ...services,
      name: SYSLOG_TLS_IDENTITY,
      noun: 'log client',
      changes: createFairQueue(TLS_CHANGES_MAX),
      onChange: () => this.#notify('syslogTls'),
    })
    this.#defaultLogging = { ipAddress: NO_LOG_HOST, port: SYSLOG_PORT, logLevel: log.level }
    this.#logging = this.#defaultLogging
  }

  load(): void {
    this.#network = read<Network>(this.#records, NETWORK) ?? DEFAULT_NETWORK
    this.#ntp = read<Ntp>(this.#records, NTP) ?? DEFAULT_NTP
    this.#members = read<{ members: Vocabulary }>(this.#records, VOCABULARY)?.members ?? DEFAULT_MEMBERS
    this.#console = read<{ enabled: boolean }>(this.#records, CONSOLE)?.enabled ?? DEFAULT_CONSOLE
    this.#outgoing = read<OutgoingSettings>(this.#records, OUTGOING) ?? DEFAULT_OUTGOING
    this.#mail = read<MailSettings>(this.#records, MAIL) ?? DEFAULT_MAIL
    this.#interfaces = read<Interfaces>(this.#records, INTERFACES) ?? DEFAULT_INTERFACES
    this.#syslog = read<SyslogSettings>(this.#records, SYSLOG) ?? DEFAULT_SYSLOG
    this.#logging = read<Logging>(this.#records, LOGGING) ?? this.#defaultLogging
  }

  /** Reloads and applies all settings after a restore has replaced the records. */
  reload(): void {
    this.load()
    this.tls.reload()
    this.clusterTls.reload()
    this.syslogTls.reload()
    for (const part of [
      'network',
      'ntp',
      'logging',
      'vocabulary',
      'console',
      'outgoing',
      'mail',
      'interfaces',
      'syslog',
    ] as const)
      this.#notify(part)
  }

  onChange(listener: (part: Part) => void): void {
    this.#listeners.push(listener)
  }

  get network(): Network {
    return this.#network
  }

  setNetwork(network: Network): void {
    writeText(this.#records, NETWORK, JSON.stringify(network))
    this.#network = network
    this.#notify('network')
  }

  get ntp(): Ntp {
    return this.#ntp
  }

  setNtp(ntp: Ntp): void {
    writeText(this.#records, NTP, JSON.stringify(ntp))
    this.#ntp = ntp
    this.#notify('ntp')
  }

  /** Selects the names of members in answers. */
  get members(): Vocabulary {
    return this.#members
  }

  setMembers(members: Vocabulary): void {
    writeText(this.#records, VOCABULARY, JSON.stringify({ members }))
    this.#members = members
    this.#notify('vocabulary')
  }

  get console(): boolean {
    return this.#console
  }

  setConsole(enabled: boolean): void {
    writeText(this.#records, CONSOLE, JSON.stringify({ enabled }))
    this.#console = enabled
    this.#notify('console')
  }

  get outgoing(): OutgoingSettings {
    return this.#outgoing
  }

  changeOutgoing(change: OutgoingChange): void {
    const changed = changeOutgoing(this.#outgoing, change)
    writeUnlessDefault(this.#records, OUTGOING, changed, DEFAULT_OUTGOING)
    this.#outgoing = changed
    this.#notify('outgoing')
  }

  get syslog(): SyslogSettings {
    return this.#syslog
  }

  changeSyslog(change: SyslogChange): void {
    const changed = { ...this.#syslog, ...change }
    writeUnlessDefault(this.#records, SYSLOG, changed, DEFAULT_SYSLOG)
    this.#syslog = changed
    this.#notify('syslog')
  }

  get mail(): MailSettings {
    return this.#mail
  }

  changeMail(change: MailChange): void {
    const changed = changeMail(this.#mail, change)
    writeUnlessDefault(this.#records, MAIL, changed, DEFAULT_MAIL)
    this.#mail = changed
    this.#notify('mail')
  }

  get interfaces(): Interfaces {
    return this.#interfaces
  }

  setInterfaces(interfaces: Interfaces): void {
    writeText(this.#records, INTERFACES, JSON.stringify(interfaces))
    this.#interfaces = interfaces
    this.#notify('interfaces')
  }

  /** Host name or IP address of the organization's URL; null until the URL is set or the chat has reported it. */
  get chatHost(): string | null {
    return this.#chatHost
  }

  setChatHost(host: string | null): void {
    if (host === this.#chatHost) return
    this.#chatHost = host
    this.#notify('chatHost')
  }

  /** The default sends nothing and has the log level of the start. */
  get logging(): Logging {
    return this.#logging
  }

  setLogging(logging: Logging): void {
    writeText(this.#records, LOGGING, JSON.stringify(logging))
    this.#logging = logging
    this.#notify('logging')
  }

  #notify(part: Part): void {
    for (const listener of this.#listeners) listener(part)
  }
}

/**
 * Returns null also for an unreadable record, so the default holds until the next change. The record needs no validation: only the device
 * can have sealed it.
 */
function read<T>(records: DeviceRecords, name: string): T | null {
  const text = readText(records, name)
  return text == null ? null : (JSON.parse(text) as T)
}
