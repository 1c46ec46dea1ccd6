/** Topics of channels, and users' visibility policies for them. Contract section 3.3, rows E48, E49, E56, E57. */

import { z } from 'zod'
import { defined } from '../../base/defined.ts'
import { badRequest } from '../base/error.ts'
import { partly } from '../pipeline/envelope.ts'
import { boolean, integer, json, oneOf, text } from '../pipeline/parameters.ts'
import { deleteTopic } from '../realm/messages/delete-topic.ts'
import { topicsOf } from '../realm/messages/topics.ts'
import { asTopic, TOPIC_CHARACTERS_MAX, topicName } from '../realm/model/topic-names.ts'
import { setUserTopic, type TopicPolicy } from '../realm/objects/user-topics.ts'
import { findChannel, findChannelByName, findReadableChannel } from '../realm/permissions/channel-find.ts'
import { type AnyDeclaration, declare } from './declare.ts'
import { topic } from './topic-parameter.ts'

const wholeTopic = text()
  .where(
    (name) => [...name.trim()].length <= TOPIC_CHARACTERS_MAX,
    `is too long (limit: ${TOPIC_CHARACTERS_MAX} characters)`,
  )
  .map((sent) => asTopic(sent))

export const topicDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/streams/:stream_id/delete_topic',
    usesReserve: true,
    who: 'account',
    segments: { stream_id: integer() },
    parameters: { topic_name: topic() },
    handle: async (request) => {
      const { realm, path, input } = request
      const isDone = await deleteTopic(realm, () => request.me, path.stream_id, input.topic_name)
      return isDone ? { complete: true } : partly({ complete: false })
    },
  }),
  declare({
    method: 'GET',
    path: '/users/me/:stream_id/topics',
    isExpensive: true,
    who: 'account',
    segments: { stream_id: integer() },
    parameters: { allow_empty_topic_name: boolean().default(false) },
    handle: ({ realm, me, path, input }) => {
      const topics = topicsOf(realm, me, findReadableChannel(realm, me, path.stream_id))
      return {
        topics: topics.map(({ name, maxId }) => ({
          name: topicName(name, input.allow_empty_topic_name),
          max_id: maxId,
        })),
      }
    },
  }),
  declare({
    method: 'PATCH',
    path: '/users/me/subscriptions/muted_topics',
    who: 'account',
    parameters: {
      stream_id: integer().optional(),
      stream: text().optional(),
      topic: wholeTopic,
      op: oneOf('add', 'remove'),
    },
    handle: ({ realm, me, input }) => {
      if (input.stream_id !== undefined && input.stream !== undefined)
        throw badRequest("Please choose one: 'stream' or 'stream_id'.")
      if (input.stream_id === undefined && input.stream === undefined) throw badRequest("Missing 'stream_id' argument")
      realm.transaction((turn) => {
        const channel =
          input.stream_id === undefined
            ? findChannelByName(realm, me, defined(input.stream))
            : findChannel(realm, me, input.stream_id)
        setUserTopic(realm, turn, me.id, channel, input.topic, input.op === 'add' ? 1 : 0)
      })
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/user_topics',
    who: 'account',
    parameters: { stream_id: integer(), topic: wholeTopic, visibility_policy: json(z.literal([0, 1, 2, 3])) },
    handle: ({ realm, me, input }) => {
      realm.transaction((turn) => {
        const channel = findChannel(realm, me, input.stream_id)
        setUserTopic(realm, turn, me.id, channel, input.topic, input.visibility_policy as TopicPolicy)
      })
      return {}
    },
  }),
]
