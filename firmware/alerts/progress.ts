/**
 * Which alerts were mailed, and when mails were sent, so that a restart neither repeats nor forgets them. Ages are measured by a clock that
 * never jumps; across restarts by the appliance's clock.
 */

import type { DeviceRecords } from '../configuration/device-records.ts'
import { ALERTS } from '../store/device-area.ts'
import { ALERT_IDS, type AlertId, type Finding } from './conditions.ts'

/** An alert whose beginning was mailed, but not its end. */
interface Mailed {
  level: Finding['level']
  /** Since when it has held, by the appliance's clock. */
  sinceMs: number
  /** When it was last in a mail, by the clock that never jumps. */
  atMs: number
}

export interface MailProgress {
  readonly mailed: Map<AlertId, Mailed>
  /** Times of mails within the last hour, oldest first, by the clock that never jumps. */
  sent(): readonly number[]
  noteSent(): void
  /** Stores it, in every state. Failures are logged. */
  keep(): void
}

interface Stored {
  mailed: Partial<Record<AlertId, Mailed>>
  sent: number[]
}

interface MailProgressOptions {
  records: DeviceRecords
  now: () => number
  monotonicMs: () => number
}

const HOUR_MS = 3_600_000

export function createMailProgress({ records, now, monotonicMs }: MailProgressOptions): MailProgress {
  const bytes = records.read('read which alerts were mailed', (area) => area.get(ALERTS))
  const stored = bytes == null ? null : (JSON.parse(new TextDecoder().decode(bytes)) as Stored)
  /** The clock was put back since a time that is still to come. */
  const toMonotonic = (timeMs: number): number => monotonicMs() - Math.max(now() - timeMs, 0)
  const toStored = (timeMs: number): number => Math.ceil(now() - monotonicMs() + timeMs)

  const mailed = new Map<AlertId, Mailed>()
  for (const id of ALERT_IDS) {
    const one = stored?.mailed[id]
    if (one !== undefined) mailed.set(id, { ...one, atMs: toMonotonic(one.atMs) })
  }
  let sent = (stored?.sent ?? []).map(toMonotonic).sort((a, b) => a - b)

  function recent(): number[] {
    const sinceMs = monotonicMs() - HOUR_MS
    sent = sent.filter((timeMs) => timeMs > sinceMs)
    return sent
  }

  return {
    mailed,
    sent: recent,
    noteSent() {
      sent = [...recent(), monotonicMs()]
    },
    keep() {
      const entries = [...mailed].map(([id, one]) => [id, { ...one, atMs: toStored(one.atMs) }])
      const value: Stored = { mailed: Object.fromEntries(entries), sent: recent().map(toStored) }
      records.keep('store which alerts were mailed', (area) =>
        area.put(ALERTS, new TextEncoder().encode(JSON.stringify(value))),
      )
    },
  }
}
