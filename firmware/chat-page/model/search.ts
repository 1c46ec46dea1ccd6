/** Searches: what people type, the narrow of contract section 5.2, and the fragment in Zulip's form. Uses no DOM. */

import { defined } from '../../base/defined.ts'
import { matches, type Suggestion } from './completion.ts'
import { encode } from './conversation.ts'
import type { RealmView } from './realm.ts'

export interface SearchTerm {
  readonly operator: string
  readonly operand: string | number | readonly number[]
  readonly negated?: boolean
}

const ALIASES: Readonly<Record<string, string>> = {
  stream: 'channel',
  from: 'sender',
  'pm-with': 'dm',
  subject: 'topic',
}
const OF_PEOPLE = new Set(['sender', 'dm', 'dm-including', 'mentions'])
const OPERATORS = ['channel', 'topic', 'sender', 'dm', 'dm-including', 'mentions', 'is', 'has', 'in', 'id'] as const
const OPERANDS: Readonly<Record<string, readonly string[]>> = {
  is: ['unread', 'mentioned', 'starred', 'dm', 'followed', 'resolved', 'alerted', 'muted'],
  has: ['link', 'image', 'attachment', 'reaction'],
  in: ['home', 'all'],
}
const SUGGESTIONS_MAX = 8

/** A word, a quoted phrase, or `operator:operand`, whose operand may be quoted. */
const TOKEN = /-?[\w-]+:"[^"]*"|-?[\w-]+:\S+|"[^"]*"|\S+/g

export function readSearch(text: string, realm: RealmView): SearchTerm[] {
  const terms: SearchTerm[] = []
  const words: string[] = []
  for (const [token] of text.matchAll(TOKEN)) {
    const [, minus, name, value] = /^(-?)([\w-]+):(.+)$/.exec(token) ?? []
    const operator = name === undefined ? '' : (ALIASES[name.toLowerCase()] ?? name.toLowerCase())
    if (value === undefined || !OPERATORS.some((one) => one === operator)) words.push(token)
    else
      terms.push({
        ...{ operator, operand: operandOf(operator, value.replaceAll('"', ''), realm) },
        ...(minus === '-' && { negated: true }),
      })
  }
  return words.length === 0 ? terms : [...terms, { operator: 'search', operand: words.join(' ') }]
}

/** Names that nobody has stay as they are: the server says so. */
function operandOf(operator: string, value: string, realm: RealmView): SearchTerm['operand'] {
  if (operator === 'channel') {
    const found = [...realm.channels.values()].find(({ name }) => name.toLowerCase() === value.toLowerCase())
    return found?.stream_id ?? value
  }
  if (!OF_PEOPLE.has(operator)) return value
  const ids = value.split(',').map((name) => idOf(name.trim(), realm))
  if (!ids.every((id) => id !== undefined)) return value
  return operator === 'dm' ? ids : defined(ids[0])
}

function idOf(name: string, { people, ownId }: RealmView): number | undefined {
  const wanted = name.toLowerCase()
  if (wanted === 'me') return ownId
  return [...people.values()].find((one) => one.full_name.toLowerCase() === wanted || one.email === wanted)?.user_id
}

/** Text that `readSearch` reads as the same terms. */
export const writeSearch = (terms: readonly SearchTerm[], realm: RealmView): string =>
  terms
    .map(({ operator, operand, negated = false }) =>
      operator === 'search'
        ? String(operand)
        : `${negated ? '-' : ''}${operator}:${quoted(writtenOperand(operator, operand, realm))}`,
    )
    .join(' ')

function writtenOperand(
  operator: string,
  operand: SearchTerm['operand'],
  { channels, people, ownId }: RealmView,
): string {
  if (operator === 'channel') return channels.get(Number(operand))?.name ?? String(operand)
  if (!OF_PEOPLE.has(operator) || typeof operand === 'string') return String(operand)
  const ids = typeof operand === 'number' ? [operand] : operand
  return ids.map((id) => (id === ownId ? 'me' : (people.get(id)?.full_name ?? String(id)))).join(',')
}

const quoted = (text: string): string => (/\s/.test(text) ? `"${text}"` : text)

export const searchAddress = (terms: readonly SearchTerm[]): string =>
  `#narrow/${terms
    .map(({ operator, operand, negated = false }) => {
      const text = typeof operand === 'object' ? operand.join(',') : String(operand)
      return `${negated ? '-' : ''}${operator}/${encode(text)}`
    })
    .join('/')}`

/** Reads the decoded parts of a fragment, also of links that other clients made. */
export function searchOfPath(path: readonly string[]): SearchTerm[] {
  const terms: SearchTerm[] = []
  for (let at = 0; at + 1 < path.length; at += 2) {
    const [term = '', value = ''] = path.slice(at, at + 2)
    const negated = term.startsWith('-')
    const name = negated ? term.slice(1) : term
    const operator = ALIASES[name] ?? name
    const isOfIds = operator === 'channel' || OF_PEOPLE.has(operator)
    const ids = /^\d[\d,]*(?=-|$)/.exec(value)?.[0].split(',').filter(Boolean).map(Number) ?? []
    const [first] = ids
    const operand = !isOfIds || first === undefined ? value : operator === 'dm' ? ids : first
    terms.push({ operator, operand, ...(negated && { negated }) })
  }
  return terms
}

/** Suggestions for the term that ends at the cursor. */
export function suggestTerms(
  realm: RealmView,
  text: string,
  cursor: number,
  about: Readonly<Record<string, string>>,
): { start: number; all: Suggestion[] } | null {
  const before = text.slice(0, cursor)
  const begun = /(?:^|\s)(-?)([\w-]*)(?::("[^"]*|[^"\s]*))?$/.exec(before)
  if (begun === null) return null
  const [, minus = '', name = '', written] = begun
  if (written === undefined) {
    if (name === '') return null
    const all = OPERATORS.filter((one) => one.startsWith(name.toLowerCase())).map((one) => ({
      ...{ key: one, label: `${minus}${one}:`, about: about[one] ?? '', insert: `${minus}${one}:` },
    }))
    return { start: cursor - minus.length - name.length, all }
  }
  const value = written.replace('"', '')
  const operator = ALIASES[name] ?? name
  const start = before.lastIndexOf(`${minus}${name}:`)
  const make = (text: string): Suggestion => ({
    ...{ key: text, label: `${minus}${operator}:${text}`, about: '', insert: `${minus}${operator}:${quoted(text)} ` },
  })
  return { start, all: operandsFor(realm, operator, value).slice(0, SUGGESTIONS_MAX).map(make) }
}

function operandsFor(realm: RealmView, operator: string, value: string): string[] {
  if (operator === 'channel')
    return [...realm.channels.values()].map(({ name }) => name).filter((name) => matches(name, value))
  if (OF_PEOPLE.has(operator))
    return ['me', ...[...realm.people.values()].map((one) => one.full_name)].filter((name) => matches(name, value))
  return OPERANDS[operator]?.filter((one) => one.startsWith(value)) ?? []
}
