/** Interface between the boot manager and its machine: a developer's host, or the device image. */

import type { FirmwareSettings, LastStart, Network, Ntp, ToBoot } from '../firmware/channel/protocol.ts'
import type { DeviceKey } from './base/device-key-file.ts'
import type { EtcdRunner } from './etcd/runner.ts'
import type { Early } from './supervisor/firmware-process.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { Slots } from './versions/slots.ts'

export type Action = Extract<ToBoot, { type: 'request' }>['action']

/** Heap of the process for outgoing connections: 32 jobs, each with 1 MiB of a request and 256 KiB of an answer at most. */
export const OUTGOING_HEAP_MEGABYTES = 48

export interface TimeReport {
  /** Called when the clock has the time of the server. */
  onTime(): void
  /** Whether the server sets the clock: called at each `applyNtp`, then at each change. */
  onServer(isHeard: boolean): void
}

export interface Platform {
  readonly settings: FirmwareSettings
  /** Prefix of the firmware's command line, such as a change of the user; empty if not needed. */
  readonly launcher: readonly string[]
  readonly heapMegabytes: number
  /** Parameters of the chat process; null if the platform has no chat. Its directory is in `settings`. */
  readonly chat: ChatRunner | null
  /** Parameters of the process for outgoing connections; null if the platform has none. */
  readonly outgoing: ProcessRunner | null
  /** Parameters of etcd; null if the program is missing. */
  readonly etcd: EtcdRunner | null
  /** Open descriptor that each firmware inherits. While it is open, no other boot manager can use this data directory. */
  readonly lock: number | null
  /** Firmware that was started ahead of time, where opening the platform takes long. */
  readonly early: Early | null
  /** True if other programs share the terminal: Ctrl-C ends the boot manager, and it does not read input in the background. */
  readonly sharesTerminal: boolean
  readonly slots: Slots
  /** Called at each start of the firmware; the caller wipes the key. */
  deviceKey(): DeviceKey
  /** Detects older versions and older data; null if the platform cannot. Available once there is a device key. */
  readonly starts: Starts | null
  /** Sets the machine's address if possible. Called at each start of the firmware and after each change. */
  applyNetwork(network: Network): void
  /** Synchronizes the clock with this server if possible. Called like `applyNetwork`. */
  applyNtp(ntp: Ntp, report: TimeReport): void
  /** Prints lines of the firmware's log. On a slow terminal some are omitted. */
  logTo(terminal: Pick<Terminal, 'print' | 'isAsking'>): (lines: string[]) => void
  /** Address by which clients reach a firmware that listens at `address`. */
  shownAddress(address: string, network: Network | null): string
  /** Guarantees that the action will be performed, even after a power cut. Throws an error of the file system. */
  prepare(action: Action): void
  /** Performs a prepared action while no firmware runs. */
  perform(action: Action): Promise<Next>
}

export interface ProcessRunner {
  readonly launcher: readonly string[]
  readonly heapMegabytes: number
}

interface ChatRunner extends ProcessRunner {
  /** Called before each start. Throws an error of the file system. */
  makeDirectory(): void
}

export interface Starts {
  /** Number of the last good start; absent without a counter. */
  readonly last?: number | undefined
  /** Record for the store about this start; null while there is no device key. */
  readonly current: LastStart | null
  /** Call it when the store holds this count. Returns the reason why the start cannot be counted, as part of a sentence, or null. */
  count(held: number): string | null
}

/** Continuation after an action: start the firmware again, or exit. */
export type Next = 'start' | { exitCode: number }
