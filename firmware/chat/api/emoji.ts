/** Emoji of the organisation's own. Contract section 3.7, row E114. */

import { emojiObjects } from '../realm/emoji.ts'
import { type AnyDeclaration, declare } from './declare.ts'

export const emojiDeclarations: readonly AnyDeclaration[] = [
  declare({
    row: 'E114',
    method: 'GET',
    path: '/realm/emoji',
    who: 'account',
    handle: ({ realm }) => ({ emoji: emojiObjects(realm) }),
  }),
]
