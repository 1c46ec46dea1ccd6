/** The operator `with`: replaces the conversation of other terms by the one that now contains a message. Contract section 5.2 (271). */

import { locationOf } from '../realm/messages/location.ts'
import { NarrowError, type NarrowOperator, type Term } from './terms.ts'
import type { Viewer } from './viewer.ts'

const OF_CONVERSATION: ReadonlySet<NarrowOperator> = new Set(['channel', 'topic', 'dm'])

/** Throws NarrowError for an unreadable message, unless other terms name a conversation. */
export function withConversation(viewer: Viewer, terms: readonly Term[]): Term[] {
  const ids = new Set(terms.flatMap((term) => (term.operator === 'with' ? [term.operand as number] : [])))
  const [id] = ids
  if (id === undefined) return [...terms]
  if (ids.size > 1) throw new NarrowError('more than one with')
  const others = terms.filter(({ operator }) => operator !== 'with')
  const row = viewer.realm.store.messages.get(id)
  if (row === undefined || !viewer.visibility.canRead(row)) {
    if (others.some(({ operator, negated }) => !negated && OF_CONVERSATION.has(operator))) return others
    throw new NarrowError('invalid operand of with')
  }
  const rest = others.filter(({ operator }) => !OF_CONVERSATION.has(operator))
  const location = locationOf(viewer.realm, row)
  if (location.kind === 'conversation')
    return [...rest, { operator: 'dm', operand: location.conversation.userIds, negated: false }]
  return [
    ...rest,
    { operator: 'channel', operand: location.channel.id, negated: false },
    { operator: 'topic', operand: location.topic, negated: false },
  ]
}
