/** JSON of requests: RFC 8259 and nothing more lenient, matched with schemas. Contract section 1.1. */

import type { z } from 'zod'
import { CofferError } from './error.ts'

/**
 * Values and members of one text. The largest request that makes sense, a cluster of 64 members with 64 URLs each, has a
 * third of it; a megabyte of empty lists in each other would keep everybody waiting for a tenth of a second.
 */
const VALUES_MAX = 16_384

/** Without a byte order mark, which RFC 8259 section 8.1 lets parsers ignore. */
const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Throws `invalid`. */
export const parseJson = (bytes: Uint8Array): unknown => parseText(readText(bytes))

export function readText(bytes: Uint8Array): string {
  if (bytes.length === 0) throw emptyBody()
  try {
    return utf8.decode(bytes)
  } catch {
    throw new CofferError('invalid', 'The request body is not UTF-8')
  }
}

export function parseText(json: string): unknown {
  if (json.length > VALUES_MAX && countValues(json) > VALUES_MAX)
    throw new CofferError('invalid', `The request body has more than ${VALUES_MAX} values`)
  try {
    return JSON.parse(json)
  } catch {
    throw notJson() // the parser's own message quotes the body, which may hold a secret
  }
}

/**
 * As `JSON.parse`, for texts whose signature or hash was verified: throws `SyntaxError` also where an object names a
 * member twice, since programs differ in which of the two they read.
 */
export function parseUnambiguous(json: string): unknown {
  const value: unknown = JSON.parse(json)
  if (countColons(json) !== countMembers(value)) throw new SyntaxError('A member appears twice')
  return value
}

/** Outside of strings, so one for each member. */
function countColons(json: string): number {
  return json.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, '').split(':').length - 1
}

/** With a list of its own instead of recursion: JSON may be nested deeper than the stack. */
function countMembers(root: unknown): number {
  let count = 0
  const left = [root]
  while (left.length > 0) {
    const value = left.pop()
    if (typeof value !== 'object' || value === null) continue
    const values = Object.values(value)
    if (!Array.isArray(value)) count += values.length
    for (const one of values) left.push(one)
  }
  return count
}

export const emptyBody = () => new CofferError('invalid', 'The request body is empty')
export const notJson = () => new CofferError('invalid', 'The request body is not JSON')

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const BRACKET = 0x5b
const BRACE = 0x7b

/** Nearly: each but the first begins behind a comma or an opening bracket, and so does no more than one of each. */
function countValues(json: string): number {
  let count = 0
  let isInside = false // of a string
  for (let at = 0; at < json.length; at++) {
    const code = json.charCodeAt(at)
    if (code === QUOTE) isInside = !isInside
    else if (isInside) at += code === BACKSLASH ? 1 : 0
    else if (code === COMMA || code === BRACKET || code === BRACE) count++
  }
  return count
}

/** The parsed value; throws `invalid` with a message that names the member and never quotes its value. */
export function matchSchema<T>(schema: z.ZodType<T>, value: unknown, what: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw new CofferError('invalid', explain(parsed.error.issues[0], what))
}

/** A name sent by the client appears in the message up to this length. */
const NAME_MAX = 64

function explain(issue: z.core.$ZodIssue | undefined, what: string): string {
  if (issue === undefined) return `${what}: not valid`
  const member = issue.path.length === 0 ? what : issue.path.map((part) => String(part).slice(0, NAME_MAX)).join('.')
  if (issue.code === 'unrecognized_keys') return `${member}: ${unknownMembers(issue.keys)}`
  return `${member}: ${issue.message}`
}

export function unknownMembers(keys: readonly string[]): string {
  const names = keys.slice(0, 4).map((name) => JSON.stringify(name.slice(0, NAME_MAX)))
  return `unknown ${names.length > 1 ? 'members' : 'member'} ${names.join(', ')}`
}
