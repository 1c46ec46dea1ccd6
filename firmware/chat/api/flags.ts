/** Message flags. Contract section 3.2, rows E18, E20 to E22. */

import { partly } from '../pipeline/envelope.ts'
import { integer, integers, text } from '../pipeline/parameters.ts'
import { markMessages, toFlagUpdate } from '../realm/messages/flag-update.ts'
import { markAllRead, markChannelRead, markTopicRead } from '../realm/messages/mark-read.ts'
import { type AnyDeclaration, declare } from './declare.ts'
import { topic } from './topic-parameter.ts'

const IDS_MAX = 5000 // as many as a narrow updates at once: contract section 3.2, E19

export const flagDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/messages/flags',
    who: 'account',
    parameters: {
      messages: integers().where((ids) => ids.length <= IDS_MAX, `must have at most ${IDS_MAX} ids`),
      op: text(),
      flag: text(),
    },
    handle: ({ realm, me, input }) => {
      const { ignoredChannels } = markMessages(realm, me, input.messages, toFlagUpdate(input))
      return { messages: input.messages, ignored_because_not_subscribed_channels: ignoredChannels }
    },
  }),
  declare({
    method: 'POST',
    path: '/mark_all_as_read',
    who: 'account',
    handle: async ({ realm, me }) =>
      (await markAllRead(realm, me)) ? { complete: true } : partly({ complete: false }),
  }),
  declare({
    method: 'POST',
    path: '/mark_stream_as_read',
    who: 'account',
    parameters: { stream_id: integer() },
    handle: async (request) => {
      const { realm, input } = request
      return (await markChannelRead(realm, () => request.me, input.stream_id)) ? {} : partly({})
    },
  }),
  declare({
    method: 'POST',
    path: '/mark_topic_as_read',
    who: 'account',
    parameters: { stream_id: integer(), topic_name: topic() },
    handle: async (request) => {
      const { realm, input } = request
      const isDone = await markTopicRead(realm, () => request.me, input.stream_id, input.topic_name)
      return isDone ? {} : partly({})
    },
  }),
]
