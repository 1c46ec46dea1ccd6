/** Saved snippets. Contract row E40. */

import { integer, nameText, text } from '../pipeline/parameters.ts'
import {
  addSavedSnippet,
  changeSavedSnippet,
  removeSavedSnippet,
  savedSnippetsOf,
} from '../realm/organization/users/saved-snippets.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const ONE = { path: '/saved_snippets/:saved_snippet_id', segments: { saved_snippet_id: integer() } } as const

export const savedSnippetDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/saved_snippets',
    who: 'account',
    handle: ({ realm, me }) => ({ saved_snippets: savedSnippetsOf(realm, me) }),
  }),
  declare({
    method: 'POST',
    path: '/saved_snippets',
    who: 'account',
    parameters: { title: nameText(), content: text() },
    handle: ({ realm, me, input }) => ({ saved_snippet_id: addSavedSnippet(realm, me, input.title, input.content) }),
  }),
  declare({
    method: 'PATCH',
    ...ONE,
    who: 'account',
    parameters: { title: nameText().optional(), content: text().optional() },
    handle: ({ realm, me, path, input }) => {
      changeSavedSnippet(realm, me, path.saved_snippet_id, input)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    ...ONE,
    who: 'account',
    handle: ({ realm, me, path }) => {
      removeSavedSnippet(realm, me, path.saved_snippet_id)
      return {}
    },
  }),
]
