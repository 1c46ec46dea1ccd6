/** Typing notifications. Contract section 3.2, rows E26 and E27. */

import { ChatError } from '../base/error.ts'
import { isOlder } from '../base/version.ts'
import { integer, oneOf, text } from '../pipeline/parameters.ts'
import { typeDirect, typeEdit, typeInChannel } from '../realm/messages/typing.ts'
import { asTopic } from '../realm/model/topic-names.ts'
import { type AnyDeclaration, declare } from './declare.ts'
import { to } from './messages.ts'

const op = () => oneOf('start', 'stop')

export const typingDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/typing',
    usesReserve: true,
    who: 'account',
    parameters: {
      op: op(),
      type: oneOf('direct', 'private', 'stream', 'channel').default('direct'),
      to: to().optional(),
      stream_id: integer().optional(),
      topic: text().optional(),
    },
    handle: ({ realm, me, input, level }) => {
      if (input.type === 'direct' || input.type === 'private') {
        if (input.to === undefined) throw missing('to')
        typeDirect(realm, me, input.op, input.to)
        return {}
      }
      if (input.stream_id === undefined) throw missing('stream_id')
      if (input.topic === undefined) throw missing('topic')
      typeInChannel(realm, me, input.op, input.stream_id, asTopic(input.topic, { isLiteral: isOlder(level, 372) }))
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/messages/:message_id/typing',
    usesReserve: true,
    who: 'account',
    segments: { message_id: integer() },
    parameters: { op: op() },
    handle: ({ realm, me, path, input }) => {
      typeEdit(realm, me, input.op, path.message_id)
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/message_edit_typing',
    usesReserve: true,
    who: 'account',
    parameters: { message_id: integer(), op: op() },
    handle: ({ realm, me, input }) => {
      typeEdit(realm, me, input.op, input.message_id)
      return {}
    },
  }),
]

const missing = (name: string) =>
  new ChatError('REQUEST_VARIABLE_MISSING', `Missing '${name}' argument`, { var_name: name })
