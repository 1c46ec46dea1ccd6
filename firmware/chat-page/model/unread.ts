import { type ConversationRef, conversationOf, directWith, keyOf } from './conversation.ts'
import type { ReceivedMessage, Registered } from './types.ts'

export interface UnreadGroup {
  readonly conversation: ConversationRef
  readonly ids: readonly number[]
  readonly isMentioned: boolean
}

export interface Unread {
  add(id: number, conversation: ConversationRef, isMentioned: boolean): void
  remove(ids: Iterable<number>): void
  /** Ignores messages that are not unread. */
  move(ids: Iterable<number>, conversation: ConversationRef): void
  has(id: number): boolean
  countOf(conversation: ConversationRef): number
  /** Groups by conversation; the one with the newest message first. */
  groups(): UnreadGroup[]
  clear(): void
}

export function createUnread({ unread_msgs, user_id: ownId }: Pick<Registered, 'unread_msgs' | 'user_id'>): Unread {
  const messages = new Map<number, { conversation: ConversationRef; isMentioned: boolean }>()
  const mentions = new Set(unread_msgs.mentions)
  const addAll = (ids: readonly number[], conversation: ConversationRef) => {
    for (const id of ids) messages.set(id, { conversation, isMentioned: mentions.has(id) })
  }
  for (const { stream_id: channelId, topic, unread_message_ids: ids } of unread_msgs.streams)
    addAll(ids, { kind: 'topic', channelId, topic })
  for (const { other_user_id: other, unread_message_ids: ids } of unread_msgs.pms)
    addAll(ids, directWith([other], ownId))
  for (const { user_ids_string: people, unread_message_ids: ids } of unread_msgs.huddles)
    addAll(ids, directWith(people.split(',').map(Number), ownId))

  return {
    add: (id, conversation, isMentioned) => void messages.set(id, { conversation, isMentioned }),
    remove: (ids) => {
      for (const id of ids) messages.delete(id)
    },
    move: (ids, conversation) => {
      for (const id of ids) {
        const known = messages.get(id)
        if (known !== undefined) messages.set(id, { ...known, conversation })
      }
    },
    has: (id) => messages.has(id),
    countOf: (conversation) => {
      const key = keyOf(conversation)
      let count = 0
      for (const one of messages.values()) if (keyOf(one.conversation) === key) count++
      return count
    },
    groups: () => {
      const groups = new Map<string, { conversation: ConversationRef; ids: number[]; isMentioned: boolean }>()
      for (const [id, { conversation, isMentioned }] of messages) {
        const key = keyOf(conversation)
        const group = groups.get(key) ?? { conversation, ids: [], isMentioned: false }
        group.ids.push(id)
        group.isMentioned ||= isMentioned
        groups.set(key, group)
      }
      for (const { ids } of groups.values()) ids.sort((a, b) => a - b)
      return [...groups.values()].sort((a, b) => b.ids.at(-1)! - a.ids.at(-1)!)
    },
    clear: () => messages.clear(),
  }
}

export function addReceived(unread: Unread, message: ReceivedMessage, flags: readonly string[], ownId: number): void {
  if (flags.includes('read')) return
  const isMentioned = flags.some((flag) => /^(mentioned|(stream|topic)_wildcard_mentioned)$/.test(flag))
  unread.add(message.id, conversationOf(message, ownId), isMentioned)
}
