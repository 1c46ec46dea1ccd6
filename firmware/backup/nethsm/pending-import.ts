/**
 * Entries of a restored backup in the form of a NetHSM: sealed by its domain key, which the unlock passphrase opens, they
 * wait for it in the device area. The unlock makes records of them.
 */

import { concatBytes, utf8ToBytes } from '@noble/hashes/utils.js'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import type { DeviceArea } from '../../store/device-area.ts'
import type { BackupEntry } from './container.ts'

/** Two numbers: of entries, and of those that are records already. */
const COUNTS = 'waiting'
const NUMBER_BYTES = 8
const nameOf = (index: number): string => `waiting ${index}`

export interface Counts {
  all: number
  done: number
}

/** Null where nothing waits. */
export function waiting(device: DeviceArea): Counts | null {
  if (!device.has(COUNTS)) return null
  const bytes = defined(device.get(COUNTS))
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  return { all: Number(view.getBigUint64(0)), done: Number(view.getBigUint64(NUMBER_BYTES)) }
}

/** Call within a transaction, as the next ones. */
export function putCounts(device: DeviceArea, { all, done }: Counts): void {
  const view = new DataView(new ArrayBuffer(2 * NUMBER_BYTES))
  view.setBigUint64(0, BigInt(all))
  view.setBigUint64(NUMBER_BYTES, BigInt(done))
  device.put(COUNTS, new Uint8Array(view.buffer))
}

export function putWaiting(device: DeviceArea, index: number, { path, value }: BackupEntry): void {
  const bytes = utf8ToBytes(path)
  device.put(nameOf(index), concatBytes(Uint8Array.of(bytes.length >> 8, bytes.length), bytes, value))
}

/** Throws `storage` when it is damaged. */
export function readWaiting(device: DeviceArea, index: number): BackupEntry {
  const bytes = device.get(nameOf(index))
  if (bytes === null) throw new CofferError('storage', 'A restored record is missing')
  const valueAt = 2 + (((bytes[0] ?? 0) << 8) | (bytes[1] ?? 0))
  return { path: new TextDecoder().decode(bytes.subarray(2, valueAt)), value: bytes.subarray(valueAt) }
}

export const removeEntry = (device: DeviceArea, index: number): void => void device.remove(nameOf(index))

/** Also where none waits. */
export function removeWaiting(device: DeviceArea): void {
  const counts = waiting(device)
  if (counts === null) return
  for (let index = counts.done; index < counts.all; index++) removeEntry(device, index)
  device.remove(COUNTS)
}
