/** The door from the configuration to the device area, which is closed while there is no store. */

import type { DeviceArea } from '../store/device-area.ts'

export interface DeviceRecords {
  /** Undefined when there is no store or the record is damaged, which is then logged. */
  read<T>(what: string, read: (area: DeviceArea) => T): T | undefined
  /** In one transaction; throws `unavailable` unless Operational. */
  write(change: (area: DeviceArea) => void): void
  /** The same in every state, for what nobody asked for: what fails is logged. */
  keep(what: string, change: (area: DeviceArea) => void): void
}

/** Null when there is none, undefined when it cannot be read. */
export const readText = (records: DeviceRecords, name: string): string | null | undefined =>
  records.read(`reading the configuration of ${name}`, (area) => {
    const bytes = area.get(name)
    return bytes === null ? null : new TextDecoder().decode(bytes)
  })

export const writeText = (records: DeviceRecords, name: string, text: string): void =>
  records.write((area) => area.put(name, new TextEncoder().encode(text)))
