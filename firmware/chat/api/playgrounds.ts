/** Code playgrounds: pages that run the code of a message. Contract section 3.7, row E118. */

import { integer, nameText } from '../pipeline/parameters.ts'
import { addPlayground, removePlayground } from '../realm/organization/settings/playgrounds.ts'
import { type AnyDeclaration, declare } from './declare.ts'

export const playgroundDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'POST',
    path: '/realm/playgrounds',
    who: 'administrator',
    parameters: { name: nameText(), pygments_language: nameText(), url_template: nameText() },
    handle: ({ realm, input }) => ({
      id: addPlayground(realm, {
        name: input.name,
        language: input.pygments_language,
        urlTemplate: input.url_template,
      }),
    }),
  }),
  declare({
    method: 'DELETE',
    path: '/realm/playgrounds/:playground_id',
    who: 'administrator',
    segments: { playground_id: integer() },
    handle: ({ realm, path }) => {
      removePlayground(realm, path.playground_id)
      return {}
    },
  }),
]
