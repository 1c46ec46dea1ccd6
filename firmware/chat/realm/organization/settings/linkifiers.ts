/** Linkifiers: patterns of the organization that become links in messages and topics. Contract section 2.5, rows E105 to E109, V31. */

import { defined } from '../../../../base/defined.ts'
import { expectName } from '../../../base/characters.ts'
import { badRequest } from '../../../base/error.ts'
import { type KnownPattern, matchesWhole, readPattern } from '../../../render/linkifiers.ts'
import { templateVariables } from '../../../render/url-template.ts'
import type { Realm } from '../../model/realm.ts'
import type { Linkifier } from '../../model/records.ts'
import type { Transaction } from '../../model/transaction.ts'

const PATTERN_CHARACTERS_MAX = 500
const PATTERN_SIZE_MAX = 200 // instructions; render/linkifiers.ts bounds the work of all patterns in one message
const TEMPLATE_CHARACTERS_MAX = 1000

const ALTERNATIVES_MAX = 10

/** Undefined: not in the request. An empty text removes the value. */
interface LinkifierInput {
  pattern: string
  urlTemplate: string
  exampleInput: string | undefined
  reverseTemplate: string | undefined
  alternativeUrlTemplates: readonly string[] | undefined
}

type CheckedLinkifier = Omit<Linkifier, 'id' | 'order'>

const inOrder = ({ state }: Realm): Linkifier[] => [...state.linkifier.all()].sort((a, b) => a.order - b.order)

export const linkifierObjects = (realm: Realm) =>
  inOrder(realm).map(({ id, pattern, urlTemplate, exampleInput, reverseTemplate, alternativeUrlTemplates }) => ({
    id,
    pattern,
    url_template: urlTemplate,
    example_input: exampleInput ?? null,
    reverse_template: reverseTemplate ?? null,
    alternative_url_templates: alternativeUrlTemplates ?? [],
  }))

/** Appends a linkifier and returns its id. Throws `BAD_REQUEST`. */
export function addLinkifier(realm: Realm, input: LinkifierInput): number {
  return realm.transaction((tx) => {
    const others = inOrder(realm)
    const linkifier = { ...checked(realm, input, undefined), id: tx.nextId('linkifier') }
    put(realm, tx, { ...linkifier, order: (others.at(-1)?.order ?? 0) + 1 })
    return linkifier.id
  })
}

export function changeLinkifier(realm: Realm, id: number, input: LinkifierInput): void {
  realm.transaction((tx) => {
    const before = find(realm, id)
    put(realm, tx, { ...before, ...checked(realm, input, before) })
  })
}

export function removeLinkifier(realm: Realm, id: number): void {
  realm.transaction((tx) => {
    find(realm, id)
    tx.remove('linkifier', id)
    publishLinkifiers(realm, tx)
  })
}

/** `ids` must contain every linkifier once. */
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

function checked(realm: Realm, input: LinkifierInput, before: Linkifier | undefined): CheckedLinkifier {
  const pattern = input.pattern.trim()
  const urlTemplate = input.urlTemplate.trim()
  if (pattern.length > PATTERN_CHARACTERS_MAX)
    throw badRequest(`A pattern has at most ${PATTERN_CHARACTERS_MAX} characters`)
  if (urlTemplate.length > TEMPLATE_CHARACTERS_MAX)
    throw badRequest(`A URL template has at most ${TEMPLATE_CHARACTERS_MAX} characters`)
  const groups = namesOf(pattern)
  const problem = problemOf(urlTemplate, groups)
  if (problem !== null) throw badRequest(problem)
  for (const { id, pattern: taken } of realm.state.linkifier.all())
    if (id !== before?.id && taken === pattern) throw badRequest('Linkifier already exists.')
  return { pattern, urlTemplate, ...reversal(input, { pattern, groups }, before) }
}

/** Returns an error text, or null if the template's variables are the pattern's groups. */
function problemOf(urlTemplate: string, groups: readonly string[]): string | null {
  const variables = templateVariables(urlTemplate)
  if (variables === null || urlTemplate === '') return 'Invalid URL template.'
  for (const name of groups)
    if (!variables.has(name)) return `Group '${name}' in linkifier pattern is not present in URL template.`
  for (const name of variables)
    if (!groups.includes(name)) return `Group '${name}' in URL template is not present in linkifier pattern.`
  return null
}

/** Templates by which clients turn a pasted URL into a matching text. Undefined members stay unchanged if they still fit the pattern. */
function reversal(
  input: LinkifierInput,
  { pattern, groups }: { pattern: string; groups: readonly string[] },
  before: Linkifier | undefined,
): Pick<Linkifier, 'exampleInput' | 'reverseTemplate' | 'alternativeUrlTemplates'> {
  const matches = (text: string) => matchesWhole(pattern, text)
  const kept = before?.exampleInput ?? null
  const example = input.exampleInput === undefined ? (kept !== null && matches(kept) ? kept : '') : input.exampleInput
  const exampleInput = example.trim() || null
  if (exampleInput !== null && exampleInput.length > PATTERN_CHARACTERS_MAX)
    throw badRequest(`An example has at most ${PATTERN_CHARACTERS_MAX} characters`)
  if (exampleInput !== null && !matches(exampleInput)) throw badRequest('Example input does not match the pattern.')
  return {
    exampleInput,
    reverseTemplate: reverseTemplateOf(input, exampleInput, groups, before),
    alternativeUrlTemplates: alternativesOf(input, groups, before),
  }
}

function reverseTemplateOf(
  { reverseTemplate: given }: LinkifierInput,
  exampleInput: string | null,
  groups: readonly string[],
  before: Linkifier | undefined,
): string | null {
  const kept = before?.reverseTemplate ?? null
  const fits = (template: string) =>
    [...template.matchAll(VARIABLE)].every(([, name]) => groups.includes(defined(name)))
  if (given === undefined) return kept !== null && exampleInput !== null && fits(kept) ? kept : null
  const template = given.trim()
  if (template === '') return null
  if (exampleInput === null) throw badRequest('A reverse template needs an example input.')
  if (template.length > TEMPLATE_CHARACTERS_MAX)
    throw badRequest(`A reverse template has at most ${TEMPLATE_CHARACTERS_MAX} characters`)
  if (!fits(template)) throw badRequest('Variables of the reverse template must be groups of the pattern.')
  return template
}

const VARIABLE = /\{([^{}]*)\}/g

function alternativesOf(
  { alternativeUrlTemplates: given }: LinkifierInput,
  groups: readonly string[],
  before: Linkifier | undefined,
): readonly string[] {
  if (given === undefined)
    return (before?.alternativeUrlTemplates ?? []).filter((template) => problemOf(template, groups) === null)
  if (given.length > ALTERNATIVES_MAX)
    throw badRequest(`A linkifier has at most ${ALTERNATIVES_MAX} alternative URL templates`)
  return given.map((one) => {
    const template = expectName(one.trim(), 'alternative_url_templates')
    if (template.length > TEMPLATE_CHARACTERS_MAX)
      throw badRequest(`A URL template has at most ${TEMPLATE_CHARACTERS_MAX} characters`)
    const problem = problemOf(template, groups)
    if (problem !== null) throw badRequest(problem)
    return template
  })
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
