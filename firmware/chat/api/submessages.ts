/** Submessages: votes in polls and other widget data. Contract section 3.2, row E28. */

import { integer, oneOf, text } from '../pipeline/parameters.ts'
import { addSubmessage } from '../realm/messages/submessages.ts'
import { type AnyDeclaration, declare } from './declare.ts'

export const submessageDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/submessage',
    who: 'account',
    parameters: { message_id: integer(), msg_type: oneOf('widget'), content: text() },
    handle: ({ realm, me, input }) => {
      addSubmessage(realm, me, input.message_id, input.content)
      return {}
    },
  }),
]
