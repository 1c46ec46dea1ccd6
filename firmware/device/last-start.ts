/**
 * The store's record of the last good start: the oldest version that may still open it, and the value that a counter in the
 * TPM had then. A store with a lower value is an older copy that was put back: boot/device/minimum-version.ts.
 */

import { utf8ToBytes } from '@noble/hashes/utils.js'
import * as z from 'zod'
import { CofferError } from '../base/error.ts'
import type { LastStart } from '../channel/protocol.ts'
import { isNewer } from '../release/version.ts'
import { ATTENDED, type DeviceArea, LAST_START } from '../store/device-area.ts'
import type { StoreFile } from '../store/store.ts'

const schema = z.object({ minimum: z.string(), count: z.int().nullable() })

interface Opened {
  store: StoreFile
  device: DeviceArea
}

/**
 * Throws `storage` when the store is not for this version, or is of an earlier start than the one that was counted last.
 * A new one holds that count before anybody puts anything into it.
 */
export function checkLastStart(disk: Opened, version: string, count: number | undefined): void {
  const held = read(disk.device)
  if (held !== null && isNewer(held.minimum, version)) {
    const text = `The store is for version ${held.minimum} and later ones: version ${version} does not open it`
    throw new CofferError('storage', text)
  }
  if (count === undefined) return
  if (held === null && !disk.device.has(ATTENDED)) write(disk, { minimum: '0.0', count })
  else if ((held?.count ?? -1) < count)
    throw new CofferError(
      'storage',
      'The store is of an earlier start than the last one: older data have been put back',
    )
}

/** Gives the count that the store now holds, on disk. A start that got so far and was not counted is passed over. */
export function keepLastStart(disk: Opened, { minimum, count }: LastStart): number | null {
  const held = read(disk.device)
  const next = {
    minimum: held !== null && isNewer(held.minimum, minimum) ? held.minimum : minimum,
    count: count === null ? (held?.count ?? null) : Math.max(count, (held?.count ?? 0) + 1),
  }
  if (next.minimum !== held?.minimum || next.count !== held.count) write(disk, next)
  return next.count
}

function read(device: DeviceArea): LastStart | null {
  const bytes = device.get(LAST_START)
  return bytes === null ? null : schema.parse(JSON.parse(new TextDecoder().decode(bytes)))
}

function write({ store, device }: Opened, start: LastStart): void {
  const text = JSON.stringify(start satisfies z.infer<typeof schema>)
  store.transaction(() => device.put(LAST_START, utf8ToBytes(text)))
}
