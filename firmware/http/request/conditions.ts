/** Conditional requests: `etag`, `if-match`, `if-none-match`. RFC 9110 section 13; contract section 1.4. */

import { hash } from 'node:crypto'

/** A strong etag for a version of a resource: opaque, so that it tells nothing about counters behind it. */
export const etagOf = (version: string): string => `"${hash('sha256', version, 'base64url').slice(0, 22)}"`

/** `unknown`: an endpoint that does not say whether its resource is there. */
export type Presence = { etag: string } | 'present' | 'missing' | 'unknown'

export interface Conditions {
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
}

/** Whether the request goes on, fails (412), or the client's copy is still good (304, for reads only). */
export function judge({ ifMatch, ifNoneMatch }: Conditions, presence: Presence, read: boolean): 'proceed' | 412 | 304 {
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

/** RFC 9110 section 8.8.3: `"` any visible character but `"` `"`, weak ones behind `W/`. */
const TAGS = /(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"/g

const readTags = (header: string): '*' | string[] => (header.trim() === '*' ? '*' : (header.match(TAGS) ?? []))

const bare = (tag: string): string => (tag.startsWith('W/') ? tag.slice(2) : tag)
