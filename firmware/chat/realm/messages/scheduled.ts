/** Scheduled messages. Contract section 2.5, rows E29 to E32, V40. */

import { badRequest, ChatError, notFound } from '../../base/error.ts'
import { publishOwn } from '../model/own-events.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import type { ScheduledMessage, User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { shownHtml } from '../objects/rendering.ts'
import { noticePerson } from './notices.ts'
import { checkedOutgoing } from './scheduled-check.ts'
import { type Outgoing, send } from './send.ts'

/**
 * Limit on text and HTML of one account's scheduled messages and reminders together. Register answers contain all of them, and HTML may be
 * long.
 */
const CHARACTERS_MAX = 4_000_000

/** A message that is this late, because Coffer was locked or off, is not sent any more. */
const LATE_MAX_S = 600

/** The end of the year 9999: ISO 8601 and clients in Python support no later years. */
const TIME_MAX_S = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000

/** In order of time, including failed ones. */
export const scheduledMessagesOf = (realm: Realm, me: User) =>
  [...realm.state.scheduledMessagesOf.get(me.id).values()]
    .sort((a, b) => a.time - b.time || a.id - b.id)
    .map((message) => form(realm, message))

/** Returns the id. Throws the errors of sending, and `BAD_REQUEST` if `time` is not in the future. */
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

/** Undefined members stay unchanged. Throws 404 if the message does not exist, and the errors of `schedule`. */
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

/** Sends the message, or marks it as failed and notifies the sender. Sending it and removing the record are one transaction. */
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

/** Within a transaction. Marks all as failed, so that none is sent until the user sets a time again. */
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

/** Used for reminders too. Throws `BAD_REQUEST`. `time` is Unix time in seconds. */
export function expectFuture(realm: Realm, time: number): void {
  if (time <= nowOf(realm)) throw badRequest('Scheduled delivery time must be in the future.')
  if (time > TIME_MAX_S) throw badRequest('Scheduled delivery time must be before the year 10000.')
}

type Kept = Pick<ScheduledMessage, 'content' | 'html'>

/** Checks the limit of scheduled messages and reminders together. `before`: the record that `added` replaces. Throws `BAD_REQUEST`. */
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
