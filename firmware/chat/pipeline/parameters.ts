/** Declares and parses typed parameters of requests. Strings are sent raw, other types as JSON. Contract section 1.1. */

import { z } from 'zod'
import { parseText } from '../../base/json.ts'
import { expectName, expectText } from '../base/characters.ts'
import { ChatError, confusingParameters, invalidParameter, missingParameter } from '../base/error.ts'

export interface Parameter<T> {
  /** Throws `REQUEST_VARIABLE_INVALID` or `INVALID_JSON`. */
  read(raw: string, name: string): T
  /** Default; null for a required parameter. */
  readonly fallback: { readonly value: T } | null
  readonly aliases: readonly string[]
  /** Schema of parameters that are JSON, or may be. */
  readonly schema: z.ZodType | null

  optional(): Parameter<T | undefined>
  default<const D extends T>(value: D): Parameter<T>
  alias(...names: string[]): Parameter<T>
  /** Adds a rule. `message` follows the parameter's name in the error. */
  where(rule: (value: T) => boolean, message: string): Parameter<T>
  map<U>(convert: (value: T) => U): Parameter<U>
}

// biome-ignore lint/suspicious/noExplicitAny: a parameter of any type, of which only its own type is taken
export type Parameters = Readonly<Record<string, Parameter<any>>>
export type ParameterValues<P extends Parameters> = {
  readonly [K in keyof P]: P[K] extends Parameter<infer T> ? T : never
}

type Read<T> = (raw: string, name: string) => T

function parameter<T>(
  read: Read<T>,
  fallback: { value: T } | null = null,
  aliases: readonly string[] = [],
  schema: z.ZodType | null = null,
): Parameter<T> {
  return {
    read,
    fallback,
    aliases,
    schema,
    optional: () => parameter<T | undefined>(read, { value: undefined }, aliases, schema),
    default: (value) => parameter(read, { value }, aliases, schema),
    alias: (...names) => parameter(read, fallback, [...aliases, ...names], schema),
    where: (rule, message) =>
      parameter(
        (raw, name) => {
          const value = read(raw, name)
          if (!rule(value)) throw invalidParameter(name, `${name} ${message}`)
          return value
        },
        fallback,
        aliases,
        schema,
      ),
    map: (convert) =>
      parameter(
        (raw, name) => convert(read(raw, name)),
        fallback && { value: convert(fallback.value) },
        aliases,
        schema,
      ),
  }
}

export const text = (): Parameter<string> => parameter(readText)

/** Text of a name, as sent. Throws `BAD_REQUEST` for characters that names must not have. `what`: the client's word for the parameter. */
export const nameText = (what?: string): Parameter<string> =>
  parameter((raw, name) => {
    expectName(readText(raw, name).trim(), what ?? name)
    return raw
  })

/** Text of several lines, as sent. Otherwise like `nameText`. */
export const prose = (what?: string): Parameter<string> =>
  parameter((raw, name) => {
    expectText(readText(raw, name).trim(), what ?? name)
    return raw
  })

export const trimmed = (): Parameter<string> => text().map((value) => value.trim())

export const oneOf = <const V extends string>(...values: readonly V[]): Parameter<V> =>
  parameter((raw, name) => {
    const value = values.find((value) => value === raw)
    if (value === undefined) throw invalidParameter(name, `${name} must be one of ${values.join(', ')}`)
    return value
  })

export const textOf = <T>(schema: z.ZodType<T>): Parameter<T> =>
  parameter((raw, name) => match(schema, readText(raw, name), name))

export const json = <T>(schema: z.ZodType<T>): Parameter<T> =>
  parameter((raw, name) => match(schema, readJson(raw, name), name), null, [], schema)

/** JSON, or raw text if it is not valid JSON. */
export const jsonOrTextOf = <T>(schema: z.ZodType<T>): Parameter<T> =>
  parameter(
    (raw, name) => {
      try {
        return match(schema, readJson(raw, name), name)
      } catch (error) {
        if (!(error instanceof ChatError) || error.code !== 'INVALID_JSON') throw error
        return match(schema, readText(raw, name), name)
      }
    },
    null,
    [],
    schema,
  )

export const integer = (): Parameter<number> => json(z.int())
export const naturalNumber = (): Parameter<number> => json(z.int().nonnegative())
export const boolean = (): Parameter<boolean> => json(z.boolean())
export const integers = (): Parameter<number[]> => json(z.array(z.int()))
export const texts = (): Parameter<string[]> => json(z.array(z.string()))

/** Zulip's "str or int": JSON, or else raw text. JSON of another type is taken as raw text. */
export const jsonOrText = <T>(schema: z.ZodType<T>): Parameter<T | string> =>
  parameter(
    (raw, name) => {
      readText(raw, name)
      try {
        const parsed = schema.safeParse(readJson(raw, name))
        return parsed.success ? parsed.data : raw
      } catch {
        return raw
      }
    },
    null,
    [],
    schema,
  )

/** One client sends the text `null` for missing values; it counts as not sent. */
export const nullable = <T>(inner: Parameter<T>): Parameter<T | undefined> =>
  parameter<T | undefined>(
    (raw, name) => (raw === 'null' ? undefined : inner.read(raw, name)),
    { value: undefined },
    inner.aliases,
    inner.schema,
  )

function readText(raw: string, name: string): string {
  if (raw.includes('\0')) throw invalidParameter(name, `${name} has a NUL character`)
  return raw
}

function readJson(raw: string, name: string): unknown {
  let value: unknown
  try {
    value = parseText(raw)
  } catch {
    throw new ChatError('INVALID_JSON', `${name} is not valid JSON`, { var_name: name })
  }
  // JSON escapes can hold text that UTF-8 cannot; the disk would not return it unchanged.
  if (/\\u(?:0000|[dD][89a-fA-F])/.test(raw) && !isClean(value))
    throw invalidParameter(name, `${name} has characters that are none`)
  if (raw.includes('\0')) throw invalidParameter(name, `${name} has a NUL character`)
  return value
}

function isClean(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0')
  if (typeof value !== 'object' || value === null) return true
  return Object.entries(value).every(([key, member]) => isClean(key) && isClean(member))
}

function match<T>(schema: z.ZodType<T>, value: unknown, name: string): T {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]
  const where =
    issue === undefined || issue.path.length === 0
      ? name
      : `${name}[${issue.path
          .slice(0, 4)
          .map((part) => JSON.stringify(part).slice(0, 40))
          .join('][')}]`
  throw invalidParameter(name, `${where}: ${issue?.message ?? 'not valid'}`)
}

interface ReadParameters<P extends Parameters> {
  input: ParameterValues<P>
  ignored: string[]
}

/** Reads in declared order. Throws `REQUEST_CONFUSING_VAR` first, then `..._MISSING` or `..._INVALID` of each parameter. */
export function readParameters<P extends Parameters>(
  parameters: P,
  sent: ReadonlyMap<string, string>,
): ReadParameters<P> {
  const known = new Set<string>()
  const named: [string, Parameter<unknown>, string | undefined][] = []
  for (const [name, declared] of Object.entries(parameters)) {
    const names = [name, ...declared.aliases]
    const [used, other] = names.filter((name) => sent.has(name))
    for (const name of names) known.add(name)
    if (used !== undefined && other !== undefined) throw confusingParameters(used, other)
    named.push([name, declared, used === undefined ? undefined : sent.get(used)])
  }
  const input = Object.fromEntries(
    named.map(([name, declared, raw]) => {
      if (raw !== undefined) return [name, declared.read(raw, name)]
      if (declared.fallback === null) throw missingParameter(name)
      return [name, declared.fallback.value]
    }),
  ) as ParameterValues<P>
  return { input, ignored: [...sent.keys()].filter((name) => !known.has(name)) }
}
