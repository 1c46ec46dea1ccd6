/** The appliance's clock: the system clock plus an offset an Administrator sets. Contract sections 1.1 and 3.4. */

export interface Clock {
  /** Milliseconds since the epoch, by the appliance's clock. */
  now(): number
  /** Sets the clock; the offset is what survives a restart. */
  set(timeMs: number): void
  readonly offsetMs: number
}

export function createClock(offsetMs = 0, system: () => number = Date.now): Clock {
  let offset = offsetMs
  return {
    now: () => system() + offset,
    set: (timeMs) => {
      offset = timeMs - system()
    },
    get offsetMs() {
      return offset
    },
  }
}

const TIME_MAX_MS = Date.UTC(9999, 11, 31, 23, 59, 59) // the form has four digits for the year; a clock set to it runs on

let lastSecond = Number.NaN
let lastText = ''

/** `YYYY-MM-DDTHH:MM:SSZ`, the only form of timestamps in answers. Every request asks for the text of this second. */
export function formatTime(timeMs: number): string {
  const second = Math.floor(Math.min(timeMs, TIME_MAX_MS) / 1000)
  if (second !== lastSecond) {
    lastText = `${new Date(second * 1000).toISOString().slice(0, 19)}Z`
    lastSecond = second
  }
  return lastText
}
