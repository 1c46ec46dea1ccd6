/** Acts on one message that no dialog asks about. */

import { call } from './api.ts'
import { changeDraft, moveDraft } from './drafts.ts'
import { type ConversationRef, conversationOf, directWith, narrowOf, readPlace } from './model/conversation.ts'
import type { RealmView } from './model/realm.ts'
import type { ReactionOfMessage, ReceivedMessage } from './model/types.ts'
import { linkTo } from './names.ts'
import { fragment, go } from './place.ts'
import { attempt } from './problems.ts'
import { linkToMessage, quote } from './quote.ts'
import { boxWanted } from './wanted.ts'

type ChosenEmoji = Pick<ReactionOfMessage, 'emoji_name' | 'emoji_code' | 'reaction_type'>

export const react = (messageId: number, isAdded: boolean, emoji: ChosenEmoji): Promise<boolean> => {
  const { emoji_name, emoji_code, reaction_type } = emoji
  const values = { emoji_name, emoji_code, reaction_type }
  return attempt(call(isAdded ? 'POST' : 'DELETE', `/messages/${messageId}/reactions`, values))
}

export const MARKED_AT_ONCE = 5000 // messages; the bound of the API

/** Stars the message, or takes the star away. */
export const star = (message: ReceivedMessage): Promise<boolean> => toggleFlag(message, 'starred')

/** Shows one line in the place of the message, or the message again. */
export const collapse = (message: ReceivedMessage): Promise<boolean> => toggleFlag(message, 'collapsed')

const toggleFlag = ({ id, flags }: ReceivedMessage, flag: string): Promise<boolean> =>
  attempt(call('POST', '/messages/flags', { messages: [id], op: flags.includes(flag) ? 'remove' : 'add', flag }))

/** Marks the message and all later ones of its conversation. */
export const markUnreadFrom = (realm: RealmView, message: ReceivedMessage): Promise<boolean> =>
  attempt(
    call('POST', '/messages/flags/narrow', {
      ...{ anchor: message.id, num_before: 0, num_after: MARKED_AT_ONCE - 1, op: 'remove', flag: 'read' },
      narrow: narrowOf(conversationOf(message, realm.ownId), realm.ownId),
    }),
  )

/** Focuses the box of the message's conversation. */
export function openBox(realm: RealmView, message: ReceivedMessage): void {
  boxWanted.value = true
  if (readPlace(fragment.value, realm.ownId).view !== 'conversation') go(linkToMessage(realm, message))
}

/** Opens the box once the text is in its draft, unless another view has been opened meanwhile. */
async function openBoxAfter(written: Promise<unknown>, realm: RealmView, message: ReceivedMessage): Promise<void> {
  const here = fragment.value
  if ((await attempt(written)) && fragment.value === here) openBox(realm, message)
}

export const quoteIntoBox = (realm: RealmView, message: ReceivedMessage): Promise<void> =>
  openBoxAfter(quote(realm, message), realm, message)

/** Begins a direct message to the sender. */
export function writeToSender(realm: RealmView, { sender_id: id }: ReceivedMessage): void {
  boxWanted.value = true
  go(linkTo(realm, directWith([id], realm.ownId)))
}

/** Appends a mention of the sender to the draft of the message's conversation. */
export function mentionSender(realm: RealmView, message: ReceivedMessage): Promise<void> {
  const mention = `@**${message.sender_full_name}|${message.sender_id}** `
  const written = changeDraft(conversationOf(message, realm.ownId), (typed) => {
    const space = typed === '' || /\s$/.test(typed) ? '' : ' '
    return `${typed}${space}${mention}`
  })
  return openBoxAfter(written, realm, message)
}

/** Shows the conversation that another one was moved to, with what is written for it. */
export function follow(realm: RealmView, from: ConversationRef, to: ConversationRef): void {
  boxWanted.value = document.activeElement?.closest('.compose') != null
  moveDraft(from, to)
  go(linkTo(realm, to))
}
