/** The seam between the boot manager and the machine it runs on: a developer's host, or the device image. */

import type { FirmwareSettings, LastStart, Network, Ntp, ToBoot } from '../firmware/channel/protocol.ts'
import type { DeviceKey } from './base/device-key-file.ts'
import type { EtcdRunner } from './etcd/runner.ts'
import type { Early } from './supervisor/firmware-process.ts'
import type { Terminal } from './terminal/terminal.ts'
import type { Slots } from './versions/slots.ts'

/** What the firmware may ask the machine for. */
export type Action = Extract<ToBoot, { type: 'request' }>['action']

export interface Platform {
  /** What the firmware is started with. */
  readonly settings: FirmwareSettings
  /** Put in front of the firmware's command line, e.g. to change its user; empty on the host. */
  readonly launcher: readonly string[]
  /** Upper bound of the firmware's JavaScript heap. */
  readonly heapMegabytes: number
  /** How a chat is started; null where there is no place for one. Where it lies is among the settings. */
  readonly chat: ChatRunner | null
  /** How the etcd of a cluster's member is started; null where there is no program of it. */
  readonly etcd: EtcdRunner | null
  /** An open descriptor that every firmware inherits: while it is open, nobody else uses this data directory. */
  readonly lock: number | null
  /** A firmware that was started ahead of time, where opening the platform takes long. */
  readonly early: Early | null
  /** A terminal that others use too: Ctrl-C ends us, and from the background nothing is read. */
  readonly sharesTerminal: boolean
  /** The installed versions of the firmware. */
  readonly slots: Slots
  /** Read at each start of the firmware; the caller wipes it. */
  deviceKey(): DeviceKey
  /** What keeps older versions and older data out; null where nothing does. Known once there is a device key. */
  readonly starts: Starts | null
  /** Gives the machine this address, where it can; called at each start of the firmware and after each change. */
  applyNetwork(network: Network): void
  /** Has the clock follow this server, where it can; `onTime` is called when it does. Called like `applyNetwork`. */
  applyNtp(ntp: Ntp, onTime: () => void): void
  /** Prints lines of the firmware's log; on a slow terminal some of them are left out. */
  logTo(terminal: Pick<Terminal, 'print' | 'isAsking'>): (lines: string[]) => void
  /** Where clients reach a firmware that listens at `address`. */
  shownAddress(address: string, network: Network | null): string
  /** Makes sure that the action is performed, also after a power cut. Throws an error of the file system. */
  prepare(action: Action): void
  /** What was prepared, performed while no firmware runs. */
  perform(action: Action): Promise<Next>
}

interface ChatRunner {
  readonly launcher: readonly string[]
  readonly heapMegabytes: number
  /** Before each start; throws an error of the file system. */
  makeDirectory(): void
}

/** Counts the starts that were good. */
export interface Starts {
  /** Of the last one; absent where nothing counts. */
  readonly last?: number | undefined
  /** What the store is to hold now; null while there is no device key. */
  readonly current: LastStart | null
  /** The store holds this count. Says what stood against counting this start, as a part of a sentence. */
  count(held: number): string | null
}

/** What comes after an action: the firmware again, or our end. */
export type Next = 'start' | { exitCode: number }
