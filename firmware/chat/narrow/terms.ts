/** Parses narrow terms of requests and rejects those that are invalid by themselves. Contract section 5.2. */

import { z } from 'zod'
import { ChatError } from '../base/error.ts'
import { meantTopic } from '../realm/model/topic-names.ts'

const TERMS_MAX = 100 // clients combine a handful; each is a condition on every message
const PARTIES_MAX = 1000 // of one conversation; no message can be sent to more

/** `BAD_NARROW` of contract 1.4: `desc` names the invalid term. */
export class NarrowError extends ChatError {
  constructor(desc: string) {
    super('BAD_NARROW', `Invalid narrow operator: ${desc}`, { desc })
  }
}

const operand = z.union([z.string(), z.int(), z.array(z.union([z.int(), z.string()])).max(PARTIES_MAX)])

/** Both formats of a term; the JSON of every parameter `narrow`. */
export const narrowShape = z
  .array(
    z.union([
      z.object({ operator: z.string(), operand, negated: z.boolean().default(false) }),
      z.tuple([z.string(), operand]),
    ]),
  )
  .max(TERMS_MAX)
export type NarrowShape = z.output<typeof narrowShape>

const IS_OPERANDS = ['dm', 'starred', 'unread', 'mentioned', 'alerted', 'resolved', 'followed', 'muted'] as const
const HAS_OPERANDS = ['attachment', 'image', 'link', 'reaction'] as const
const IN_OPERANDS = ['home', 'all'] as const
const CHANNELS_OPERANDS = ['public', 'web-public'] as const

/** A user or channel by id, or by email or name. Digits are always an id, so that a name cannot pose as another object's id. */
export type Named = number | string

type Bare =
  | { operator: 'channel'; operand: Named }
  | { operator: 'channels'; operand: (typeof CHANNELS_OPERANDS)[number] }
  | { operator: 'topic'; operand: string }
  | { operator: 'sender'; operand: Named | 'me' }
  | { operator: 'dm'; operand: readonly Named[] }
  | { operator: 'dm-including' | 'group-pm-with'; operand: Named }
  | { operator: 'is'; operand: (typeof IS_OPERANDS)[number] }
  | { operator: 'has'; operand: (typeof HAS_OPERANDS)[number] }
  | { operator: 'in'; operand: (typeof IN_OPERANDS)[number] }
  | { operator: 'search'; operand: string }
  | { operator: 'id' | 'near' | 'with' | 'mentions'; operand: number }
export type Term = Bare & { negated: boolean }
export type NarrowOperator = Bare['operator']

/** Former names that published clients still send. */
const ALIASES: Readonly<Record<string, NarrowOperator>> = {
  stream: 'channel',
  streams: 'channels',
  from: 'sender',
  'pm-with': 'dm',
}
const NEVER_NEGATED: ReadonlySet<NarrowOperator> = new Set(['near', 'with'])

type Operand = z.output<typeof operand>
type Reading = (operand: Operand, operator: string) => Bare

const READINGS: Readonly<Record<NarrowOperator, Reading>> = {
  channel: (input, as) => ({ operator: 'channel', operand: named(input, as) }),
  channels: (input, as) => ({ operator: 'channels', operand: oneOf(CHANNELS_OPERANDS, input, as) }),
  topic: (input, as) => ({ operator: 'topic', operand: meantTopic(text(input, as)) }),
  sender: (input, as) => ({ operator: 'sender', operand: named(input, as) }),
  dm: (input, as) => ({ operator: 'dm', operand: parties(input, as) }),
  'dm-including': (input, as) => ({ operator: 'dm-including', operand: named(input, as) }),
  'group-pm-with': (input, as) => ({ operator: 'group-pm-with', operand: named(input, as) }),
  is: (input, as) => ({ operator: 'is', operand: oneOf(IS_OPERANDS, input === 'private' ? 'dm' : input, as) }),
  has: (input, as) => ({ operator: 'has', operand: oneOf(HAS_OPERANDS, input, as) }),
  in: (input, as) => ({ operator: 'in', operand: oneOf(IN_OPERANDS, input, as) }),
  search: (input, as) => ({ operator: 'search', operand: text(input, as) }),
  id: (input, as) => ({ operator: 'id', operand: id(input, as) }),
  near: (input, as) => ({ operator: 'near', operand: id(input, as) }),
  with: (input, as) => ({ operator: 'with', operand: id(input, as) }),
  mentions: (input, as) => ({ operator: 'mentions', operand: id(input, as) }),
}

/** Throws NarrowError for an unknown operator, an invalid operand, and a term that cannot be negated. */
export function readTerms(narrow: NarrowShape): Term[] {
  return narrow.map((input) => {
    const {
      operator: as,
      operand,
      negated,
    } = Array.isArray(input) ? { operator: input[0], operand: input[1], negated: false } : input
    const operator = (Object.hasOwn(ALIASES, as) && ALIASES[as]) || as
    if (!isOperator(operator)) throw new NarrowError(`unknown ${as} operator`)
    if (negated && NEVER_NEGATED.has(operator)) throw new NarrowError(`${as} cannot be negated`)
    return { ...READINGS[operator](operand, as), negated }
  })
}

const isOperator = (name: string): name is NarrowOperator => Object.hasOwn(READINGS, name)

const bad = (operator: string) => new NarrowError(`invalid operand of ${operator}`)

function text(input: Operand, operator: string): string {
  if (typeof input !== 'string' || input.includes('\0')) throw bad(operator)
  return input
}

function named(input: Operand, operator: string): Named {
  const name = typeof input === 'string' ? (numeric(input) ?? input.trim()) : input
  if (Array.isArray(name) || name === '' || (typeof name === 'number' && name < 0)) throw bad(operator)
  return name
}

function id(input: Operand, operator: string): number {
  const name = named(input, operator)
  if (typeof name !== 'number') throw bad(operator)
  return name
}

/** Accepts a list of ids or emails, a single one, or emails separated by commas. Removes duplicates. */
function parties(input: Operand, operator: string): Named[] {
  const list = typeof input === 'string' ? input.split(',') : Array.isArray(input) ? input : [input]
  if (list.length === 0 || list.length > PARTIES_MAX) throw bad(operator)
  return [...new Set(list.map((party) => named(party, operator)))]
}

function oneOf<const T extends string>(values: readonly T[], input: Operand, operator: string): T {
  if (!values.includes(input as T)) throw new NarrowError(`unknown operand of ${operator}`)
  return input as T
}

function numeric(input: string): number | undefined {
  const trimmed = input.trim()
  const value = Number(trimmed)
  return /^\d{1,16}$/.test(trimmed) && Number.isSafeInteger(value) ? value : undefined
}
