/** Where the device keeps its device key: a 0600 file on the data partition, outside the store. */

import { rmSync } from 'node:fs'
import { type DeviceKey, openDeviceKey } from '../device-key.ts'

export interface DeviceKeys {
  /** Asked at each start of the firmware; makes the key when the store is still empty. The caller wipes it. */
  open(): DeviceKey
  /** Part of a factory reset, with the data partition still mounted: afterwards nothing opens what was sealed. */
  erase(): void
}

export function openDeviceKeys(directory: string, storeDirectory: string): DeviceKeys {
  const path = `${directory}/device.key`
  return {
    open: () => openDeviceKey(path, storeDirectory),
    erase: () => rmSync(path, { force: true }),
  }
}
