/** The device key in a file of mode 0600. It is made once, before the store exists, and never replaced while a store exists. */

import { randomBytes } from 'node:crypto'
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readSync } from 'node:fs'
import { wipe } from '../../firmware/base/secret.ts'
import { writeDurably } from './files.ts'

export const DEVICE_KEY_BYTES = 32

/**
 * The key, or the reason why it is missing: the firmware then starts as Failed and changes nothing. `withheld` means that the key
 * still exists but the machine does not release it after this start; the firmware stays Locked.
 */
export type DeviceKey = { key: Uint8Array } | { problem: string; withheld?: boolean }

/** Reads the key, or makes one if there is none and the store directory is empty. The caller wipes it. */
export function openDeviceKey(path: string, storeDirectory: string): DeviceKey {
  if (!existsSync(path)) {
    if (hasEntries(storeDirectory)) {
      return { problem: `${path} is missing; a new device key could not open the store that is already here` }
    }
    const key = randomBytes(DEVICE_KEY_BYTES)
    try {
      writeDurably(path, key)
    } finally {
      wipe(key)
    }
  }
  return readDeviceKey(path)
}

function readDeviceKey(path: string): DeviceKey {
  try {
    const file = openSync(path, 'r')
    try {
      const { size } = fstatSync(file)
      if (size !== DEVICE_KEY_BYTES) {
        return { problem: `${path} has ${size} bytes, a device key has ${DEVICE_KEY_BYTES}` }
      }
      const key = new Uint8Array(DEVICE_KEY_BYTES)
      if (readSync(file, key) !== DEVICE_KEY_BYTES) return { problem: `${path} could not be read to its end` }
      return { key }
    } finally {
      closeSync(file)
    }
  } catch (error) {
    return { problem: `${path} cannot be read: ${(error as NodeJS.ErrnoException).code}` }
  }
}

const hasEntries = (directory: string): boolean => existsSync(directory) && readdirSync(directory).length > 0
