/** `<time:...>`: what can be read as a time becomes an element that clients show in the reader's zone. Contract 6.2. */

import { element } from './element.ts'
import { type Pattern, pattern } from './inline.ts'

/** Longer than any time that is written out; a bound for what is read. */
const CHARACTERS_MAX = 100

export const times: Pattern = pattern(
  new RegExp(`<time:([^>]{0,${CHARACTERS_MAX}})>`, 'g'),
  '<time:',
  ([typed, text], found) => {
    const datetime = parseTime(found.plain(text!))
    // What cannot be read is shown as it was typed, and nothing in it is looked at.
    return datetime === null ? element('', {}, typed) : element('time', { datetime }, text!)
  },
)

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'.split(' ')
const MONTH =
  /^(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)$/
const DAY =
  /^(?:mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|fri(?:day)?|sat(?:urday)?|sun(?:day)?)$/
const FILLER = new Set(['at', 'on', 'and', 'of', 'the', 't'])

/** Hours ahead of UTC of zones that people name. */
const ZONES: Record<string, number> = {
  utc: 0,
  gmt: 0,
  z: 0,
  wet: 0,
  west: 1,
  bst: 1,
  cet: 1,
  cest: 2,
  eet: 2,
  eest: 3,
  msk: 3,
  wat: 1,
  cat: 2,
  sast: 2,
  eat: 3,
  pkt: 5,
  ist: 5.5,
  npt: 5.75,
  ict: 7,
  wib: 7,
  hkt: 8,
  sgt: 8,
  pht: 8,
  awst: 8,
  jst: 9,
  kst: 9,
  acst: 9.5,
  acdt: 10.5,
  aest: 10,
  aedt: 11,
  nzst: 12,
  nzdt: 13,
  nst: -3.5,
  ndt: -2.5,
  ast: -4,
  adt: -3,
  est: -5,
  edt: -4,
  cst: -6,
  cdt: -5,
  mst: -7,
  mdt: -6,
  pst: -8,
  pdt: -7,
  akst: -9,
  akdt: -8,
  hst: -10,
  brt: -3,
  art: -3,
  clt: -4,
  cot: -5,
  pet: -5,
}

/**
 * A time in UTC by ISO 8601 from: ISO 8601, seconds since 1970, or a date in words or numbers with an optional time of
 * day and zone. A date has to be whole, so that a text means the same on each day. Without a zone it is UTC.
 */
function parseTime(text: string): string | null {
  const trimmed = text.trim()
  if (trimmed === '' || trimmed.length > CHARACTERS_MAX) return null
  const compact = /^(\d{4})(\d\d)(\d\d)$/.exec(trimmed)
  if (compact !== null) {
    const time = utc({ year: Number(compact[1]), month: Number(compact[2]), day: Number(compact[3]) })
    if (time !== null) return time
  }
  if (/^-?\d+(?:\.\d+)?$/.test(trimmed)) return formatted(Math.round(Number(trimmed) * 1e6))
  const parts = new Parts()
  for (const token of trimmed
    .toLowerCase()
    .match(/\d+(?:[-/.]\d+){2}|[+-]\d\d:?\d\d\b|\d{1,2}(?::\d\d){1,2}(?:\.\d+)?|\d+(?:st|nd|rd|th)?|[a-z]+|[^\s,]/g) ??
    [])
    if (!parts.take(token)) return null
  return parts.time()
}

interface Fields {
  year: number
  month: number
  day: number
  hour?: number
  minute?: number
  seconds?: number
  zoneMinutes?: number
}

class Parts {
  #date: { year?: number; month?: number; day?: number } = {}
  #clock: { hour: number; minute: number; seconds: number } | null = null
  #hours: number | null = null
  #zoneMinutes: number | null = null
  #half: 'am' | 'pm' | null = null

  /** @returns false where a token cannot be part of a time. */
  take(token: string): boolean {
    if (FILLER.has(token) || DAY.test(token) || token === '.') return true
    if (MONTH.test(token)) return this.#set('month', MONTHS.indexOf(token.slice(0, 3)) + 1)
    if (token === 'am' || token === 'pm') return this.#takeHalf(token)
    if (token in ZONES) return this.#zone(ZONES[token]! * 60)
    const offset = /^([+-])(\d\d):?(\d\d)$/.exec(token)
    if (offset !== null) return this.#zone((offset[1] === '-' ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3])))
    if (token.includes(':')) return this.#takeClock(token)
    const date = /^(\d+)([-/.])(\d+)\2(\d+)$/.exec(token)
    if (date !== null) return this.#takeDate(date[1]!, date[3]!, date[4]!)
    const number = /^(\d+)(st|nd|rd|th)?$/.exec(token)
    if (number === null) return false
    if (number[1]!.length === 4 && number[2] === undefined) return this.#set('year', Number(number[1]))
    if (number[1]!.length > 2) return false
    if (this.#date.day === undefined) return this.#set('day', Number(number[1]))
    if (this.#hours !== null || number[2] !== undefined) return false
    this.#hours = Number(number[1])
    return true
  }

  time(): string | null {
    const { year, month, day } = this.#date
    if (year === undefined || month === undefined || day === undefined) return null
    if (this.#clock === null && this.#half === null && this.#hours !== null) return null
    const clock = this.#clock ?? { hour: this.#hours ?? 0, minute: 0, seconds: 0 }
    if (this.#half !== null) {
      if (clock.hour < 1 || clock.hour > 12) return null
      clock.hour = (clock.hour % 12) + (this.#half === 'pm' ? 12 : 0)
    }
    return utc({ year, month, day, ...clock, zoneMinutes: this.#zoneMinutes ?? 0 })
  }

  #set(field: 'year' | 'month' | 'day', value: number): boolean {
    if (this.#date[field] !== undefined) return false
    this.#date[field] = value
    return true
  }

  #takeHalf(half: 'am' | 'pm'): boolean {
    if (this.#half !== null || (this.#clock === null && this.#hours === null)) return false
    this.#half = half
    return true
  }

  #zone(minutes: number): boolean {
    // `UTC+02:00` names its zone twice.
    if ((this.#zoneMinutes ?? 0) !== 0 || Math.abs(minutes) >= 24 * 60) return false
    this.#zoneMinutes = minutes
    return true
  }

  #takeClock(token: string): boolean {
    if (this.#clock !== null) return false
    const [hour, minute, seconds] = token.split(':').map(Number)
    this.#clock = { hour: hour!, minute: minute!, seconds: seconds ?? 0 }
    return true
  }

  /** Year first, else month first as upstream reads it, unless that cannot be. */
  #takeDate(first: string, second: string, third: string): boolean {
    const [a, b, c] = [Number(first), Number(second), Number(third)]
    if (first.length === 4) return this.#set('year', a) && this.#set('month', b) && this.#set('day', c)
    if (third.length !== 4) return false
    const dayFirst = a > 12
    return this.#set('year', c) && this.#set('month', dayFirst ? b : a) && this.#set('day', dayFirst ? a : b)
  }
}

function utc({ year, month, day, hour = 0, minute = 0, seconds = 0, zoneMinutes = 0 }: Fields): string | null {
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
