/** Bodies as OpenBao reads them: lenient in types, strict in base64. CONTRACT.md, "Bodies". */

import * as z from 'zod'
import { readBase64 } from '../../base/base64.ts'
import { defined } from '../../base/defined.ts'
import { CofferError } from '../../base/error.ts'
import { parseText, readText } from '../../base/json.ts'
import { wipeBody } from '../../http/request/body.ts'
import type { Body } from '../pipeline/endpoint.ts'
import { invalid } from './answers.ts'

/** Members by name; those that are null are absent. */
export type Fields = Readonly<Record<string, unknown>>

/** Parameters of a query are read one by one; unknown ones are ignored. */
export const anyQuery = z.record(z.string(), z.string())

const BATCH_MAX = 1000 // items; two threads take a tenth of a second for them

export const jsonBody: Body<Fields> = {
  kind: 'raw',
  types: ['application/json'],
  parse: (bytes) => {
    try {
      return fieldsOf(bytes)
    } finally {
      wipeBody(bytes as Uint8Array<ArrayBuffer>)
    }
  },
}

function fieldsOf(bytes: Uint8Array): Fields {
  if (bytes.length === 0) return {}
  let value: unknown
  try {
    value = parseText(readText(bytes))
  } catch (error) {
    if (!(error instanceof CofferError)) throw error
    throw invalid('failed to decode JSON input')
  }
  if (value === null) return {}
  if (!isObject(value)) throw invalid('failed to decode JSON input')
  return withoutNulls(value)
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const withoutNulls = (object: Record<string, unknown>): Fields =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== null))

const wrongType = (name: string, type: string): Error =>
  invalid(`error converting input for field "${name}": expected type '${type}'`)

/** Numbers and booleans count as their text. */
export function text(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (typeof value === 'object') throw wrongType(name, 'string')
  return plainText(fields, name)
}

/** As `text`, but undefined for objects: the conversion of one to text may throw. */
export function plainText(fields: Fields, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  return value === undefined || typeof value === 'object' ? undefined : String(value)
}

/** A list of texts; a single text is a list of one, an empty one of none. */
export function texts(fields: Fields, name: string): string[] {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  if (!Array.isArray(value)) return [text(fields, name) ?? ''].filter((one) => one !== '')
  if (!value.every((one) => typeof one === 'string')) throw wrongType(name, 'slice')
  return value
}

export function integer(fields: Fields, name: string): number | undefined {
  const value = text(fields, name)
  if (value === undefined || value === '') return undefined
  if (!/^-?\d{1,9}$/.test(value)) throw wrongType(name, 'int')
  return Number(value)
}

export function flag(fields: Fields, name: string): boolean {
  const value = parseBoolean(text(fields, name) ?? '')
  if (value === null) throw wrongType(name, 'bool')
  return value
}

const TRUE = new Set(['1', 't', 'T', 'TRUE', 'true', 'True'])
const FALSE = new Set(['', '0', 'f', 'F', 'FALSE', 'false', 'False'])

/** As Go's strconv.ParseBool, and false for an empty text. Returns null for other texts. */
export const parseBoolean = (value: string): boolean | null => TRUE.has(value) || (FALSE.has(value) ? false : null)

/** Decodes base64 with the error of Go. */
export function decoded(value: string, prefix = ''): Uint8Array {
  const bytes = readBase64(value)
  if (bytes === null) throw invalid(`${prefix}illegal base64 data at input byte ${badByte(value)}`)
  return bytes
}

/** The first character that is no base64, or the start of the group that is not complete. */
function badByte(value: string): number {
  const bad = value.search(/[^A-Za-z0-9+/=]/)
  return bad === -1 ? Math.max(0, Math.ceil(value.length / 4) - 1) * 4 : bad
}

export function bytes(fields: Fields, name: string): Uint8Array | undefined {
  const value = text(fields, name)
  return value === undefined ? undefined : decoded(value)
}

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Seconds of a number or of a text such as `1h30m`. */
export function duration(fields: Fields, name: string): number | undefined {
  const value = text(fields, name)
  if (value === undefined || value === '') return undefined
  if (/^\d{1,9}$/.test(value)) return Number(value)
  if (!/^(\d{1,9}[smhd]){1,4}$/.test(value)) throw wrongType(name, 'duration')
  return [...value.matchAll(/(\d+)([smhd])/g)].reduce(
    (sum, [, count, unit]) => sum + Number(count) * defined(UNITS[defined(unit)]),
    0,
  )
}

/** For the audit log: the number of items, whatever they are. */
export const countItems = ({ body }: { body: Fields }): { items: string } => ({
  items: String(Array.isArray(body.batch_input) ? body.batch_input.length : 1),
})

/** Null without `batch_input`. */
export function batchOf(fields: Fields): readonly Fields[] | null {
  const items = fields.batch_input
  if (items === undefined) return null
  if (!Array.isArray(items) || !items.every(isObject)) throw invalid('failed to parse batch input')
  if (items.length === 0) throw invalid('missing batch input to process')
  if (items.length > BATCH_MAX) throw invalid(`batch_input may have ${BATCH_MAX} items`)
  return items.map(withoutNulls)
}
