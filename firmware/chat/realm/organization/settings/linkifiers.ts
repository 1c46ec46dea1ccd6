/** Patterns of the organisation that become links in messages and topics. Contract section 2.5, rows E105 to E109, V31. */

import { badRequest } from '../../../base/error.ts'
import { type KnownPattern, readPattern } from '../../../render/linkifiers.ts'
import { templateVariables } from '../../../render/url-template.ts'
import type { Realm } from '../../model/realm.ts'
import type { Linkifier } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'

const PATTERN_CHARACTERS_MAX = 500
const PATTERN_SIZE_MAX = 200 // instructions: what they may do in one message is bounded for all of them, see render/linkifiers.ts
const TEMPLATE_CHARACTERS_MAX = 1000

interface GivenLinkifier {
  pattern: string
  urlTemplate: string
}

const inOrder = ({ state }: Realm): Linkifier[] => [...state.linkifier.all()].sort((a, b) => a.order - b.order)

/** In their order. */
export const linkifierObjects = (realm: Realm) =>
  inOrder(realm).map(({ id, pattern, urlTemplate }) => ({ id, pattern, url_template: urlTemplate }))

/** Its id; it comes last. Throws `BAD_REQUEST`. */
export function addLinkifier(realm: Realm, input: GivenLinkifier): number {
  return realm.transaction((tx) => {
    const others = inOrder(realm)
    const linkifier = { ...checked(realm, input, null), id: tx.nextId('linkifier') }
    put(realm, tx, { ...linkifier, order: (others.at(-1)?.order ?? 0) + 1 })
    return linkifier.id
  })
}

export function changeLinkifier(realm: Realm, id: number, input: GivenLinkifier): void {
  realm.transaction((tx) => put(realm, tx, { ...find(realm, id), ...checked(realm, input, id) }))
}

export function removeLinkifier(realm: Realm, id: number): void {
  realm.transaction((tx) => {
    find(realm, id)
    tx.remove('linkifier', id)
    publishLinkifiers(realm, tx)
  })
}

/** `ids` are all there are. */
export function orderLinkifiers(realm: Realm, ids: readonly number[]): void {
  realm.transaction((tx) => {
    const before = inOrder(realm)
    if (new Set(ids).size !== ids.length || ids.length !== before.length || before.some(({ id }) => !ids.includes(id)))
      throw badRequest('The ordered list must enumerate all existing linkifiers exactly once')
    for (const linkifier of before) tx.put('linkifier', { ...linkifier, order: ids.indexOf(linkifier.id) + 1 })
    publishLinkifiers(realm, tx)
  })
}

function put(realm: Realm, tx: Transaction, linkifier: Linkifier): void {
  tx.put('linkifier', linkifier)
  publishLinkifiers(realm, tx)
}

/** Clients that know no templates know no linkifiers. */
function publishLinkifiers(realm: Realm, tx: Transaction): void {
  const realm_linkifiers = linkifierObjects(realm)
  tx.publish({
    type: 'realm_linkifiers',
    to: 'everyone',
    make: ({ can }) => (can.linkifier_url_template ? { realm_linkifiers } : null),
  })
}

function find({ state }: Realm, id: number): Linkifier {
  const linkifier = state.linkifier.get(id)
  if (linkifier === undefined) throw badRequest('Linkifier not found.')
  return linkifier
}

function checked(realm: Realm, input: GivenLinkifier, ownId: number | null): GivenLinkifier {
  const pattern = input.pattern.trim()
  const urlTemplate = input.urlTemplate.trim()
  if (pattern.length > PATTERN_CHARACTERS_MAX)
    throw badRequest(`A pattern has at most ${PATTERN_CHARACTERS_MAX} characters`)
  if (urlTemplate.length > TEMPLATE_CHARACTERS_MAX)
    throw badRequest(`A URL template has at most ${TEMPLATE_CHARACTERS_MAX} characters`)
  const groups = namesOf(pattern)
  const variables = templateVariables(urlTemplate)
  if (variables === null || urlTemplate === '') throw badRequest('Invalid URL template.')
  for (const name of groups)
    if (!variables.has(name)) throw badRequest(`Group '${name}' in linkifier pattern is not present in URL template.`)
  for (const name of variables)
    if (!groups.includes(name)) throw badRequest(`Group '${name}' in URL template is not present in linkifier pattern.`)
  for (const { id, pattern: taken } of realm.state.linkifier.all())
    if (id !== ownId && taken === pattern) throw badRequest('Linkifier already exists.')
  return { pattern, urlTemplate }
}

function namesOf(pattern: string): string[] {
  if (pattern === '') throw badRequest('Bad regular expression: it is empty')
  let known: KnownPattern
  try {
    known = readPattern(pattern)
  } catch (error) {
    throw badRequest(`Bad regular expression: ${(error as Error).message}`)
  }
  if (known.size > PATTERN_SIZE_MAX) throw badRequest('Bad regular expression: it is too large')
  return known.groups
}
