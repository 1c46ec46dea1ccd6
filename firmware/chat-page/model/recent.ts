/** Conversations by their newest message. Uses no DOM. */

import { type ConversationRef, conversationOf, keyOf } from './conversation.ts'
import type { ReceivedMessage } from './types.ts'

export interface RecentConversation {
  readonly conversation: ConversationRef
  readonly newest: ReceivedMessage
  /** Senders, the newest first. */
  readonly senderIds: readonly number[]
}

/** `messages` are in ascending order. */
export function recentConversations(messages: readonly ReceivedMessage[], ownId: number): RecentConversation[] {
  const found = new Map<string, { conversation: ConversationRef; newest: ReceivedMessage; senders: Set<number> }>()
  for (const message of messages.toReversed()) {
    const conversation = conversationOf(message, ownId)
    const key = keyOf(conversation)
    const known = found.get(key)
    if (known === undefined) found.set(key, { conversation, newest: message, senders: new Set([message.sender_id]) })
    else known.senders.add(message.sender_id)
  }
  return [...found.values()].map(({ senders, ...rest }) => ({ ...rest, senderIds: [...senders] }))
}
