/** `<time:...>`: a valid time becomes an element that clients show in the reader's time zone. Contract 6.2. */

import { element } from './element.ts'
import { type Pattern, pattern } from './inline.ts'

/** Longer than any valid time. */
const CHARACTERS_MAX = 100

export const times: Pattern = pattern(
  new RegExp(`<time:([^>]{0,${CHARACTERS_MAX}})>`, 'g'),
  '<time:',
  ([typed, text], found) => {
    const datetime = parseTime(found.plain(text!))
    // An invalid time is shown as source, and its text is not processed further.
    return datetime === null ? element('', {}, typed) : element('time', { datetime }, text!)
  },
)

/** ISO 8601: a date with or without hyphens, then optionally `T`, a time of day and a zone. */
const DATE = '(?<year>\\d{4})(?<hyphen>-?)(?<month>\\d\\d)\\k<hyphen>(?<day>\\d\\d)'
const CLOCK = '(?<hour>\\d\\d)(?::?(?<minute>\\d\\d)(?::?(?<seconds>\\d\\d(?:[.,]\\d{1,9})?))?)?'
const ZONE = 'Z|(?<sign>[+-])(?<zoneHours>\\d\\d)(?::?(?<zoneMinutes>\\d\\d))?'
const ISO = new RegExp(`^${DATE}(?:T${CLOCK}(?:${ZONE})?)?$`)

/** Returns ISO 8601 in UTC. A text without zone is UTC. Null for all other formats: level 503. */
function parseTime(text: string): string | null {
  const found = ISO.exec(text.trim())?.groups
  if (found === undefined) return null
  const ahead = Number(found.zoneHours ?? 0) * 60 + Number(found.zoneMinutes ?? 0)
  if (ahead >= 24 * 60) return null
  return utc({
    year: Number(found.year),
    month: Number(found.month),
    day: Number(found.day),
    hour: Number(found.hour ?? 0),
    minute: Number(found.minute ?? 0),
    seconds: Number((found.seconds ?? '0').replace(',', '.')),
    zoneMinutes: found.sign === '-' ? -ahead : ahead,
  })
}

interface Fields {
  year: number
  month: number
  day: number
  hour: number
  minute: number
  seconds: number
  zoneMinutes: number
}

function utc({ year, month, day, hour, minute, seconds, zoneMinutes }: Fields): string | null {
  if (year < 1 || month < 1 || month > 12 || day < 1 || hour > 23 || minute > 59 || seconds >= 60) return null
  const date = new Date(0)
  date.setUTCFullYear(year, month - 1, day)
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return null
  const minutes = hour * 60 + minute - zoneMinutes
  return formatted(date.getTime() * 1000 + minutes * 60e6 + Math.round(seconds * 1e6))
}

/** @param microseconds since 1970. */
function formatted(microseconds: number): string | null {
  const date = new Date(Math.floor(microseconds / 1000))
  if (Number.isNaN(date.getTime()) || date.getUTCFullYear() < 1 || date.getUTCFullYear() > 9999) return null
  const fraction = ((microseconds % 1e6) + 1e6) % 1e6
  const whole = date.toISOString().slice(0, 19)
  return fraction === 0 ? `${whole}Z` : `${whole}.${String(fraction).padStart(6, '0')}Z`
}
