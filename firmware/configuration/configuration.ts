/** Settings of the device itself, made by Administrators and readable in every state. Contract sections 3.4 and 4.7. */

import { createFairQueue } from '../base/fair-queue.ts'
import type { Log, LogLevel } from '../base/log.ts'
import type { Network, Ntp } from '../channel/protocol.ts'
import type { Random } from '../crypto/random.ts'
import type { CryptoPool } from '../crypto/types.ts'
import {
  CHAT_TLS_IDENTITY,
  CLUSTER_TLS_IDENTITY,
  CONSOLE,
  LOGGING,
  NETWORK,
  NTP,
  VOCABULARY,
} from '../store/device-area.ts'
import { type DeviceRecords, readText, writeText } from './device-records.ts'
import { Peers } from './peers.ts'
import { TlsSettings } from './tls-settings.ts'
import type { Vocabulary } from './vocabulary.ts'

export interface Logging {
  /** IPv4 or IPv6; `0.0.0.0` sends nothing. */
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
const TLS_CHANGES_MAX = 16 // waiting for one another, milliseconds each

type Part = 'tls' | 'chatTls' | 'clusterTls' | 'network' | 'ntp' | 'logging' | 'vocabulary' | 'console' | 'chatHost'

interface ConfigurationServices {
  records: DeviceRecords
  pool: CryptoPool
  random: Random
  log: Log
}

export class Configuration {
  readonly tls: TlsSettings
  /** For the chat's port; has no identity while there is no chat. */
  readonly chatTls: TlsSettings
  /** Of this node as a member of a cluster: the identity of the port until it gets one of its own. */
  readonly clusterTls: TlsSettings
  readonly peers: Peers
  readonly #records: DeviceRecords
  readonly #listeners: ((part: Part) => void)[] = []
  #network = DEFAULT_NETWORK
  #ntp = DEFAULT_NTP
  #members = DEFAULT_MEMBERS
  #console = DEFAULT_CONSOLE
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
    this.#defaultLogging = { ipAddress: NO_LOG_HOST, port: SYSLOG_PORT, logLevel: log.level }
    this.#logging = this.#defaultLogging
  }

  /** Reads what the store holds. */
  load(): void {
    this.#network = read<Network>(this.#records, NETWORK) ?? DEFAULT_NETWORK
    this.#ntp = read<Ntp>(this.#records, NTP) ?? DEFAULT_NTP
    this.#members = read<{ members: Vocabulary }>(this.#records, VOCABULARY)?.members ?? DEFAULT_MEMBERS
    this.#console = read<{ enabled: boolean }>(this.#records, CONSOLE)?.enabled ?? DEFAULT_CONSOLE
    this.#logging = read<Logging>(this.#records, LOGGING) ?? this.#defaultLogging
  }

  /** Reads and applies everything anew, after the records were replaced by others. */
  reload(): void {
    this.load()
    this.tls.reload()
    this.clusterTls.reload()
    for (const part of ['network', 'ntp', 'logging', 'vocabulary', 'console'] as const) this.#notify(part)
  }

  /** `listener` applies what has changed; it is called after it is stored. */
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

  /** Decides the names of the members of answers. */
  get members(): Vocabulary {
    return this.#members
  }

  setMembers(members: Vocabulary): void {
    writeText(this.#records, VOCABULARY, JSON.stringify({ members }))
    this.#members = members
    this.#notify('vocabulary')
  }

  /** Whether the page for browsers is served. */
  get console(): boolean {
    return this.#console
  }

  setConsole(enabled: boolean): void {
    writeText(this.#records, CONSOLE, JSON.stringify({ enabled }))
    this.#console = enabled
    this.#notify('console')
  }

  /** The host of the address that the organization has, a name or an IP address; null while nobody has set or told it. */
  get chatHost(): string | null {
    return this.#chatHost
  }

  setChatHost(host: string | null): void {
    if (host === this.#chatHost) return
    this.#chatHost = host
    this.#notify('chatHost')
  }

  /** Until it is set nothing is sent, and the level is that of the start. */
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

/** Null also when it cannot be read: the default holds until the next change. Nobody but the device can have sealed it. */
function read<T>(records: DeviceRecords, name: string): T | null {
  const text = readText(records, name)
  return text == null ? null : (JSON.parse(text) as T)
}
