/**
 * Messages between boot manager and firmware, as frames on one channel: firmware/channel/.
 * Secrets travel as bytes on this channel only, never in argv or the environment.
 */

import type { LogLevel } from '../base/log.ts'
import type { ApplianceState } from '../base/states.ts'

/** The device's address on its network, contract 4.7. Texts in the usual notation, already checked. */
export interface Network {
  ipAddress: string
  netmask: string
  /** `0.0.0.0`: none. */
  gateway: string
  /** Absent: IPv6 is off. */
  ipv6?: { cidr: string; gateway: string | null }
}

/** Where the device's time comes from, contract 3.4. Texts already checked; empty: from nowhere. */
export interface Ntp {
  /** IPv4 or IPv6 address of the server. */
  ntpIP?: string | undefined
  /** Host name in the certificate of the server; where it is given, the server must speak NTS (RFC 8915). */
  ntsName?: string | undefined
}

/** From the boot manager to each process that it has started, the chat's included, which answers `ping` with `pong`. */
export type ToEveryProcess = { type: 'ping' } | { type: 'stop' }

/** From the boot manager to the firmware. The first message is always `start`. */
export type ToFirmware =
  | {
      type: 'start'
      settings: FirmwareSettings
      /** Null when it is lost, or when the machine does not give it as it was started; `withheld` then says why. */
      deviceKey: Uint8Array | null
      withheld?: string
      /** Number of the last counted start: a store with a smaller one is of an earlier start. Absent if nothing counts. */
      count?: number
      software: Software
    }
  /** The passphrase typed at the console; answered by `unlockResult`. */
  | { type: 'unlock'; passphrase: Uint8Array }
  /** Answered by `pong`; a firmware that stays silent is hung and is restarted. */
  | { type: 'ping' }
  /** Stop cleanly: counters flushed, WAL checkpointed, vault wiped, then exit code 0. */
  | { type: 'stop' }
  /** The trial is over: from now on requests are answered. */
  | { type: 'good' }
  /** The running version and this start are good, which the store records. Answered by `kept` if there is a count. */
  | ({ type: 'keep' } & LastStart)
  /** To each `request`, in their order, before it is performed. No problem: it happens, whatever happens to the power. */
  | { type: 'requestResult'; problem: string | null }
  /** The machine's clock has the time of a server: an offset to it would be wrong. */
  | { type: 'timeKept' }
  /** Whether the time server sets the clock: with each change, and after each `ntp`. From a device only. */
  | { type: 'timeServer'; isHeard: boolean }
  /** To each `slot`, in their order. */
  | ({ type: 'slotResult' } & SlotAnswer)
  /** The chat has crashed several times in a row. It comes back by itself, after a longer and longer wait. */
  | { type: 'chatDown'; problem: string }
  /** The process for outgoing connections has, likewise. */
  | { type: 'outgoingDown'; problem: string }
  /** To each `etcd`, in their order. */
  | ({ type: 'etcdResult' } & EtcdAnswer)
  /** It has ended unasked, and comes back by itself. The others have removed it: it does not. */
  | { type: 'etcdEnded'; problem: string; isRemoved: boolean }
  | { type: 'etcdState'; state: EtcdState }
  /** Lines of etcd of level warning or above. */
  | { type: 'etcdLines'; lines: string[] }

export type ToBoot =
  | { type: 'listening'; address: string; port: number }
  /** The reason of Failed, or of a Locked that no passphrase ends; on trial, also why the store did not open. */
  | { type: 'state'; state: ApplianceState; reason?: string }
  | {
      type: 'unlockResult'
      result: 'unlocked' | 'wrong' | 'tooManyAttempts' | 'notLocked' | 'failed'
      message?: string
    }
  | { type: 'pong' }
  /** The firmware cannot run with these settings (port taken, address not ours): starting it again would not help. */
  | { type: 'refused'; reason: string }
  /** The only actions that the firmware may ask for. */
  | { type: 'request'; action: 'reboot' | 'shutdown' | 'factoryReset' }
  /** At each start and after each change. */
  | { type: 'network'; network: Network }
  /** After `network`, then after each change. */
  | { type: 'ntp'; ntp: Ntp }
  /** At each start and after each change: SHA-256 of the public key of the TLS port, as `sha256//` and base64. */
  | { type: 'tlsKey'; fingerprint: string }
  | { type: 'slot'; step: SlotStep }
  /** The store holds this count, on disk: what `keep` said or, where it held that already, one more than before. */
  | { type: 'kept'; count: number }
  | { type: 'chat'; wanted: ProcessWish }
  | { type: 'outgoing'; wanted: ProcessWish }
  /** Each step is answered before the next one is taken. */
  | { type: 'etcd'; step: EtcdStep }

/** Another process: one that runs, one that has just been started, so that nothing is left in its memory, or none. */
export type ProcessWish = 'running' | 'fresh' | 'none'

/** How a version gets into the inactive slot. Each step is answered before the next one is sent. */
export type SlotStep =
  /** The first two members of the image. The boot manager verifies them for itself. */
  | { do: 'begin'; manifest: Uint8Array; signature: Uint8Array }
  | { do: 'write'; name: string; bytes: Uint8Array }
  /** Everything is there: it is read back, verified, and kept until `activate`, `discard` or a restart. */
  | { do: 'finish' }
  /** The next start runs it, on trial. */
  | { do: 'activate' }
  | { do: 'discard' }

/** No problem: the step was done. A conflict: the version is in order, but it does not fit to what this machine runs. */
export interface SlotAnswer {
  problem: string | null
  conflict?: true
}

/** The etcd of a cluster's member: none runs before it is asked for, and one that runs outlives a firmware. */
export type EtcdStep =
  /** Resolves when its process was started. With the one that runs already nothing is done. */
  | { do: 'run'; start: EtcdLaunch }
  | { do: 'stop' }
  /** Stopped, and nothing of it left. */
  | { do: 'erase' }
  | { do: 'look' }

/** How it is started. Texts already checked; none of them is secret but the key. */
export interface EtcdLaunch {
  /** As the first member, as one that was added to others, or on the data of an earlier run. */
  how: 'create' | 'join' | 'run'
  name: string
  peerUrl: string
  /** Who is there when it joins, itself included; of no account otherwise. */
  members: readonly EtcdPeer[]
  /** Tells clusters apart that were made alike. */
  token: string
  /** PEM texts; null in tests only, whose members meet without TLS. */
  tls: EtcdTls | null
}

export interface EtcdPeer {
  name: string
  urls: readonly string[]
}

export interface EtcdTls {
  /** With its chain. */
  certificate: Uint8Array
  key: Uint8Array
  /** The cluster's authority: who has a certificate of it speaks as a peer. */
  authority: Uint8Array
}

/** No problem: the step was done. A conflict: with what lies on the disk. */
export interface EtcdAnswer {
  problem: string | null
  conflict?: true
  /** There is data of an earlier run. */
  hasData: boolean
  state: EtcdState
}

/** Whether its process is there, or how the last one ended: with a status, or by a signal. */
export interface EtcdState {
  running: boolean
  exited?: number
  signaled?: number
}

/** How far a device has come: nothing earlier is to follow. */
export interface LastStart {
  /** The oldest version that may still run. */
  minimum: string
  /** The next value of the counter; null where nothing counts, or this start is counted already. */
  count: number | null
}

export const SLOT_WRITE_BYTES_MAX = 1024 * 1024 // of one message; what arrives over TLS comes in far smaller pieces

/** The boot manager's word to a firmware on how it was started. */
export interface Software {
  /**
   * On trial it answers no request (503) until `good`, but for those of a Locked appliance: the store is put back as it was if
   * the trial fails.
   */
  trial: boolean
  /** Which version was tried last and why it was left, for the log and the system information. */
  fallback: string | null
}

export interface FirmwareSettings {
  /** Directory of the store; the only place the firmware may write. */
  dataDirectory: string
  host: string
  /** 0 lets the system choose. */
  port: number
  /** Where requests of plain HTTP are sent on to the TLS port; null: nowhere. */
  httpPort: number | null
  /** Further ports for plain HTTP, which the firmware goes on without. Absent in what older boot managers send. */
  furtherHttpPorts?: readonly number[]
  logLevel: LogLevel
  /** Ed25519 public key that update images must be signed with; null: every update is refused. */
  releaseKey: Uint8Array | null
  /** Absent where there is no place for a chat. */
  chat?: ChatPlace
  /** Absent where there is no process for outgoing connections, as under an older boot manager. */
  outgoing?: OutgoingPlace
  /** Absent where there is no program of etcd. */
  etcd?: EtcdPlace
  /** False: no page for browsers, whatever an Administrator sets. Absent in what older boot managers send. */
  console?: boolean
}

export interface ChatPlace {
  /** The only place that the chat's process may write. */
  directory: string
  /** 0 lets the system choose. */
  port: number
  /** Ports of which an Administrator may choose one. Absent where `port` is fixed. */
  portChoices?: readonly number[]
}

export interface OutgoingPlace {
  /** On a host the system resolves names, and a setting may name a server on the same computer. */
  onHost: boolean
}

export interface EtcdPlace {
  socket: string
  /** How long a node of a cluster goes on without the others; 0 for ever. */
  isolatedMaxMs: number
}
