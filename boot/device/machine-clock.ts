/**
 * The system clock. Its time comes from the hardware clock (the kernel reads it) and is never written back: what an
 * Administrator sets is an offset to it, which the firmware keeps sealed in the store (firmware/base/clock.ts).
 *
 * A device without a hardware clock starts in 1970. There the clock goes on from the last time it knew.
 */

import { existsSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { BUSYBOX, mustRunNow } from './system/programs.ts'

const NOTE_MS = 10 * 60_000

export interface SystemClock {
  /** Milliseconds since the epoch. */
  now(): number
  set(timeMs: number): void
}

const systemClock: SystemClock = {
  now: Date.now,
  set: (timeMs) => mustRunNow(BUSYBOX, ['date', '-u', '-s', `@${Math.ceil(timeMs / 1000)}`]),
}

/** `builtMs` is when this image was made, which no time since then can be before. The note is a file's time. */
export function keepTime(
  notePath: string,
  builtMs: number,
  clock = systemClock,
  hasHardwareClock = existsSync('/sys/class/rtc/rtc0'),
): void {
  if (hasHardwareClock) return
  const note = () => {
    writeFileSync(notePath, '')
    utimesSync(notePath, clock.now() / 1000, clock.now() / 1000)
  }
  const notedMs = existsSync(notePath) ? statSync(notePath).mtimeMs : 0
  const earliestMs = Math.max(notedMs, builtMs)
  if (clock.now() < earliestMs) clock.set(earliestMs)
  note()
  setInterval(note, NOTE_MS).unref()
}
