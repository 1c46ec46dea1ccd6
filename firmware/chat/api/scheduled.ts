/** Scheduled messages and reminders. Contract rows E29 to E35. */

import { boolean, integer, oneOf, prose, text } from '../pipeline/parameters.ts'
import { remind, remindersOf, removeReminder } from '../realm/messages/reminders.ts'
import { changeScheduled, removeScheduled, schedule, scheduledMessagesOf } from '../realm/messages/scheduled.ts'
import { type AnyDeclaration, declare } from './declare.ts'
import { KINDS, to } from './messages.ts'
import { topic } from './topic-parameter.ts'

const SCHEDULED = {
  path: '/scheduled_messages/:scheduled_message_id',
  segments: { scheduled_message_id: integer() },
} as const

const type = () => oneOf('direct', 'private', 'channel', 'stream')

export const scheduledDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/scheduled_messages',
    who: 'account',
    parameters: {
      type: type(),
      to: to(),
      content: text(),
      topic: topic().optional(),
      scheduled_delivery_timestamp: integer(),
      read_by_sender: boolean().optional(),
    },
    handle: ({ realm, me, input, client }) => {
      const outgoing = {
        kind: KINDS[input.type],
        to: input.to,
        topic: input.topic,
        content: input.content,
        client,
        readBySender: input.read_by_sender,
        local: undefined,
      }
      return { scheduled_message_id: schedule(realm, me, outgoing, input.scheduled_delivery_timestamp) }
    },
  }),
  declare({
    method: 'GET',
    path: '/scheduled_messages',
    who: 'account',
    handle: ({ realm, me }) => ({ scheduled_messages: scheduledMessagesOf(realm, me) }),
  }),
  declare({
    method: 'PATCH',
    ...SCHEDULED,
    who: 'account',
    parameters: {
      type: type().optional(),
      to: to().optional(),
      content: text().optional(),
      topic: topic().optional(),
      scheduled_delivery_timestamp: integer().optional(),
    },
    handle: ({ realm, me, path, input }) => {
      changeScheduled(realm, me, path.scheduled_message_id, {
        ...(input.type !== undefined && { kind: KINDS[input.type] }),
        ...(input.to !== undefined && { to: input.to }),
        ...(input.content !== undefined && { content: input.content }),
        topic: input.topic,
        time: input.scheduled_delivery_timestamp,
      })
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    ...SCHEDULED,
    who: 'account',
    handle: ({ realm, me, path }) => {
      removeScheduled(realm, me, path.scheduled_message_id)
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/reminders',
    who: 'account',
    parameters: { message_id: integer(), scheduled_delivery_timestamp: integer(), note: prose().default('') },
    handle: ({ realm, me, input }) => ({
      reminder_id: remind(realm, me, input.message_id, input.scheduled_delivery_timestamp, input.note),
    }),
  }),
  declare({
    method: 'GET',
    path: '/reminders',
    who: 'account',
    handle: ({ realm, me }) => ({ reminders: remindersOf(realm, me) }),
  }),
  declare({
    method: 'DELETE',
    path: '/reminders/:reminder_id',
    who: 'account',
    segments: { reminder_id: integer() },
    handle: ({ realm, me, path }) => {
      removeReminder(realm, me, path.reminder_id)
      return {}
    },
  }),
]
