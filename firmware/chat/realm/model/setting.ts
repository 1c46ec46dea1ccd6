/** What a row of a table of settings says: which values it takes, and how they come in a request. Contract section 1.1. */

import * as z from 'zod'
import { nameString, textString } from '../../base/characters.ts'

export interface Setting<Schema extends z.ZodType = z.ZodType> {
  /** Of the value that is stored; what a request may say in its place, such as `unlimited`, is read into that. */
  schema: Schema
  default: z.output<Schema>
  /** Sent as it is; all else is a JSON text. */
  raw: boolean
}

export type Values<Table extends Record<string, Setting>> = { [K in keyof Table]: z.output<Table[K]['schema']> }

export const onOff = (value: boolean) => ({ schema: z.boolean(), default: value, raw: false })

/** One of the numbers that mean something to clients. */
export const choice = <const N extends number>(values: readonly N[], value: NoInfer<N>) => ({
  schema: z.literal(values),
  default: value as N,
  raw: false,
})

/** One of the words that mean something to clients. */
export const word = <const W extends string>(values: readonly W[], value: NoInfer<W>) => ({
  schema: z.enum(values),
  default: value as W,
  raw: true,
})

/** Trimmed; its length is counted in code points, as clients count it. */
const trimmed = (schema: z.ZodString, charactersMax: number, value: string) => ({
  schema: schema.trim().refine((input) => [...input].length <= charactersMax),
  default: value,
  raw: true,
})

/** Text of one line. */
export const name = (charactersMax: number, value = '') => trimmed(nameString(), charactersMax, value)

/** Text of any number of lines. */
export const text = (charactersMax: number, value = '') => trimmed(textString(), charactersMax, value)

export const integer = (min: number, max: number, value: number) => ({
  schema: z.int().min(min).max(max),
  default: value,
  raw: false,
})

export function defaultsOf<Table extends Record<string, Setting>>(table: Table): Values<Table> {
  return Object.fromEntries(Object.entries(table).map(([name, row]) => [name, row.default])) as Values<Table>
}
