/** Access of the configuration to the store's device area, which is unavailable while there is no store. */

import type { DeviceArea } from '../store/device-area.ts'

export interface DeviceRecords {
  /** Returns undefined without a store, or if the record is damaged; damage is logged. */
  read<T>(what: string, read: (area: DeviceArea) => T): T | undefined
  /** Runs in one transaction. Throws `unavailable` unless Operational. */
  write(change: (area: DeviceArea) => void): void
  /** Like `write` but in every state, for changes that no client requested. Failures are logged, not thrown. */
  keep(what: string, change: (area: DeviceArea) => void): void
}

/** Returns null for a missing record, undefined if it cannot be read. */
export const readText = (records: DeviceRecords, name: string): string | null | undefined =>
  records.read(`read the configuration of ${name}`, (area) => {
    const bytes = area.get(name)
    return bytes === null ? null : new TextDecoder().decode(bytes)
  })

export const writeText = (records: DeviceRecords, name: string, text: string): void =>
  records.write((area) => area.put(name, new TextEncoder().encode(text)))

/** Removes the record of a value that is the default. Members must be in the same order in both. */
export function writeUnlessDefault<T>(records: DeviceRecords, name: string, value: T, byDefault: T): void {
  const text = JSON.stringify(value)
  if (text === JSON.stringify(byDefault)) records.write((area) => void area.remove(name))
  else writeText(records, name, text)
}
