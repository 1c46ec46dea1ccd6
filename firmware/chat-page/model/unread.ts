import { type ConversationRef, conversationOf, directWith, keyOf } from './conversation.ts'
import type { ReceivedMessage, Registered } from './types.ts'

export interface UnreadGroup {
  readonly conversation: ConversationRef
  readonly ids: readonly number[]
  /** Messages that mention the account. */
  readonly mentions: number
}

export interface Unread {
  add(id: number, conversation: ConversationRef, isMentioned: boolean): void
  remove(ids: Iterable<number>): void
  /** Removes all of these channels. */
  removeChannels(channelIds: readonly number[]): void
  /** These ignore messages that are not unread. */
  setMentioned(id: number, isMentioned: boolean): void
  move(ids: Iterable<number>, conversation: ConversationRef): void
  /** Undefined if the message is not unread. */
  conversationOf(id: number): ConversationRef | undefined
  has(id: number): boolean
  countOf(conversation: ConversationRef): number
  /** Groups by conversation; the one with the newest message first. */
  groups(): UnreadGroup[]
  clear(): void
  all(): UnreadMessages
}

/** By message id. */
export type UnreadMessages = ReadonlyMap<number, { conversation: ConversationRef; isMentioned: boolean }>

export function readUnread({
  unread_msgs,
  user_id: ownId,
}: Pick<Registered, 'unread_msgs' | 'user_id'>): UnreadMessages {
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
  return messages
}

export function createUnread(initial: UnreadMessages): Unread {
  const messages = new Map(initial)
  return {
    add: (id, conversation, isMentioned) => void messages.set(id, { conversation, isMentioned }),
    remove: (ids) => {
      for (const id of ids) messages.delete(id)
    },
    removeChannels: (channelIds) => {
      for (const [id, { conversation: one }] of messages)
        if (one.kind === 'topic' && channelIds.includes(one.channelId)) messages.delete(id)
    },
    setMentioned: (id, isMentioned) => {
      const known = messages.get(id)
      if (known !== undefined) messages.set(id, { ...known, isMentioned })
    },
    move: (ids, conversation) => {
      for (const id of ids) {
        const known = messages.get(id)
        if (known !== undefined) messages.set(id, { ...known, conversation })
      }
    },
    conversationOf: (id) => messages.get(id)?.conversation,
    has: (id) => messages.has(id),
    countOf: (conversation) => {
      const key = keyOf(conversation)
      let count = 0
      for (const one of messages.values()) if (keyOf(one.conversation) === key) count++
      return count
    },
    groups: () => {
      const groups = new Map<string, { conversation: ConversationRef; ids: number[]; mentions: number }>()
      for (const [id, { conversation, isMentioned }] of messages) {
        const key = keyOf(conversation)
        const group = groups.get(key) ?? { conversation, ids: [], mentions: 0 }
        group.ids.push(id)
        if (isMentioned) group.mentions++
        groups.set(key, group)
      }
      for (const { ids } of groups.values()) ids.sort((a, b) => a - b)
      return [...groups.values()].sort((a, b) => (b.ids.at(-1) ?? 0) - (a.ids.at(-1) ?? 0))
    },
    clear: () => messages.clear(),
    all: () => messages,
  }
}

export function addReceived(unread: Unread, message: ReceivedMessage, flags: readonly string[], ownId: number): void {
  if (!flags.includes('read')) unread.add(message.id, conversationOf(message, ownId), isMentioned(flags))
}

export const isMentioned = (flags: readonly string[]): boolean =>
  flags.some((flag) => /^(mentioned|(stream|topic)_wildcard_mentioned)$/.test(flag))
