/** The newest messages of a conversation or of several, in memory: at most 300 by default, without gaps. */

import { call } from '../api.ts'
import { type ConversationRef, conversationOf, keyOf, narrowOf } from './conversation.ts'
import { join } from './element-count.ts'
import type { ReactionOfMessage, ReceivedMessage, ReceivedSubmessage } from './types.ts'

interface ListSizes {
  /** Numbers of messages. */
  readonly firstEachSide: number
  readonly page: number
  /** Added at once, as a part of a page. */
  readonly portion: number
  readonly max: number
  /** Elements that the messages take in the document. */
  readonly elements: number
}

/**
 * Browsers lay out this many messages and elements without delay, and draw a frame in time that adds a portion. The frame around the list
 * has some thousand elements more.
 */
const SIZES: ListSizes = { firstEachSide: 50, page: 100, portion: 10, max: 300, elements: 10_000 }
const PORTION_MS = 16 // between two portions
/** GET /messages treats an integer at or above it as the newest message. */
export const NEWEST = 10_000_000_000_000_000
/** Changes during one fetch that are made again after it. After more of them the newest messages are fetched again. */
const LATE_MAX = 1000

/** The messages that a list has. */
export interface ListSource {
  /** Differs between sources. */
  readonly key: string
  /** Null if the messages are of several conversations. */
  readonly conversation: ConversationRef | null
  readonly narrow: readonly { operator: string; operand: unknown }[]
  holds(conversation: ConversationRef): boolean
}

export function sourceOf(conversation: ConversationRef, ownId: number): ListSource {
  const key = keyOf(conversation)
  return { key, conversation, narrow: narrowOf(conversation, ownId), holds: (one) => keyOf(one) === key }
}

interface FetchedMessages<Message> {
  messages: Message[]
  anchor: number
  found_newest: boolean
  found_oldest: boolean
}

/** `range`: anchor, numbers and narrow of `GET /messages`. Throws as `call` does. */
export const fetchMessages = <Message = ReceivedMessage>(
  range: Readonly<Record<string, unknown>>,
  signal: AbortSignal,
): Promise<FetchedMessages<Message>> =>
  call('GET', '/messages', { ...range, client_gravatar: false, allow_empty_topic_name: true }, { signal })

export interface MessageList {
  readonly source: ListSource
  readonly messages: readonly ReceivedMessage[]
  /** True if the list contains the oldest, or newest, message of the conversation. */
  readonly hasOldest: boolean
  readonly hasNewest: boolean
  /** Id of the first unread message at the time the list was opened. */
  readonly firstUnread: number | null
  /** Where the last messages of the list were moved to; null if there are others. */
  readonly movedTo: ConversationRef | null
  /** Opens at the message, else at the first unread one, else at the newest. Throws as `call` does. */
  open(near: number | null, signal: AbortSignal): Promise<void>
  /** Has these messages, which are the newest, in place of a fetch. */
  take(newest: readonly ReceivedMessage[]): void
  /**
   * Resolves with false if there is nothing to fetch, or another page is being fetched. Drops an answer that is no longer wanted.
   * Throws as `call` does.
   */
  fetchOlder(signal: AbortSignal, isWanted?: () => boolean): Promise<boolean>
  fetchNewer(signal: AbortSignal, isWanted?: () => boolean): Promise<boolean>
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
export function createMessageList(
  source: ListSource,
  ownId: number,
  changed: () => void,
  sizes: ListSizes = SIZES,
): MessageList {
  const { firstEachSide, page: pageSize, portion } = sizes
  let messages: readonly ReceivedMessage[] = []
  let hasOldest = false
  let hasNewest = false
  let firstUnread: number | null = null
  let movedTo: ConversationRef | null = null
  let isFetching = false
  /** Changes since the running fetch was sent: its answer may be older than they are. */
  let late: (() => void)[] = []

  const fetchAround = (anchor: number | string, before: number, after: number, signal: AbortSignal) =>
    fetchMessages({ anchor, num_before: before, num_after: after, narrow: source.narrow }, signal)

  async function fetchPage(isOlder: boolean, signal: AbortSignal, isWanted = () => true): Promise<boolean> {
    const edge = isOlder ? messages[0] : messages.at(-1)
    if (isFetching || edge === undefined || (isOlder ? hasOldest : hasNewest)) return false
    isFetching = true
    try {
      const page = await fetchAround(edge.id, isOlder ? pageSize : 0, isOlder ? 0 : pageSize, signal)
      if (isWanted()) await addPage(page, isOlder, signal)
      changed()
      return true
    } finally {
      isFetching = false
      late = []
    }
  }

  /** Leaves it to the caller to tell of the last portion. */
  async function addPage(page: FetchedMessages<ReceivedMessage>, isOlder: boolean, signal: AbortSignal): Promise<void> {
    const known = new Set(messages.map(({ id }) => id))
    let left = page.messages.filter(({ id }) => !known.has(id))
    for (;;) {
      const isLast = left.length <= portion
      if (isOlder) prepend(left.slice(-portion), isLast && page.found_oldest)
      else append(left.slice(0, portion), isLast && page.found_newest)
      left = isOlder ? left.slice(0, -portion) : left.slice(portion)
      catchUp()
      if (isLast) return
      changed()
      await new Promise((resolve) => setTimeout(resolve, PORTION_MS))
      signal.throwIfAborted()
    }
  }

  /** Makes the change now, and again after a running fetch. Each change must be the same when it is made twice. */
  const apply = (act: () => void): void => {
    act()
    if (isFetching) late = [...late, act].slice(-LATE_MAX)
  }
  const catchUp = (): void => {
    for (const act of late) act()
    if (late.length === LATE_MAX) hasNewest = false
  }
  const change = (id: number, make: (message: ReceivedMessage) => Partial<ReceivedMessage>): void => {
    messages = messages.map((message) => (message.id === id ? { ...message, ...make(message) } : message))
  }

  function prepend(fresh: readonly ReceivedMessage[], isAll: boolean): void {
    const kept = join(messages, fresh.toReversed(), sizes)
    hasOldest = isAll && kept.fresh.length === fresh.length
    if (kept.known.length < messages.length) hasNewest = false
    messages = [...kept.fresh.toReversed(), ...kept.known]
  }
  function append(fresh: readonly ReceivedMessage[], isAll: boolean): void {
    const kept = join(messages.toReversed(), fresh, sizes)
    hasNewest = isAll && kept.fresh.length === fresh.length
    if (kept.known.length < messages.length) hasOldest = false
    messages = [...kept.known.toReversed(), ...kept.fresh]
  }
  const receive = (message: ReceivedMessage): void => {
    if (!hasNewest || !source.holds(conversationOf(message, ownId))) return
    if (messages.some(({ id }) => id === message.id)) return
    append([message], true)
  }
  const remove = (ids: readonly number[]): void => {
    const gone = new Set(ids)
    messages = messages.filter(({ id }) => !gone.has(id))
  }
  /** Messages that come from elsewhere are fetched as other pages are: the list has no gaps. */
  const cutAt = (ids: readonly number[]): void => {
    for (const id of ids) {
      if (messages.some((one) => one.id === id)) continue
      if (messages.every((one) => one.id > id)) hasOldest = false
      else {
        messages = messages.filter((one) => one.id < id)
        hasNewest = false
      }
    }
  }
  async function openAt(anchor: number | string, signal: AbortSignal): Promise<void> {
    const page = await fetchAround(anchor, firstEachSide, firstEachSide, signal)
    const found = page.messages.findIndex(({ id }) => id >= page.anchor)
    const at = found === -1 ? page.messages.length : found
    messages = []
    append(page.messages.slice(at), page.found_newest)
    prepend(page.messages.slice(0, at), page.found_oldest)
    catchUp()
    firstUnread = firstUnreadOf(messages)
    changed()
  }

  return {
    source,
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
    get movedTo() {
      return movedTo
    },
    async open(near, signal) {
      isFetching = true
      try {
        await openAt(near ?? 'first_unread', signal)
      } finally {
        isFetching = false
        late = []
      }
    },
    take(newest) {
      messages = newest
      hasNewest = true
      firstUnread = firstUnreadOf(messages)
    },
    fetchOlder: (signal, isWanted) => fetchPage(true, signal, isWanted),
    fetchNewer: (signal, isWanted) => fetchPage(false, signal, isWanted),
    receive: (message) => apply(() => receive(message)),
    remove: (ids) => apply(() => remove(ids)),
    move: (ids, to) =>
      apply(() => {
        if (!source.holds(to)) {
          const isLast = messages.length > 0
          remove(ids)
          if (isLast && messages.length === 0) movedTo = to
          return
        }
        if (to.kind === 'topic')
          for (const id of ids) change(id, () => ({ stream_id: to.channelId, subject: to.topic }))
        if (source.conversation !== null) cutAt(ids)
      }),
    edit: (id, content, editedS, isMe) =>
      apply(() => change(id, () => ({ content, is_me_message: isMe, last_edit_timestamp: editedS }))),
    react: (id, isAdded, reaction) =>
      apply(() =>
        change(id, ({ reactions }) => {
          const others = reactions.filter(
            (one) =>
              one.user_id !== reaction.user_id ||
              one.emoji_code !== reaction.emoji_code ||
              one.reaction_type !== reaction.reaction_type,
          )
          return { reactions: isAdded ? [...others, reaction] : others }
        }),
      ),
    extend: (id, submessage) =>
      apply(() =>
        change(id, ({ submessages }) => ({
          submessages: [...submessages.filter((one) => one.id !== submessage.id), submessage],
        })),
      ),
    flag: (ids, flag, isAdded) =>
      apply(() => {
        const marked = ids && new Set(ids)
        messages = messages.map((message) => {
          if (marked !== null && !marked.has(message.id)) return message
          const flags = message.flags.filter((one) => one !== flag)
          return { ...message, flags: isAdded ? [...flags, flag] : flags }
        })
      }),
  }
}

const firstUnreadOf = (messages: readonly ReceivedMessage[]): number | null =>
  messages.find(({ flags }) => !flags.includes('read'))?.id ?? null
