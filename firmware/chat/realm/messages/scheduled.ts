/** Messages that are sent when their time has come. Contract section 2.5, rows E29 to E32, V40. */

import { badRequest, ChatError, notFound } from '../../base/error.ts'
import { publishOwn } from '../model/own-events.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { ScheduledMessage, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { shownHtml } from '../objects/rendering.ts'
import { noticePerson } from './notices.ts'
import { checkedOutgoing } from './outgoing.ts'
import { type Outgoing, send } from './send.ts'

/** Text and HTML of one account's scheduled messages and reminders together: registers have all of them, and HTML may be long. */
const CHARACTERS_MAX = 4_000_000

/** A message that could not be sent in time, because Coffer was locked or off, is not sent long after it. */
const LATE_MAX_S = 600

/** The last second whose year has four digits: ISO 8601 and clients in Python go no further. */
const TIME_MAX_S = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000

/** Of the caller, those that have failed too, by their time. */
export const scheduledMessagesOf = (realm: Realm, me: User) =>
  [...realm.state.scheduledMessagesOf.get(me.id).values()]
    .sort((a, b) => a.time - b.time || a.id - b.id)
    .map((message) => form(realm, message))

/** Its id. Throws what sending it would throw, and `BAD_REQUEST` for a time that has been. */
export function schedule(realm: Realm, me: User, outgoing: Outgoing, time: number): number {
  return realm.transaction((tx) => {
    expectFuture(realm, time)
    const message: ScheduledMessage = {
      id: tx.nextId('scheduledMessage'),
      userId: me.id,
      ...checkedOutgoing(realm, me, outgoing),
      time,
      failed: false,
      readBySender: outgoing.readBySender ?? null,
      client: outgoing.client,
    }
    expectRoom(realm, me, message)
    tx.put('scheduledMessage', message)
    publishOwn(tx, me, 'scheduled_messages', 'add', { scheduled_messages: [form(realm, message)] })
    return message.id
  })
}

/** What is undefined stays. Throws 404, and as `schedule`. */
export function changeScheduled(
  realm: Realm,
  me: User,
  id: number,
  input: Partial<Pick<Outgoing, 'kind' | 'to' | 'topic' | 'content'>> & { time: number | undefined },
): void {
  realm.transaction((tx) => {
    const before = find(realm, me, id)
    const kind = input.kind ?? kindOf(before)
    if (kind !== kindOf(before) && (input.to === undefined || (kind === 'channel' && input.topic === undefined)))
      throw badRequest('Recipient required when updating type of scheduled message.')
    if (input.time !== undefined || before.failed) expectFuture(realm, input.time ?? before.time)
    const { to, topic, content } = input
    const after = {
      ...before,
      ...checkedOutgoing(realm, me, {
        kind,
        to: to ?? before.to,
        topic: topic ?? before.topic,
        content: content ?? before.content,
      }),
      time: input.time ?? before.time,
      failed: false,
    }
    expectRoom(realm, me, after, before)
    tx.put('scheduledMessage', after)
    publishOwn(tx, me, 'scheduled_messages', 'update', { scheduled_message: form(realm, after) })
  })
}

export function removeScheduled(realm: Realm, me: User, id: number): void {
  realm.transaction((tx) => remove(tx, me, find(realm, me, id)))
}

/** Sent, or kept as failed with a word to the sender. The message and what becomes of it are one change. */
export function deliverScheduled(realm: Realm, message: ScheduledMessage): void {
  const sender = realm.state.user.get(message.userId)
  try {
    realm.transaction((tx) => {
      if (sender === undefined || !sender.isActive) throw badRequest('The account is deactivated')
      if (nowOf(realm) - message.time > LATE_MAX_S) throw badRequest('It could not be sent at its time')
      const { to, topic, content, client, readBySender } = message
      const kind = kindOf(message)
      send(realm, tx, sender, {
        kind,
        to,
        topic,
        content,
        client,
        readBySender: readBySender ?? undefined,
        local: undefined,
      })
      remove(tx, sender, message)
    })
  } catch (error) {
    if (!(error instanceof ChatError)) throw error
    fail(realm, message, error.message)
  }
}

function fail(realm: Realm, message: ScheduledMessage, reason: string): void {
  const sender = realm.state.user.get(message.userId)
  realm.transaction((tx) => {
    const failed = { ...message, failed: true }
    tx.put('scheduledMessage', failed)
    if (sender === undefined || !sender.isActive) return
    publishOwn(tx, sender, 'scheduled_messages', 'update', { scheduled_message: form(realm, failed) })
    const when = `<time:${new Date(message.time * 1000).toISOString()}>`
    const text = `The message that you had scheduled for ${when} was not sent: ${reason}. [Scheduled messages](#scheduled)`
    noticePerson(realm, tx, sender, text)
  })
}

/** Within a change: none is sent before the account has set its time again. */
export function holdScheduled(realm: Realm, tx: Transaction, me: User): void {
  for (const message of [...realm.state.scheduledMessagesOf.get(me.id).values()]) {
    if (message.failed) continue
    const failed = { ...message, failed: true }
    tx.put('scheduledMessage', failed)
    publishOwn(tx, me, 'scheduled_messages', 'update', { scheduled_message: form(realm, failed) })
  }
}

function find(realm: Realm, me: User, id: number): ScheduledMessage {
  const message = realm.state.scheduledMessagesOf.get(me.id).get(id)
  if (message === undefined) throw notFound('Scheduled message does not exist')
  return message
}

function remove(tx: Transaction, me: User, { id }: ScheduledMessage): void {
  tx.remove('scheduledMessage', id)
  publishOwn(tx, me, 'scheduled_messages', 'remove', { scheduled_message_id: id })
}

/** Also for reminders. Throws `BAD_REQUEST`. `time` in seconds since 1970. */
export function expectFuture(realm: Realm, time: number): void {
  if (time <= nowOf(realm)) throw badRequest('Scheduled delivery time must be in the future.')
  if (time > TIME_MAX_S) throw badRequest('Scheduled delivery time must be before the year 10000.')
}

type Kept = Pick<ScheduledMessage, 'content' | 'html'>

/** For one of either kind, in place of the one `before`. Throws `BAD_REQUEST`. */
export function expectRoom({ state }: Realm, me: User, added: Kept, before?: Kept): void {
  const kept: Kept[] = [...state.scheduledMessagesOf.get(me.id).values(), ...state.remindersOf.get(me.id).values()]
  const all = [...kept.filter((one) => one !== before), added]
  if (all.reduce((sum, { content, html }) => sum + content.length + html.length, 0) > CHARACTERS_MAX)
    throw badRequest(`More than ${CHARACTERS_MAX} characters of scheduled messages and reminders, HTML included`)
}

const kindOf = ({ type }: ScheduledMessage): Outgoing['kind'] => (type === 'stream' ? 'channel' : 'direct')

const form = (realm: Realm, { id, type, to, topic, content, html, time, failed }: ScheduledMessage) => ({
  scheduled_message_id: id,
  type,
  to: type === 'stream' ? to[0] : to,
  ...(type === 'stream' && { topic }),
  content,
  rendered_content: shownHtml(realm, html),
  scheduled_delivery_timestamp: time,
  failed,
})
