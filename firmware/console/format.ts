/** Numbers, times and bytes as people read them. */

const integer = new Intl.NumberFormat('en')
export const count = (value: number): string => integer.format(value)

/** Decimal units, as disks and networks have them. */
export function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let at = 0
  let rest = value
  while (rest >= 999.5 && at < units.length - 1) {
    rest /= 1000
    at++
  }
  return `${at === 0 ? rest : rest.toFixed(rest < 10 ? 1 : 0)} ${units[at]}`
}

/** Two units at most: `3 days 4 hours`, `12 seconds`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds))
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), 'day'],
    [Math.floor(whole / 3600) % 24, 'hour'],
    [Math.floor(whole / 60) % 60, 'minute'],
    [whole % 60, 'second'],
  ]
  const first = parts.findIndex(([value]) => value > 0)
  if (first < 0) return '0 seconds'
  return parts
    .slice(first, first + 2)
    .filter(([value]) => value > 0)
    .map(([value, unit]) => `${value} ${unit}${value === 1 ? '' : 's'}`)
    .join(' ')
}

/** `2026-11-24T10:00:00Z` as `2026-11-24 10:00:00 UTC`, which sorts and misleads nobody. */
export const time = (value: string | Date): string =>
  (typeof value === 'string' ? value : value.toISOString()).replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')

/** As the API wants it: RFC 3339 without fractions. */
export const timestamp = (value: Date): string => value.toISOString().replace(/\.\d+Z$/, 'Z')

/** For names of files: no colons. */
export const fileTime = (value: Date): string => timestamp(value).replaceAll(':', '')

export const utf8Bytes = (text: string): number => new TextEncoder().encode(text).length

/** The version of an update that was left, and the reason. */
export const fallbackText = (fallback: unknown): string =>
  typeof fallback === 'object' && fallback !== null ? Object.values(fallback).join(': ') : String(fallback)
