/** Tells the server where this account is typing, at most once in each period that the server names, as Zulip's clients do. */

import { call } from './api.ts'
import { noteFailure } from './connection.ts'
import { type ConversationRef, keyOf } from './model/conversation.ts'
import type { RealmView } from './model/realm.ts'
import { placeOfEdit } from './model/typists.ts'

interface TypingPlace {
  readonly key: string
  tell(op: 'start' | 'stop'): Promise<unknown>
}

let current: { place: TypingPlace; startAgainMs: number; timer: ReturnType<typeof setTimeout> } | null = null

/** Call it after each change of the text by a key. An empty text ends the notice. */
export function noteTyping(realm: RealmView, place: TypingPlace | null, text: string): void {
  const isTyping = place !== null && text.trim() !== ''
  if (!isTyping || current?.place.key !== place.key) stopTyping()
  if (!isTyping) return
  clearTimeout(current?.timer)
  const { startAgainMs, stopAfterMs } = realm.typingPeriods
  const timer = setTimeout(stopTyping, stopAfterMs)
  const now = Date.now()
  if (current !== null && now < current.startAgainMs) {
    current.timer = timer
    return
  }
  current = { place, startAgainMs: now + startAgainMs, timer }
  place.tell('start').catch(noteFailure)
}

export function stopTyping(): void {
  if (current === null) return
  clearTimeout(current.timer)
  const { place } = current
  current = null
  place.tell('stop').catch(noteFailure)
}

/** Null if the account does not show that it is typing, or nobody else is there. */
export function typingIn(realm: RealmView, conversation: ConversationRef): TypingPlace | null {
  const { settings } = realm
  const key = keyOf(conversation)
  if (conversation.kind === 'topic') {
    if (!settings.send_stream_typing_notifications) return null
    const { channelId, topic } = conversation
    return { key, tell: (op) => call('POST', '/typing', { op, type: 'channel', stream_id: channelId, topic }) }
  }
  const others = conversation.userIds.filter((id) => realm.people.get(id)?.is_bot === false)
  if (others.length === 0 || !settings.send_private_typing_notifications) return null
  return { key, tell: (op) => call('POST', '/typing', { op, type: 'direct', to: conversation.userIds }) }
}

export function typingInEdit(realm: RealmView, messageId: number, type: 'stream' | 'private'): TypingPlace | null {
  const { send_stream_typing_notifications: inChannels, send_private_typing_notifications: inDirect } = realm.settings
  if (type === 'stream' ? !inChannels : !inDirect) return null
  return { key: placeOfEdit(messageId), tell: (op) => call('POST', `/messages/${messageId}/typing`, { op }) }
}
