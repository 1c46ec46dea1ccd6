/**
 * The system clock. The kernel sets it from the hardware clock, and Coffer never writes the time back: the time set by an
 * administrator is an offset, which the firmware stores sealed (firmware/base/clock.ts).
 * A device without a hardware clock starts in 1970. Its clock continues from the last time recorded.
 */

import { existsSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { BUSYBOX, mustRunNow } from './system/programs.ts'

const NOTE_MS = 10 * 60_000

export interface SystemClock {
  /** Unix time in milliseconds. */
  now(): number
  set(timeMs: number): void
}

const systemClock: SystemClock = {
  now: Date.now,
  set: (timeMs) => mustRunNow(BUSYBOX, ['date', '-u', '-s', `@${Math.ceil(timeMs / 1000)}`]),
}

/** `builtMs` is the build time of the image, a lower bound of the time. The note stores the time as a file's timestamp. */
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
