/** The versions of the firmware that a machine has, and which of them runs: on a host (host/host-slots.ts) and on the device (device/device-slots.ts). */

import type { SlotStep } from '../../firmware/channel/protocol.ts'
import type { InstalledFirmware } from '../supervisor/own-firmware.ts'

export interface InstalledVersion extends InstalledFirmware {
  version: string
}

/** What is started. */
export interface Running extends InstalledVersion {
  trial: boolean
  /** A good version beside another one, which takes over when several starts in a row do not get ready. */
  counted: boolean
  /** Which version was tried last and why it was left. */
  fallback: string | null
}

export interface Slots {
  /** Called before each start of the firmware: drops what was not committed, and counts a try of a version on trial. */
  choose(): Running
  /** The running version is ready: its trial is over, or its start is. Throws an error of the file system, and it is not over. */
  markGood(): void
  /** Why the running try failed. */
  noteFailure(problem: string): void
  /** Throws a SlotError, or an error of the file system. */
  take(step: SlotStep): void
}

export interface SlotsOptions {
  /** Made when it is needed first. */
  directory: string
  storeDirectory: string
  own: InstalledVersion
  /** Null when none is installed: then no version in a slot can be verified, and none is run. */
  releaseKey: Uint8Array | null
}

export const NOT_READY = 'it did not become ready'

/** What a fallback is described as, for the log, the console and the system information. */
export const describeFallback = (name: string, problem: string): string => `${name} was tried and abandoned: ${problem}`
