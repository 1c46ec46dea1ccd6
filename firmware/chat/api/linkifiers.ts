/** Patterns that become links. Contract section 3.7, rows E105 to E109. */

import { integer, integers, nameText } from '../pipeline/parameters.ts'
import {
  addLinkifier,
  changeLinkifier,
  linkifierObjects,
  orderLinkifiers,
  removeLinkifier,
} from '../realm/organization/settings/linkifiers.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const ONE = { path: '/realm/filters/:filter_id', segments: { filter_id: integer() } } as const
const linkifier = { pattern: nameText(), url_template: nameText() }

export const linkifierDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/realm/linkifiers',
    who: 'account',
    handle: ({ realm }) => ({ linkifiers: linkifierObjects(realm) }),
  }),
  declare({
    method: 'PATCH',
    path: '/realm/linkifiers',
    who: 'administrator',
    parameters: { ordered_linkifier_ids: integers() },
    handle: ({ realm, input }) => {
      orderLinkifiers(realm, input.ordered_linkifier_ids)
      return {}
    },
  }),
  declare({
    method: 'POST',
    path: '/realm/filters',
    who: 'administrator',
    parameters: linkifier,
    handle: ({ realm, input }) => ({
      id: addLinkifier(realm, { pattern: input.pattern, urlTemplate: input.url_template }),
    }),
  }),
  declare({
    method: 'PATCH',
    ...ONE,
    who: 'administrator',
    parameters: linkifier,
    handle: ({ realm, path, input }) => {
      changeLinkifier(realm, path.filter_id, { pattern: input.pattern, urlTemplate: input.url_template })
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    ...ONE,
    who: 'administrator',
    handle: ({ realm, path }) => {
      removeLinkifier(realm, path.filter_id)
      return {}
    },
  }),
]
