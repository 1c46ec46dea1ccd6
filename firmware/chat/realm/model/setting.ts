/** Schema, default and request encoding of one setting. Contract section 1.1. */

import * as z from 'zod'
import { nameString, textString } from '../../base/characters.ts'

export interface Setting<Schema extends z.ZodType = z.ZodType> {
  /** Its output is the stored value. Its input may differ: a request has `unlimited` for null. */
  schema: Schema
  default: z.output<Schema>
  /** True if the request parameter is plain text; false if it is JSON. */
  raw: boolean
}

export type Values<Table extends Record<string, Setting>> = { [K in keyof Table]: z.output<Table[K]['schema']> }

export const onOff = (value: boolean) => ({ schema: z.boolean(), default: value, raw: false })

export const choice = <const N extends number>(values: readonly N[], value: NoInfer<N>) => ({
  schema: z.literal(values),
  default: value as N,
  raw: false,
})

export const word = <const W extends string>(values: readonly W[], value: NoInfer<W>) => ({
  schema: z.enum(values),
  default: value as W,
  raw: true,
})

/** Trims. The length is counted in code points, as clients count it. */
const trimmed = (schema: z.ZodString, charactersMax: number, value: string) => ({
  schema: schema.trim().refine((input) => [...input].length <= charactersMax),
  default: value,
  raw: true,
})

/** Single-line text. */
export const name = (charactersMax: number, value = '') => trimmed(nameString(), charactersMax, value)

/** Multi-line text. */
export const text = (charactersMax: number, value = '') => trimmed(textString(), charactersMax, value)

export const integer = (min: number, max: number, value: number) => ({
  schema: z.int().min(min).max(max),
  default: value,
  raw: false,
})

export function defaultsOf<Table extends Record<string, Setting>>(table: Table): Values<Table> {
  return Object.fromEntries(Object.entries(table).map(([name, row]) => [name, row.default])) as Values<Table>
}
