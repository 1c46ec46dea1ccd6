/** Entries of the system log that wait for the log server, in memory. The oldest ones are dropped when there are too many. */

import type { LogEntry } from '../base/log.ts'
import type { TimedEntry } from './messages.ts'

const ENTRIES_MAX = 10_000
const BYTES_MAX = 4 * 1024 * 1024
const ENTRY_BYTES = 200 // what an entry takes besides its text

export interface LogQueue {
  add(entry: LogEntry): void
  /** Without, further entries are forgotten. From the start it is enabled. */
  enable(isEnabled: boolean): void
  /** Forgets the entries that wait. */
  clear(): void
  readonly length: number
  /** The number of the newest entry. */
  readonly newest: number
  /** Entries are numbered from 1. The number of the newest one that was confirmed. */
  readonly confirmed: number
  /** The entry of this number or, where that was dropped, the next one. */
  at(number: number): { number: number; entry: TimedEntry } | null
  confirm(number: number): void
}

export function createLogQueue(now: () => number): LogQueue {
  const entries = new Map<number, TimedEntry>()
  let isEnabled = true
  let newest = 0
  let confirmed = 0
  let bytes = 0

  /** All numbers from `newest - entries.size + 1` on are there. */
  const oldest = (): number => newest - entries.size + 1

  function dropOldest(): void {
    const number = oldest()
    bytes -= sizeOf(entries.get(number))
    entries.delete(number)
  }

  return {
    add(entry) {
      if (!isEnabled) return
      const timed = { ...entry, timeMs: now() }
      newest++
      entries.set(newest, timed)
      bytes += sizeOf(timed)
      while (entries.size > ENTRIES_MAX || (bytes > BYTES_MAX && entries.size > 1)) dropOldest()
    },
    enable(next) {
      isEnabled = next
    },
    clear() {
      entries.clear()
      bytes = 0
      confirmed = newest
    },
    get length() {
      return entries.size
    },
    get newest() {
      return newest
    },
    get confirmed() {
      return confirmed
    },
    at(wanted) {
      const number = Math.max(wanted, oldest())
      const entry = entries.get(number)
      return entry === undefined ? null : { number, entry }
    },
    confirm(number) {
      confirmed = Math.max(confirmed, number)
      while (entries.size > 0 && oldest() <= confirmed) dropOldest()
    },
  }
}

const sizeOf = (entry: TimedEntry | undefined): number => (entry === undefined ? 0 : entry.message.length + ENTRY_BYTES)
