/** Conditional requests with `etag` and `last-modified`. RFC 9110 section 13; contract section 1.4. */

import { hash } from 'node:crypto'

/** Strong etag of a version. Hashed, so that clients learn nothing about internal counters. */
export const etagOf = (version: string): string => `"${hash('sha256', version, 'base64url').slice(0, 22)}"`

/** `unknown`: the endpoint does not tell whether the resource exists. */
export type ResourceState = { etag: string } | 'present' | 'missing' | 'unknown'

export interface Conditions {
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
}

/** Returns 412 for a failed condition, 304 if the client's copy is current (reads only), else `proceed`. */
export function judge(
  { ifMatch, ifNoneMatch }: Conditions,
  presence: ResourceState,
  read: boolean,
): 'proceed' | 412 | 304 {
  const current = typeof presence === 'object' ? presence.etag : null
  if (ifMatch !== undefined) {
    const tags = readTags(ifMatch)
    if (presence === 'missing') return 412
    // Strong comparison: weak tags never match.
    if (tags !== '*' && (current === null || !tags.includes(current))) return 412
  }
  if (ifNoneMatch !== undefined && presence !== 'missing') {
    const tags = readTags(ifNoneMatch)
    // Weak comparison ignores `W/`.
    const match = tags === '*' ? presence !== 'unknown' : current !== null && tags.some((tag) => bare(tag) === current)
    if (match) return read ? 304 : 412
  }
  return 'proceed'
}

export interface Validators {
  etag: string
  /** Seconds since 1970. */
  timeS: number
}

interface DatedConditions extends Conditions {
  ifModifiedSince: string | undefined
  ifUnmodifiedSince: string | undefined
}

/** Like `judge`, for reads of content with both validators. Dates are ignored if etags are present: RFC 9110 section 13.2.2. */
export function judgeRead(conditions: DatedConditions, { etag, timeS }: Validators): 'proceed' | 412 | 304 {
  const { ifMatch, ifNoneMatch } = conditions
  const [modifiedSince, unmodifiedSince] = [conditions.ifModifiedSince, conditions.ifUnmodifiedSince].map(readDate)
  if (ifMatch === undefined && unmodifiedSince != null && timeS > unmodifiedSince) return 412
  const verdict = judge({ ifMatch, ifNoneMatch }, { etag }, true)
  const isKept = ifNoneMatch === undefined && modifiedSince != null && timeS <= modifiedSince
  return verdict === 'proceed' && isKept ? 304 : verdict
}

/** True if `range` applies. A part of another version would be useless. RFC 9110 section 13.1.5, strong comparison. */
export const isSameForRange = (ifRange: string | undefined, { etag, timeS }: Validators): boolean =>
  ifRange === undefined || ifRange.trim() === etag || readDate(ifRange) === timeS

/** Preferred date format of RFC 9110 section 5.6.7. */
export const httpDate = (timeS: number): string => new Date(timeS * 1000).toUTCString()

const HTTP_DATE = /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/

/** Returns null for other date formats; the condition is then ignored. */
function readDate(header: string | undefined): number | null {
  const text = header?.trim() ?? ''
  const time = HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(time) ? null : time / 1000
}

/** RFC 9110 section 8.8.3: any visible characters but `"` in quotes, after `W/` if weak. */
const TAGS = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

const readTags = (header: string): '*' | string[] => (header.trim() === '*' ? '*' : (header.match(TAGS) ?? []))

const bare = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : tag)
