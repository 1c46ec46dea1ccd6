/** The open store, with what the device key opens of it; there in every state but Failed. */

import { type AuditLog, openAuditLog } from '../audit/audit-log.ts'
import { type Clock, formatTime } from '../base/clock.ts'
import { CofferError } from '../base/error.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../crypto/random.ts'
import { type DeviceArea, openDeviceArea } from '../store/device-area.ts'
import { openStore } from '../store/sqlite/file.ts'
import type { StoreFile } from '../store/store.ts'

export interface Disk {
  store: StoreFile
  device: DeviceArea
  audit: AuditLog
}

export interface DiskOptions {
  dataDirectory: string
  deviceKey: Uint8Array | null
  nativeBinding?: string | undefined
  random: Random
  log: Log
  clock: Clock
  nowMs: () => number
  onDamage: (message: string) => void
}

/** Throws `storage`. */
export function openDisk(options: DiskOptions): Disk {
  const { dataDirectory, deviceKey, nativeBinding, random, log, clock, onDamage } = options
  if (deviceKey === null) {
    throw new CofferError('storage', 'The device key is missing: nothing can be opened without it')
  }
  const store = openStore({ dataDirectory, deviceKey, ...(nativeBinding === undefined ? {} : { nativeBinding }) })
  const time = () => formatTime(clock.now())
  const audit = openAuditLog({ store, deviceKey, random, log, time, monotonicMs: options.nowMs })
  return { store, device: openDeviceArea(store, deviceKey, random, onDamage), audit }
}

/** The time that was set last goes on. */
export function restoreClock({ device }: Disk, clock: Clock): void {
  const offsetMs = device.readTimeOffsetMs()
  if (offsetMs !== null) clock.set(clock.now() - clock.offsetMs + offsetMs)
}
