/** Keys of Zulip's web client that act on the message with the focus. */

import {
  collapse,
  markUnreadFrom,
  mentionSender,
  openBox,
  quoteIntoBox,
  react,
  star,
  writeToSender,
} from '../message-acts.ts'
import { addressOfArea, conversationOf, readPlace } from '../model/conversation.ts'
import type { RealmView } from '../model/realm.ts'
import { hasHistory, hasReceipts, mayEdit, mayMove } from '../model/rights.ts'
import type { ReceivedMessage } from '../model/types.ts'
import { linkTo, linkToChannel } from '../names.ts'
import { fragment, go } from '../place.ts'
import { linkToMessage } from '../quote.ts'
import { words } from '../words/words.ts'
import type { MessageQuestion } from './message-actions.tsx'
import { isAltKey, isControlKey } from './modifiers.ts'

interface FocusedMessage {
  readonly realm: RealmView
  readonly message: ReceivedMessage
  /** Shows its toolbar, which another message has while that one is pointed at. */
  activate(): void
  edit(): void
  ask(question: MessageQuestion): void
}

type Act = (on: FocusedMessage, element: HTMLElement) => unknown

const THUMBS_UP = { emoji_name: '+1', emoji_code: '1f44d', reaction_type: 'unicode_emoji' }

const press =
  (label: () => string): Act =>
  ({ activate }, element) => {
    activate()
    requestAnimationFrame(() => element.querySelector<HTMLElement>(`.actions button[aria-label="${label()}"]`)?.click())
  }

const reply: Act = ({ realm, message }) => openBox(realm, message)

const KEYS: Readonly<Record<string, Act>> = {
  r: reply,
  Enter: reply,
  R: ({ realm, message }) => writeToSender(realm, message),
  '@': ({ realm, message }) => mentionSender(realm, message),
  '>': ({ realm, message }) => quoteIntoBox(realm, message),
  e: ({ realm, message, edit }) => mayEdit(realm, message, Date.now() / 1000) && edit(),
  m: ({ realm, message, ask }) => mayMove(realm, message) && ask('move'),
  i: press(() => words.more),
  s: ({ realm, message }) => goToConversation(realm, message),
  u: ({ message }) => go(addressOfArea('user', message.sender_id)),
  v: (_on, element) => element.querySelector<HTMLElement>('.media a')?.click(),
  z: ({ realm, message }) => go(linkToMessage(realm, message)),
  ':': press(() => words.addReaction),
  '+': ({ message }) => react(message.id, true, THUMBS_UP),
  '=': ({ realm, message }) => agree(realm, message),
  U: ({ realm, message }) => markUnreadFrom(realm, message),
  '-': ({ message }) => collapse(message),
  H: ({ realm, message, ask }) => hasHistory(realm, message) && ask('history'),
  V: ({ realm, ask }) => hasReceipts(realm) && ask('readers'),
}

/** Handles the key if it is one of them. A key that is held down acts once. */
export function onMessageKey(event: KeyboardEvent, on: FocusedMessage): void {
  const { target, key } = event
  if (event.defaultPrevented || event.isComposing || !(target instanceof HTMLElement)) return
  if (!target.matches('article')) return
  const isControl = isControlKey(event)
  if (isControl ? key !== 's' : isAltKey(event) || !Object.hasOwn(KEYS, key)) return
  event.preventDefault()
  if (event.repeat) return
  if (isControl) void star(on.message)
  else KEYS[key]?.(on, target)
}

/** From its conversation the key leads on to the channel. */
function goToConversation(realm: RealmView, message: ReceivedMessage): void {
  const conversation = conversationOf(message, realm.ownId)
  const isHere = readPlace(fragment.value, realm.ownId).view === 'conversation'
  if (!isHere) go(linkTo(realm, conversation))
  else if (conversation.kind === 'topic') go(linkToChannel(realm, conversation.channelId))
}

/** Adds the account to the first reaction of the message, or takes it away. */
function agree(realm: RealmView, { id, reactions }: ReceivedMessage): void {
  const [first] = reactions
  if (first === undefined) return
  const isOwn = reactions.some(
    (one) =>
      one.user_id === realm.ownId && one.emoji_code === first.emoji_code && one.reaction_type === first.reaction_type,
  )
  void react(id, !isOwn, first)
}
