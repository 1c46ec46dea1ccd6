/** Reminders about messages, sent as direct messages by the Notification Bot. Contract section 2.5, rows E33 to E35, V37. */

import { ChatError, invalidParameter, notFound } from '../../base/error.ts'
import type { MessageRow } from '../../store/messages.ts'
import { publishOwn } from '../model/own-events.ts'
import type { Realm } from '../model/realm.ts'
import type { Reminder, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { shownHtml } from '../objects/rendering.ts'
import { accessMessage } from './access.ts'
import { noticePerson, notificationBot } from './notices.ts'
import { nameOfMessage, withQuotation } from './quote.ts'
import { renderFor } from './rendering.ts'
import { expectFuture, expectRoom } from './scheduled.ts'

export const NOTE_CHARACTERS_MAX = 500

/** In order of time. Content of messages that the user may no longer read is left out, as at delivery. */
export const remindersOf = (realm: Realm, me: User) =>
  [...realm.state.remindersOf.get(me.id).values()]
    .sort((a, b) => a.time - b.time || a.id - b.id)
    .map((reminder) =>
      form(
        realm,
        readable(realm, me, reminder.messageId) === null
          ? { ...reminder, ...said(realm, null, reminder.note) }
          : reminder,
      ),
    )

/** Returns the id. Throws `BAD_REQUEST` if the caller may not read the message or `time` is not in the future. */
export function remind(realm: Realm, me: User, messageId: number, time: number, note: string): number {
  return realm.transaction((tx) => {
    if ([...note].length > NOTE_CHARACTERS_MAX)
      throw invalidParameter('note', `note must have at most ${NOTE_CHARACTERS_MAX} characters`)
    const message = accessMessage(realm, me, messageId)
    expectFuture(realm, time)
    const id = tx.nextId('scheduledMessage')
    const reminder = { id, userId: me.id, messageId, note, ...said(realm, message, note), time }
    expectRoom(realm, me, reminder)
    tx.put('reminder', reminder)
    publishOwn(tx, me, 'reminders', 'add', { reminders: [form(realm, reminder)] })
    return reminder.id
  })
}

export function removeReminder(realm: Realm, me: User, id: number): void {
  realm.transaction((tx) => {
    const reminder = realm.state.remindersOf.get(me.id).get(id)
    if (reminder === undefined) throw notFound('Reminder does not exist')
    remove(tx, me, reminder)
  })
}

/**
 * Quotes the current content. Sends the note alone if the message was deleted or the user may no longer read it. Overdue reminders are
 * delivered too.
 */
export function deliverReminder(realm: Realm, reminder: Reminder): void {
  const me = realm.state.user.get(reminder.userId)
  realm.transaction((tx) => {
    if (me === undefined || !me.isActive) {
      tx.remove('reminder', reminder.id)
      return
    }
    remove(tx, me, reminder)
    noticePerson(realm, tx, me, contentOf(realm, readable(realm, me, reminder.messageId), reminder.note))
  })
}

function readable(realm: Realm, me: User, messageId: number): MessageRow | null {
  try {
    return accessMessage(realm, me, messageId)
  } catch (error) {
    if (error instanceof ChatError) return null
    throw error
  }
}

function said(realm: Realm, message: MessageRow | null, note: string): Pick<Reminder, 'content' | 'html'> {
  const content = contentOf(realm, message, note)
  return { content, html: renderFor(realm, notificationBot(realm), content).html }
}

function contentOf(realm: Realm, message: MessageRow | null, note: string): string {
  const what = message === null ? 'a message that is no longer there' : nameOfMessage(realm, message)
  const lead = `You asked to be reminded of ${what}${note === '' ? '.' : `, with this note:\n\n${note}`}`
  return message === null ? lead : withQuotation(realm, notificationBot(realm), lead, message)
}

function remove(tx: Transaction, me: User, { id }: Reminder): void {
  tx.remove('reminder', id)
  publishOwn(tx, me, 'reminders', 'remove', { reminder_id: id })
}

const form = (realm: Realm, { id, userId, messageId, content, html, time }: Reminder) => ({
  reminder_id: id,
  type: 'private',
  to: [userId],
  content,
  rendered_content: shownHtml(realm, html),
  scheduled_delivery_timestamp: time,
  failed: false,
  reminder_target_message_id: messageId,
})
