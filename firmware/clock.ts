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

/** `YYYY-MM-DDTHH:MM:SSZ`, the only form of timestamps in answers. */
export const formatTime = (timeMs: number): string =>
  `${new Date(Math.min(timeMs, TIME_MAX_MS)).toISOString().slice(0, 19)}Z`
