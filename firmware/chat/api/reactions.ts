/** Reactions. Contract section 3.2, rows E16 and E17. */

import { integer, oneOf, text } from '../pipeline/parameters.ts'
import { addReaction, removeReaction } from '../realm/messages/reactions.ts'
import { REACTION_TYPES } from '../realm/model/emoji.ts'
import { type AnyDeclaration, declare } from './declare.ts'

/** Accepts names and codes of all emoji sets. The bound matters because every fetch of the message repeats the name. */
const NAME = /^[\p{L}\p{N}_.+-]{1,100}$/u

const name = () => text().where((name) => NAME.test(name), 'is not the name of an emoji')
const optional = { emoji_code: name().optional(), reaction_type: oneOf(...REACTION_TYPES).optional() }
const segments = { message_id: integer() }

export const reactionDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/messages/:message_id/reactions',
    who: 'account',
    segments,
    parameters: { emoji_name: name(), ...optional },
    handle: ({ realm, me, path, input }) => {
      addReaction(realm, me, path.message_id, {
        name: input.emoji_name,
        code: input.emoji_code,
        type: input.reaction_type,
      })
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/messages/:message_id/reactions',
    who: 'account',
    segments,
    parameters: { emoji_name: name().optional(), ...optional },
    handle: ({ realm, me, path, input }) => {
      removeReaction(realm, me, path.message_id, {
        name: input.emoji_name,
        code: input.emoji_code,
        type: input.reaction_type,
      })
      return {}
    },
  }),
]
