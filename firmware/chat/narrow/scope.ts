/**
 * Restricts full-text searches to channels and topics. The index knows where a message was sent, not where it was moved since, so a scope
 * includes every place that messages came from. It may match too many messages, but never misses one.
 */

import type { ChatStore } from '../store/store.ts'
import { sentIn, sentTo } from '../store/words.ts'

/** Index words of which a message must have one. Null if there are too many for a query. */
export type Scope = readonly string[] | null

/** Each word costs a step for every match. Above this number it is cheaper to read and discard the excess. */
export const SCOPE_MAX = 50
/** Bound on topics whose names match a search. Each costs some microseconds, once per query. */
export const TOPICS_MAX = 200

export function scopeOfRecipients({ messages }: ChatStore, ids: readonly number[]): Scope {
  if (ids.length > SCOPE_MAX) return null
  const births = new Set(ids.flatMap((id) => messages.birthsOf(id, SCOPE_MAX + 1)))
  return births.size > SCOPE_MAX ? null : [...births].map(sentTo)
}

export function scopeOfTopics({ messages }: ChatStore, ids: readonly number[], max = SCOPE_MAX): Scope {
  if (ids.length > max) return null
  const origins = messages.originsOf(ids, max + 1)
  return origins.length > max ? null : origins.map(sentIn)
}
