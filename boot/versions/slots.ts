/**
 * The installed versions of the firmware and the running one: on a host (host/host-slots.ts) and on the device
 * (device/device-slots.ts).
 */

import type { SlotStep } from '../../firmware/channel/protocol.ts'
import type { InstalledFirmware } from '../supervisor/own-firmware.ts'

export interface InstalledVersion extends InstalledFirmware {
  version: string
}

export interface Running extends InstalledVersion {
  trial: boolean
  /** True for a good version if another one exists, which takes over after several failed starts. */
  counted: boolean
  /** The last version that was given up, with the reason. */
  fallback: string | null
}

export interface Slots {
  /** Called before each start of the firmware: removes uncommitted versions, and counts a try of a version on trial. */
  choose(): Running
  /** Marks the running version as ready, which ends its trial or its start. Throws an error of the file system; then neither has ended. */
  markGood(): void
  /** Records why the current try failed. */
  noteFailure(problem: string): void
  /** Throws a SlotError, or an error of the file system. */
  take(step: SlotStep): void
}

export interface SlotsOptions {
  /** Created on first use. */
  directory: string
  storeDirectory: string
  own: InstalledVersion
  /** Null if none is installed: then no version in a slot can be verified or run. */
  releaseKey: Uint8Array | null
}

export const NOT_READY = 'it did not become ready'

/** Text about a fallback for the log, the terminal and the system information. */
export const describeFallback = (name: string, problem: string): string => `${name} was rolled back: ${problem}`
