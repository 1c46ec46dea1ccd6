/** The report of the last restore: a backup is restored even where some details cannot be represented here, and these are listed. */

import type { DeviceArea } from '../store/device-area.ts'
import { RESTORE_REPORT } from '../store/device-area.ts'

export interface Omission {
  /** `key team/web`, `user admin`, `setting ip-config`. */
  entry: string
  /** The part that was left out; `all` where nothing of the entry could be kept. */
  part: string
  reason: string
}

export interface RestoreReport {
  leftOut: readonly Omission[]
  /** Further omissions, which are only counted. */
  more: number
}

const OMISSIONS_MAX = 500 // the record is written with each batch of entries that has some

export const EMPTY_REPORT: RestoreReport = { leftOut: [], more: 0 }

/** Call within a transaction, as the next one. */
export function putReport(device: DeviceArea, leftOut: readonly Omission[]): void {
  write(device, { leftOut: leftOut.slice(0, OMISSIONS_MAX), more: Math.max(0, leftOut.length - OMISSIONS_MAX) })
}

export function addToReport(device: DeviceArea, omissions: readonly Omission[]): void {
  if (omissions.length === 0) return
  const bytes = device.get(RESTORE_REPORT)
  const { leftOut, more } = bytes === null ? EMPTY_REPORT : parseReport(new TextDecoder().decode(bytes))
  const room = Math.max(0, OMISSIONS_MAX - leftOut.length)
  write(device, {
    leftOut: [...leftOut, ...omissions.slice(0, room)],
    more: more + Math.max(0, omissions.length - room),
  })
}

/** The record is sealed by the device, so its text is one of ours. */
export const parseReport = (text: string): RestoreReport => JSON.parse(text) as RestoreReport

const write = (device: DeviceArea, report: RestoreReport): void =>
  void device.put(RESTORE_REPORT, new TextEncoder().encode(JSON.stringify(report)))

export const omissionText = ({ entry, part, reason }: Omission): string =>
  part === 'all'
    ? `${entry} of the restored backup is left out: ${reason}`
    : `${part} of ${entry} of the restored backup: ${reason}`
