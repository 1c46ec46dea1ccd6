/** The messages of one conversation in memory: at most 300, without gaps. */

import { call } from '../api.ts'
import { type ConversationRef, conversationOf, keyOf, narrowOf } from './conversation.ts'
import type { ReactionOfMessage, ReceivedMessage, ReceivedSubmessage } from './types.ts'

const FIRST_EACH_SIDE = 50
const PAGE = 100
const MESSAGES_MAX = 300 // browsers lay out this many without delay

interface FetchedMessages {
  messages: ReceivedMessage[]
  anchor: number
  found_newest: boolean
  found_oldest: boolean
}

export interface MessageList {
  readonly conversation: ConversationRef
  readonly messages: readonly ReceivedMessage[]
  /** True if the list contains the oldest, or newest, message of the conversation. */
  readonly hasOldest: boolean
  readonly hasNewest: boolean
  /** Id of the first unread message at the time the list was opened. */
  readonly firstUnread: number | null
  /** Opens at the message, else at the first unread one, else at the newest. Throws as `call` does. */
  open(near: number | null, signal: AbortSignal): Promise<void>
  /** Does nothing while another page is being fetched. Throws as `call` does. */
  fetchOlder(signal: AbortSignal): Promise<void>
  fetchNewer(signal: AbortSignal): Promise<void>
  receive(message: ReceivedMessage): void
  remove(ids: readonly number[]): void
  move(ids: readonly number[], to: ConversationRef): void
  edit(id: number, content: string, editedS: number, isMe: boolean): void
  react(id: number, isAdded: boolean, reaction: ReactionOfMessage): void
  extend(id: number, submessage: ReceivedSubmessage): void
  /** `ids` is null for all messages. */
  flag(ids: readonly number[] | null, flag: string, isAdded: boolean): void
}

/** `changed` is called after changes that no event causes. */
export function createMessageList(conversation: ConversationRef, ownId: number, changed: () => void): MessageList {
  const key = keyOf(conversation)
  const narrow = narrowOf(conversation, ownId)
  let messages: readonly ReceivedMessage[] = []
  let hasOldest = false
  let hasNewest = false
  let firstUnread: number | null = null
  let isFetching = false

  const fetchAround = (anchor: number | string, before: number, after: number, signal: AbortSignal) =>
    call<FetchedMessages>(
      'GET',
      '/messages',
      {
        ...{ anchor, num_before: before, num_after: after, narrow },
        ...{ client_gravatar: false, allow_empty_topic_name: true },
      },
      { signal },
    )

  async function fetchPage(isOlder: boolean, signal: AbortSignal): Promise<void> {
    const edge = isOlder ? messages[0] : messages.at(-1)
    if (isFetching || edge === undefined || (isOlder ? hasOldest : hasNewest)) return
    isFetching = true
    try {
      const page = await fetchAround(edge.id, isOlder ? PAGE : 0, isOlder ? 0 : PAGE, signal)
      const known = new Set(messages.map(({ id }) => id))
      const fresh = page.messages.filter(({ id }) => !known.has(id))
      if (isOlder) {
        hasOldest = page.found_oldest
        messages = [...fresh, ...messages]
        if (messages.length > MESSAGES_MAX) hasNewest = false
        messages = messages.slice(0, MESSAGES_MAX)
      } else {
        hasNewest = page.found_newest
        messages = [...messages, ...fresh]
        if (messages.length > MESSAGES_MAX) hasOldest = false
        messages = messages.slice(-MESSAGES_MAX)
      }
      changed()
    } finally {
      isFetching = false
    }
  }

  const change = (id: number, make: (message: ReceivedMessage) => Partial<ReceivedMessage>): void => {
    messages = messages.map((message) => (message.id === id ? { ...message, ...make(message) } : message))
  }

  return {
    conversation,
    get messages() {
      return messages
    },
    get hasOldest() {
      return hasOldest
    },
    get hasNewest() {
      return hasNewest
    },
    get firstUnread() {
      return firstUnread
    },
    async open(near, signal) {
      const page = await fetchAround(near ?? 'first_unread', FIRST_EACH_SIDE, FIRST_EACH_SIDE, signal)
      messages = page.messages
      hasOldest = page.found_oldest
      hasNewest = page.found_newest
      firstUnread = messages.find(({ flags }) => !flags.includes('read'))?.id ?? null
      changed()
    },
    fetchOlder: (signal) => fetchPage(true, signal),
    fetchNewer: (signal) => fetchPage(false, signal),
    receive(message) {
      if (!hasNewest || keyOf(conversationOf(message, ownId)) !== key) return
      if (messages.some(({ id }) => id === message.id)) return
      messages = [...messages, message]
      if (messages.length > MESSAGES_MAX) hasOldest = false
      messages = messages.slice(-MESSAGES_MAX)
    },
    remove(ids) {
      const gone = new Set(ids)
      messages = messages.filter(({ id }) => !gone.has(id))
    },
    move(ids, to) {
      if (keyOf(to) !== key) this.remove(ids)
    },
    edit: (id, content, editedS, isMe) =>
      change(id, () => ({ content, is_me_message: isMe, last_edit_timestamp: editedS })),
    react: (id, isAdded, reaction) =>
      change(id, ({ reactions }) => {
        const others = reactions.filter(
          (one) =>
            one.user_id !== reaction.user_id ||
            one.emoji_code !== reaction.emoji_code ||
            one.reaction_type !== reaction.reaction_type,
        )
        return { reactions: isAdded ? [...others, reaction] : others }
      }),
    extend: (id, submessage) => change(id, ({ submessages }) => ({ submessages: [...submessages, submessage] })),
    flag(ids, flag, isAdded) {
      const marked = ids && new Set(ids)
      messages = messages.map((message) => {
        if (marked !== null && !marked.has(message.id)) return message
        const flags = message.flags.filter((one) => one !== flag)
        return { ...message, flags: isAdded ? [...flags, flag] : flags }
      })
    },
  }
}
