/** Code playgrounds: sites that run code of a message. Contract section 2.5, row E118, V32. */

import { badRequest, invalidParameter } from '../../../base/error.ts'
import { templateVariables } from '../../../render/url-template.ts'
import type { Realm } from '../../model/realm.ts'
import type { Transaction } from '../../model/transaction.ts'

const NAME_CHARACTERS_MAX = 100
const LANGUAGE = /^[ a-zA-Z0-9_+\-./#]{1,40}$/
const TEMPLATE_CHARACTERS_MAX = 1000

interface PlaygroundInput {
  name: string
  language: string
  urlTemplate: string
}

export const playgroundObjects = ({ state }: Realm) =>
  [...state.playground.all()].map(({ id, name, language, urlTemplate }) => ({
    id,
    name,
    pygments_language: language,
    url_template: urlTemplate,
  }))

/** Throws `BAD_REQUEST` and `REQUEST_VARIABLE_INVALID`. */
export function addPlayground(realm: Realm, input: PlaygroundInput): number {
  return realm.transaction((tx) => {
    const playground = { ...checked(input), id: tx.nextId('playground') }
    for (const { name, language } of realm.state.playground.all())
      if (name === playground.name && language === playground.language)
        throw badRequest('Realm playground with this Realm, Pygments language and Name already exists.')
    tx.put('playground', playground)
    publish(realm, tx)
    return playground.id
  })
}

export function removePlayground(realm: Realm, id: number): void {
  realm.transaction((tx) => {
    if (!realm.state.playground.has(id)) throw badRequest('Invalid playground')
    tx.remove('playground', id)
    publish(realm, tx)
  })
}

function publish(realm: Realm, tx: Transaction): void {
  const realm_playgrounds = playgroundObjects(realm)
  tx.publish({ type: 'realm_playgrounds', to: 'everyone', make: () => ({ realm_playgrounds }) })
}

function checked(input: PlaygroundInput): PlaygroundInput {
  const [name, language, urlTemplate] = [input.name.trim(), input.language.trim(), input.urlTemplate.trim()]
  if (name === '' || [...name].length > NAME_CHARACTERS_MAX)
    throw invalidParameter('name', `name must have 1 to ${NAME_CHARACTERS_MAX} characters`)
  if (!LANGUAGE.test(language)) throw invalidParameter('pygments_language', 'Invalid characters in pygments language')
  const variables = urlTemplate.length <= TEMPLATE_CHARACTERS_MAX ? templateVariables(urlTemplate) : null
  if (variables === null) throw badRequest('Invalid URL template.')
  if (!variables.has('code')) throw badRequest('Missing the required variable "code" in the URL template')
  if (variables.size > 1) throw badRequest('"code" should be the only variable present in the URL template')
  return { name, language, urlTemplate }
}
