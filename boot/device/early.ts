/** Starts the firmware before the rest of the boot manager is loaded, so that two cores load both at once. */

import { totalmem } from 'node:os'
import { type Early, launchEarly } from '../supervisor/firmware-process.ts'
import { ownFirmware } from '../supervisor/own-firmware.ts'
import { launcherForFirmware } from './launcher.ts'
import { STORE } from './system/mounts.ts'

// Share of memory for the firmware's JavaScript objects. Request bodies and worker threads take as much again.
const HEAP_SHARE = 1 / 3
const CHAT_HEAP_SHARE = 1 / 5
const HEAP_MEGABYTES_MIN = 96
const HEAP_MEGABYTES_MAX = 1024
const MEGABYTE = 1024 * 1024

/** The firmware waits for its start message and has no store until then. */
export const launchFirmware = (): Early =>
  launchEarly({
    serves: 'firmware',
    launcher: launcherForFirmware(),
    ...ownFirmware(),
    storeDirectory: STORE,
    heapMegabytes: heapFor(totalmem()),
  })

export const heapFor = (memoryBytes: number, share = HEAP_SHARE): number =>
  Math.floor(Math.min(Math.max((memoryBytes / MEGABYTE) * share, HEAP_MEGABYTES_MIN), HEAP_MEGABYTES_MAX))

/** Heap of the chat. Its share is smaller: if memory is scarce, the chat must run short before the firmware. */
export const chatHeapFor = (memoryBytes: number): number => heapFor(memoryBytes, CHAT_HEAP_SHARE)
