/** Media types: `content-type` (RFC 9110 section 8.3) and `accept` (section 12.5.1). Contract section 1.5. */

/** Returns `type/subtype` in lower case without parameters; `''` if the header is missing. */
export function mediaType(contentType: string | undefined): string {
  if (contentType === undefined) return ''
  const end = contentType.indexOf(';')
  return (end === -1 ? contentType : contentType.slice(0, end)).trim().toLowerCase()
}

interface Range {
  type: string
  subtype: string
  quality: number
}

const RANGES_MAX = 100

const RANGE = /^([!#$%&'*+\-.^_`|~0-9a-z]+)\/([!#$%&'*+\-.^_`|~0-9a-z]+)$/
const QUALITY_PARAMETER = /^\s*q\s*=(.*)$/is
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/

/**
 * Returns the members of `types` that `accept` allows, by preference, then in the given order. A missing or empty header allows
 * all types.
 */
export function acceptable(types: readonly string[], accept: string | undefined): readonly string[] {
  if (accept === undefined || accept === '*/*' || accept.trim() === '') return types
  const ranges = readAccept(accept)
  return types
    .map((type) => ({ type, quality: quality(type, ranges) }))
    .filter(({ quality }) => quality > 0)
    .sort((a, b) => b.quality - a.quality)
    .map(({ type }) => type)
}

/** Skips malformed media ranges. A malformed quality counts as 1. */
function readAccept(accept: string): Range[] {
  const ranges: Range[] = []
  for (const member of accept.split(',', RANGES_MAX)) {
    const [range = '', ...parameters] = member.split(';')
    const match = RANGE.exec(range.trim().toLowerCase())
    if (match === null) continue
    const weight = parameters.map((parameter) => QUALITY_PARAMETER.exec(parameter)?.[1]?.trim()).find(Boolean)
    const value = weight !== undefined && QUALITY.test(weight) ? Number(weight) : 1
    const [, type = '', subtype = ''] = match
    ranges.push({ type, subtype, quality: value })
  }
  return ranges
}

/** The most specific matching range decides; 0 if none matches. */
function quality(type: string, ranges: readonly Range[]): number {
  const [major = '', minor = ''] = type.split('/')
  let best = -1
  let value = 0
  for (const range of ranges) {
    const exact = range.type === major && range.subtype === minor
    const half = range.type === major && range.subtype === '*'
    const any = range.type === '*' && range.subtype === '*'
    const specificity = exact ? 2 : half ? 1 : any ? 0 : -1
    if (specificity > best || (specificity === best && specificity >= 0 && range.quality > value)) {
      best = specificity
      value = range.quality
    }
  }
  return value
}
