/** Conditional requests: `etag`, `last-modified` and the fields that ask for them. RFC 9110 section 13; contract section 1.4. */

import { hash } from 'node:crypto'

/** A strong etag for a version of a resource: opaque, so that it tells nothing about counters behind it. */
export const etagOf = (version: string): string => `"${hash('sha256', version, 'base64url').slice(0, 22)}"`

/** `unknown`: an endpoint that does not say whether its resource is there. */
export type ResourceState = { etag: string } | 'present' | 'missing' | 'unknown'

export interface Conditions {
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
}

/** Whether the request goes on, fails (412), or the client's copy is still good (304, for reads only). */
export function judge(
  { ifMatch, ifNoneMatch }: Conditions,
  presence: ResourceState,
  read: boolean,
): 'proceed' | 412 | 304 {
  const current = typeof presence === 'object' ? presence.etag : null
  if (ifMatch !== undefined) {
    const tags = readTags(ifMatch)
    if (presence === 'missing') return 412
    // Strong comparison: a weak tag never matches.
    if (tags !== '*' && (current === null || !tags.includes(current))) return 412
  }
  if (ifNoneMatch !== undefined && presence !== 'missing') {
    const tags = readTags(ifNoneMatch)
    // Weak comparison: `W/` makes no difference.
    const match = tags === '*' ? presence !== 'unknown' : current !== null && tags.some((tag) => bare(tag) === current)
    if (match) return read ? 304 : 412
  }
  return 'proceed'
}

/** For content that never changes once it is there, such as a file. */
export interface Validators {
  etag: string
  /** Seconds since 1970. */
  timeS: number
}

interface DatedConditions extends Conditions {
  ifModifiedSince: string | undefined
  ifUnmodifiedSince: string | undefined
}

/** As `judge`, for reading what has both validators; where there are etags, dates are not looked at: RFC 9110 section 13.2.2. */
export function judgeRead(conditions: DatedConditions, { etag, timeS }: Validators): 'proceed' | 412 | 304 {
  const { ifMatch, ifNoneMatch } = conditions
  const [modifiedSince, unmodifiedSince] = [conditions.ifModifiedSince, conditions.ifUnmodifiedSince].map(readDate)
  if (ifMatch === undefined && unmodifiedSince != null && timeS > unmodifiedSince) return 412
  const verdict = judge({ ifMatch, ifNoneMatch }, { etag }, true)
  const isKept = ifNoneMatch === undefined && modifiedSince != null && timeS <= modifiedSince
  return verdict === 'proceed' && isKept ? 304 : verdict
}

/** Whether `range` counts: a part of another version is of no use. RFC 9110 section 13.1.5, by strong comparison. */
export const isSameForRange = (ifRange: string | undefined, { etag, timeS }: Validators): boolean =>
  ifRange === undefined || ifRange.trim() === etag || readDate(ifRange) === timeS

/** RFC 9110 section 5.6.7, in the form that is to be sent. */
export const httpDate = (timeS: number): string => new Date(timeS * 1000).toUTCString()

const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/** Null for what is no date in that form, which is then ignored. */
function readDate(header: string | undefined): number | null {
  const text = header?.trim() ?? ''
  const time = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? null : time / 1000
}

/** RFC 9110 section 8.8.3: `"` any visible character but `"` `"`, weak ones behind `W/`. */
const TAGS = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

const readTags = (header: string): '*' | string[] => (header.trim() === '*' ? '*' : (header.match(TAGS) ?? []))

const bare = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : tag)
