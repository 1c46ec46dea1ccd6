/**
 * What the boot manager and the firmware say to each other: one typed IPC channel, structured-clone serialisation.
 * Secrets travel as bytes on this channel only, never in argv or the environment.
 */

import type { State } from '../firmware/vocabulary.ts'

/** Syslog severities the appliance uses, contract 4.7. */
export type LogLevel = 'debug' | 'info' | 'warning' | 'error'

/** From the boot manager to the firmware. The first message is always `start`. */
export type ToFirmware =
  | { type: 'start'; settings: Settings; deviceKey: Uint8Array | null }
  /** The passphrase typed at the console; answered by `unlockResult`. */
  | { type: 'unlock'; passphrase: Uint8Array }
  /** Answered by `pong`; a firmware that stays silent is hung and is restarted. */
  | { type: 'ping' }
  /** Stop cleanly: counters flushed, WAL checkpointed, vault wiped, then exit code 0. */
  | { type: 'stop' }

/** From the firmware to the boot manager. */
export type ToBoot =
  | { type: 'listening'; address: string; port: number }
  | { type: 'state'; state: State; reason?: string }
  | {
      type: 'unlockResult'
      result: 'unlocked' | 'wrong' | 'tooManyAttempts' | 'notLocked' | 'failed'
      message?: string
    }
  | { type: 'pong' }
  /** The firmware cannot run with these settings (port taken, address not ours): starting it again would not help. */
  | { type: 'refused'; reason: string }
  /** What the firmware may ask for; nothing else is performed. */
  | { type: 'request'; action: 'reboot' | 'shutdown' | 'factoryReset' }

export interface Settings {
  /** Directory of the store; the only place the firmware may write. */
  dataDirectory: string
  host: string
  /** 0 lets the system choose. */
  port: number
  logLevel: LogLevel
}
