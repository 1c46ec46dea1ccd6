/** Linkifiers: patterns that become links. Contract section 3.7, rows E105 to E109. */

import { z } from 'zod'
import { nameString } from '../base/characters.ts'
import { integer, integers, json, nameText, type ParameterValues } from '../pipeline/parameters.ts'
import {
  addLinkifier,
  changeLinkifier,
  linkifierObjects,
  orderLinkifiers,
  removeLinkifier,
} from '../realm/organization/settings/linkifiers.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const ONE = { path: '/realm/filters/:filter_id', segments: { filter_id: integer() } } as const
const linkifier = {
  pattern: nameText(),
  url_template: nameText(),
  example_input: nameText().optional(),
  reverse_template: nameText().optional(),
  alternative_url_templates: json(z.array(nameString())).optional(),
}
type GivenParameters = ParameterValues<typeof linkifier>

const linkifierOf = (input: GivenParameters) => ({
  pattern: input.pattern,
  urlTemplate: input.url_template,
  exampleInput: input.example_input,
  reverseTemplate: input.reverse_template,
  alternativeUrlTemplates: input.alternative_url_templates,
})

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
      id: addLinkifier(realm, linkifierOf(input)),
    }),
  }),
  declare({
    method: 'PATCH',
    ...ONE,
    who: 'administrator',
    parameters: linkifier,
    handle: ({ realm, path, input }) => {
      changeLinkifier(realm, path.filter_id, linkifierOf(input))
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
