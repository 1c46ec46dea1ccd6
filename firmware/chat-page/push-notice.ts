/** Notifications of messages, as the service worker and the tabs show them. Uses no DOM. */

import { type HtmlPart, readHtml } from './message/reader.ts'
import { addressOf, conversationOf } from './model/conversation.ts'
import type { ReceivedMessage } from './model/types.ts'

const TEXT_CHARACTERS_MAX = 200

export interface MessageNotice {
  readonly title: string
  readonly body: string
  /** A notification replaces an earlier one of its conversation. */
  readonly tag: string
  /** Absent for a test. */
  readonly messageId?: number
  /** Fragment of the view; null if it is not known. */
  readonly address: string | null
  readonly icon?: string
}

/** Texts in the language of the browser: the service worker has no others of the page. */
interface NoticeWords {
  readonly product: string
  readonly newMessage: string
  readonly openToRead: string
  readonly newDirectMessage: string
  readonly pushTested: string
}

/** Text that the push service delivers. `chat/CONTRACT.md`, section 3.9.1. */
export interface PushedText {
  readonly id: number
  readonly hidden?: true
  readonly conversation?: number
  readonly sender?: string
  readonly channel?: string
  readonly topic?: string
  readonly text?: string
}

const OF_NO_CONVERSATION = 'message'

export const tagOf = (recipientId: number, topic: string): string => `message ${recipientId} ${topic.toLowerCase()}`

export const titleOf = (sender: string, place: string | null): string =>
  place === null ? sender : `${sender} (${place})`

const placeName = (channel: string, topic: string): string => (topic === '' ? `#${channel}` : `#${channel} > ${topic}`)

/** Null if the text does not tell who has sent what. */
export function noticeOfPush(pushed: PushedText, words: NoticeWords): MessageNotice | null {
  const { id, conversation, sender, channel, topic = '', text } = pushed
  if (conversation === undefined || sender === undefined) return null
  return {
    title: titleOf(sender, channel === undefined ? null : placeName(channel, topic)),
    body: text ?? words.newDirectMessage,
    tag: tagOf(conversation, topic),
    messageId: id,
    address: null,
  }
}

export function noticeOfMessage(message: ReceivedMessage, isHidden: boolean, words: NoticeWords): MessageNotice {
  const { id, sender_full_name: sender, display_recipient: channel, subject, recipient_id: recipientId } = message
  const { avatar_url: picture } = message
  return {
    title: titleOf(sender, typeof channel === 'string' ? placeName(channel, subject) : null),
    body: isHidden ? words.newDirectMessage : messageText(message.content),
    tag: tagOf(recipientId, subject),
    messageId: id,
    address: addressOfMessage(message),
    ...(picture?.startsWith('/') && { icon: picture }), // others would be asked of another host
  }
}

/** The account itself may be among the participants: the page leaves it out. */
export function addressOfMessage(message: ReceivedMessage): string {
  const { id, display_recipient: channel } = message
  const name = typeof channel === 'string' ? channel : ''
  return `${addressOf(conversationOf(message, 0), () => name, 0)}/near/${id}`
}

export const noticeWithoutText = ({ id }: PushedText, words: NoticeWords): MessageNotice => ({
  title: words.newMessage,
  body: words.openToRead,
  tag: OF_NO_CONVERSATION,
  messageId: id,
  address: null,
})

export const noticeOfTest = (words: NoticeWords): MessageNotice => ({
  ...{ title: words.product, body: words.pushTested, tag: 'test', address: null },
})

export const messageText = (html: string): string => textOf(readHtml(html) ?? []).slice(0, TEXT_CHARACTERS_MAX)

const textOf = (parts: readonly HtmlPart[]): string =>
  parts
    .map((part) => (typeof part === 'string' ? part : part.tag === 'br' ? ' ' : textOf(part.children)))
    .join('')
    .replace(/\s+/g, ' ')
