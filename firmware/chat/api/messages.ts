/** Single messages. Contract section 3.2, rows E10 to E17, E23. */

import { z } from 'zod'
import { badRequest } from '../base/error.ts'
import { boolean, integer, json, jsonOrText, oneOf, text } from '../pipeline/parameters.ts'
import { accessMessage } from '../realm/messages/access.ts'
import { deleteMessage } from '../realm/messages/delete.ts'
import { editMessage } from '../realm/messages/edit.ts'
import { readerOf } from '../realm/messages/flags.ts'
import { messageHistory } from '../realm/messages/history.ts'
import { messageAddress } from '../realm/messages/links.ts'
import { locationOf } from '../realm/messages/location.ts'
import { messageToJson } from '../realm/messages/message-json.ts'
import { readReceipts } from '../realm/messages/receipts.ts'
import { renderFor } from '../realm/messages/rendering.ts'
import { sendOnce } from '../realm/messages/send-once.ts'
import { CHOICES } from '../realm/messages/widgets.ts'
import { urlOf } from '../realm/model/organization-url.ts'
import type { Realm } from '../realm/model/realm.ts'
import type { User } from '../realm/model/records.ts'
import { organizationOf } from '../realm/model/state.ts'
import { senderVisibilityOf } from '../realm/permissions/user-access.ts'
import { type AnyDeclaration, declare } from './declare.ts'
import { topic } from './topic-parameter.ts'

const MESSAGE = { message_id: integer() }

export const KINDS = { direct: 'direct', private: 'direct', channel: 'channel', stream: 'channel' } as const

/** A JSON id, name, or list of either. Text that is not JSON is a name, or addresses separated by commas. */
export const to = () => jsonOrText(z.union([z.int(), z.string(), z.array(z.int()), z.array(z.string())]))

/** Empty for a deleted message: a retried request may name one. */
function addressOf(realm: Realm, me: User, id: number, base: string) {
  const row = realm.store.messages.get(id)
  if (row === undefined) return {}
  const { url, link } = messageAddress(realm, me, locationOf(realm, row), id, base)
  return { message_url: url, message_link: link }
}

export const messageDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/messages',
    who: 'sender',
    parameters: {
      type: oneOf('direct', 'private', 'channel', 'stream'),
      to: to(),
      content: text(),
      topic: topic().optional().alias('subject'),
      queue_id: text().optional(),
      local_id: text().optional(),
      read_by_sender: boolean().optional(),
      sender: text().optional(),
      forged: text().optional(),
      time: text().optional(),
      widget_content: json(CHOICES).optional(),
    },
    handle: ({ realm, me, input, client, exchange }) => {
      if (input.sender !== undefined || input.forged !== undefined || input.time !== undefined)
        throw badRequest('User not authorized for this query')
      const { queue_id: queueId, local_id: localId } = input
      const { id, automaticPolicy } = sendOnce(realm, me, exchange.header('idempotency-key'), {
        kind: KINDS[input.type],
        to: input.to,
        topic: input.topic,
        content: input.content,
        client,
        readBySender: input.read_by_sender,
        local: queueId === undefined || localId === undefined ? undefined : { queueId, localId },
        choices: input.widget_content?.extra_data,
      })
      return {
        id,
        ...(automaticPolicy !== undefined && { automatic_new_visibility_policy: automaticPolicy }),
        ...addressOf(realm, me, id, urlOf(organizationOf(realm.state), exchange.header('host'))),
      }
    },
  }),
  declare({
    method: 'GET',
    path: '/messages/:message_id',
    who: 'account',
    segments: MESSAGE,
    parameters: { apply_markdown: boolean().default(true), allow_empty_topic_name: boolean().default(false) },
    handle: ({ realm, me, path, input }) => {
      const row = accessMessage(realm, me, path.message_id)
      const form = messageToJson(realm, row, {
        applyMarkdown: input.apply_markdown,
        clientGravatar: true,
        emptyTopic: input.allow_empty_topic_name,
        senderSight: senderVisibilityOf(realm, me)(row.sender),
      })
      return { message: { ...form, flags: readerOf(realm, me).flags(row) }, raw_content: row.content }
    },
  }),
  declare({
    method: 'PATCH',
    path: '/messages/:message_id',
    who: 'account',
    segments: MESSAGE,
    parameters: {
      content: text().optional(),
      prev_content_sha256: text()
        .where((hash) => /^[0-9a-f]{64}$/i.test(hash), 'must be a SHA-256 hash')
        .optional(),
      topic: topic().optional().alias('subject'),
      stream_id: integer().optional(),
      propagate_mode: oneOf('change_one', 'change_later', 'change_all').default('change_one'),
      send_notification_to_old_thread: boolean().default(false),
      send_notification_to_new_thread: boolean().default(true),
    },
    handle: ({ realm, me, path, input }) => ({
      detached_uploads: editMessage(realm, me, path.message_id, {
        content: input.content,
        prevContentSha256: input.prev_content_sha256,
        topic: input.topic,
        channelId: input.stream_id,
        propagateMode: input.propagate_mode,
        notifyOldThread: input.send_notification_to_old_thread,
        notifyNewThread: input.send_notification_to_new_thread,
      }),
    }),
  }),
  declare({
    method: 'DELETE',
    path: '/messages/:message_id',
    who: 'account',
    segments: MESSAGE,
    handle: ({ realm, me, path }) => {
      deleteMessage(realm, me, path.message_id)
      return {}
    },
  }),
  declare({
    method: 'GET',
    path: '/messages/:message_id/history',
    who: 'account',
    segments: MESSAGE,
    parameters: { allow_empty_topic_name: boolean().default(false) },
    handle: async (request) => {
      const { realm, path, input } = request
      const row = accessMessage(realm, request.me, path.message_id)
      const history = await messageHistory(realm, row, input.allow_empty_topic_name)
      accessMessage(realm, request.me, path.message_id) // checks access again: computing the differences takes several time slices
      return { message_history: history }
    },
  }),
  declare({
    method: 'GET',
    path: '/messages/:message_id/read_receipts',
    who: 'account',
    segments: MESSAGE,
    handle: ({ realm, me, path }) => ({ user_ids: readReceipts(realm, me, path.message_id) }),
  }),
  declare({
    method: 'POST',
    path: '/messages/render',
    usesReserve: true,
    who: 'account',
    parameters: {
      content: text().where((content) => [...content].length <= 10_000, 'must have at most 10000 characters'),
    },
    handle: ({ realm, me, input }) => ({ rendered: renderFor(realm, me, input.content).html }),
  }),
]
