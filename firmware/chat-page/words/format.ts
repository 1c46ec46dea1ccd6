/** Dates, numbers and lists as the language of the page writes them: ECMA-402. */

const KB = 1000
const LAST_ACTIVE_UNITS = [
  ['day', 86_400],
  ['hour', 3600],
] as const

let formats = createFormats('en', null)

/** `language` is a BCP 47 tag. */
export function setFormats(language: string): void {
  formats = createFormats(language, formats.is24)
}

/** `is24` is false for a clock of 12 hours, and null for that of the language. */
export function setClock(is24: boolean | null): void {
  if (is24 !== formats.is24) formats = createFormats(formats.language, is24)
}

function createFormats(language: string, is24: boolean | null) {
  const ofLanguage = new Intl.DateTimeFormat(language, { hour: 'numeric' }).resolvedOptions()
  const is12 = is24 === null ? ofLanguage.hour12 === true : !is24
  const hourCycle = is12 ? 'h12' : 'h23'
  const clock = { hour: is12 ? 'numeric' : '2-digit', minute: '2-digit', hourCycle } as const
  return {
    ...{ language, is24, clockOptions: clock },
    clock: new Intl.DateTimeFormat(language, clock),
    day: new Intl.DateTimeFormat(language, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }),
    shortDay: new Intl.DateTimeFormat(language, { dateStyle: 'medium' }),
    both: new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short', hourCycle }),
    list: new Intl.ListFormat(language, { type: 'unit' }),
    relative: new Intl.RelativeTimeFormat(language),
    number: new Intl.NumberFormat(language, { maximumFractionDigits: 1 }),
  }
}

export const timeOfDay = (time: Date): string => formats.clock.format(time)
/** Without AM or PM, for a narrow column. */
export const timeInColumn = (time: Date): string =>
  formats.clock
    .formatToParts(time)
    .filter(({ type }) => type !== 'dayPeriod')
    .map(({ value }) => value)
    .join('')
    .trim()
export const wholeDay = (time: Date): string => formats.day.format(time)
export const dateAndTime = (time: Date): string => formats.both.format(time)
export const dayShort = (time: Date): string => formats.shortDay.format(time)
export const shortTime = (time: Date, now: Date): string =>
  time.toDateString() === now.toDateString() ? timeOfDay(time) : dayShort(time)
export const timeIn = (time: Date, timeZone: string): string =>
  new Intl.DateTimeFormat(formats.language, {
    ...{ weekday: 'short', timeZone, ...formats.clockOptions },
  }).format(time)

/** Such as `3 hours ago`. */
export function timeAgo(agoS: number): string {
  const [unit, seconds] = LAST_ACTIVE_UNITS.find(([, seconds]) => agoS >= seconds) ?? (['minute', 60] as const)
  return formats.relative.format(-Math.max(1, Math.floor(agoS / seconds)), unit)
}

export const number = (value: number): string => formats.number.format(value)
export const fileSize = (bytes: number): string =>
  bytes < KB * KB ? `${number(Math.ceil(bytes / KB))} KB` : `${number(bytes / KB / KB)} MB`
export const listOf = (all: readonly string[]): string => formats.list.format(all)
