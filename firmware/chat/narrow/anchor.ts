/** The start of a fetch in the parameters of requests. Contract section 5.1: anchor, anchor_date, use_first_unread_anchor. */

import { badRequest, ChatError, invalidParameter } from '../base/error.ts'
import { type Anchor, NEWEST } from './range.ts'

interface AnchorGiven {
  anchor: string | undefined
  anchor_date: string | undefined
  use_first_unread_anchor: boolean
}

/** Throws `REQUEST_VARIABLE_MISSING`, `REQUEST_VARIABLE_INVALID` and `BAD_REQUEST`. */
export function readAnchor({ anchor, anchor_date: date, use_first_unread_anchor: isUnread }: AnchorGiven): Anchor {
  const name = anchor?.replace(/^"(.*)"$/, '$1') // some clients send strings as JSON, others raw
  if (date !== undefined && name !== 'date') throw badRequest('anchor_date is for the anchor date alone')
  if (name === 'date') {
    if (date === undefined) throw missing('anchor_date')
    return { date: readDate(date) }
  }
  if (name === undefined && !isUnread) throw missing('anchor')
  if (name === 'newest' || name === 'oldest' || name === 'first_unread') return name
  if (isUnread) return 'first_unread'
  if (!/^-?\d{1,20}$/.test(name ?? '')) throw invalidParameter('anchor', 'anchor is neither an id nor a place')
  return Math.min(Math.max(Number(name), 0), NEWEST)
}

const missing = (name: string): ChatError =>
  new ChatError('REQUEST_VARIABLE_MISSING', `Missing '${name}' argument`, { var_name: name })

const DATE = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i

/** Parses ISO 8601 into seconds. A date without time is its first second; a time without zone is UTC. */
function readDate(text: string): number {
  const match = DATE.exec(text)
  const isBare = match?.[1] === undefined
  const time = match === null ? Number.NaN : Date.parse(isBare && text.length > 10 ? `${text}Z` : text)
  if (Number.isNaN(time)) throw invalidParameter('anchor_date', 'anchor_date is not an ISO 8601 date')
  return Math.ceil(time / 1000)
}
