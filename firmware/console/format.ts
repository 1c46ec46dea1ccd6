const integer = new Intl.NumberFormat('en')
export const count = (value: number): string => integer.format(value)

/** Uses decimal units (1 kB = 1000 bytes). */
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

/** Two units at most, such as `3 days 4 hours` or `12 seconds`. */
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

/** `2026-11-24T10:00:00Z` as `2026-11-24 10:00:00 UTC`: sorts as text and names its time zone. */
export const time = (value: string | Date): string =>
  (typeof value === 'string' ? value : value.toISOString()).replace('T', ' ').replace(/(\.\d+)?Z$/, ' UTC')

/** RFC 3339 without fractions, as the API expects. */
export const timestamp = (value: Date): string => value.toISOString().replace(/\.\d+Z$/, 'Z')

/** Time for a file name, without colons. */
export const fileTime = (value: Date): string => timestamp(value).replaceAll(':', '')

export const utf8Bytes = (text: string): number => new TextEncoder().encode(text).length

export const fallbackText = (fallback: unknown): string =>
  typeof fallback === 'object' && fallback !== null ? Object.values(fallback).join(': ') : String(fallback)
