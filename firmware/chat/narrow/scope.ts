/**
 * Where a search looks in the index of words, which knows of a message where it was sent to and not where it has been moved
 * since: so it looks at all places that messages have come from. It may find more than lies there now, never less.
 */

import type { ChatStore } from '../store/store.ts'
import { sentIn, sentTo } from '../store/words.ts'

/** Words of which a message has one. Null: more than an index is asked for. */
export type Scope = readonly string[] | null

/** Each costs a step for each message that is found; to read what more of them leave out costs less. */
export const SCOPE_MAX = 50
/** Topics whose names are found add to the messages that are: each costs some microseconds, once. */
export const TOPICS_MAX = 200

/** Of messages that lie in one of them. */
export function scopeOfRecipients({ messages }: ChatStore, ids: readonly number[]): Scope {
  if (ids.length > SCOPE_MAX) return null
  const births = new Set(ids.flatMap((id) => messages.birthsOf(id, SCOPE_MAX + 1)))
  return births.size > SCOPE_MAX ? null : [...births].map(sentTo)
}

/** The same of topics. */
export function scopeOfTopics({ messages }: ChatStore, ids: readonly number[], max = SCOPE_MAX): Scope {
  if (ids.length > max) return null
  const origins = messages.originsOf(ids, max + 1)
  return origins.length > max ? null : origins.map(sentIn)
}
