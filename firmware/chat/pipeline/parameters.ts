/**
 * Parameters of requests: declared with their types, read from texts. Strings are sent raw, everything else as JSON.
 * Contract section 1.1.
 */

import { z } from 'zod'
import { parseText } from '../../base/json.ts'
import { expectName, expectText } from '../base/characters.ts'
import { ChatError, confusingParameters, invalidParameter, missingParameter } from '../base/error.ts'

export interface Parameter<T> {
  /** Throws `REQUEST_VARIABLE_INVALID` or `INVALID_JSON`. */
  read(raw: string, name: string): T
  /** What it is when it was not sent; null: it has to be. */
  readonly fallback: { readonly value: T } | null
  readonly aliases: readonly string[]
  /** Checks the value of parameters that are, or may be, JSON text. */
  readonly schema: z.ZodType | null

  optional(): Parameter<T | undefined>
  default<const D extends T>(value: D): Parameter<T>
  alias(...names: string[]): Parameter<T>
  /** A rule more; `message` says what is wrong, with the parameter's name before it. */
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

/** As it was sent. */
export const text = (): Parameter<string> => parameter(readText)

/** The name of something, as it was sent. Throws `BAD_REQUEST` for a character that no name has. `what` a client calls it. */
export const nameText = (what?: string): Parameter<string> =>
  parameter((raw, name) => {
    expectName(readText(raw, name).trim(), what ?? name)
    return raw
  })

/** Lines for people, as they were sent; as `nameText`. */
export const prose = (what?: string): Parameter<string> =>
  parameter((raw, name) => {
    expectText(readText(raw, name).trim(), what ?? name)
    return raw
  })

/** Without white space at its ends. */
export const trimmed = (): Parameter<string> => text().map((value) => value.trim())

export const oneOf = <const V extends string>(...values: readonly V[]): Parameter<V> =>
  parameter((raw, name) => {
    const value = values.find((value) => value === raw)
    if (value === undefined) throw invalidParameter(name, `${name} must be one of ${values.join(', ')}`)
    return value
  })

/** Text of that form. */
export const textOf = <T>(schema: z.ZodType<T>): Parameter<T> =>
  parameter((raw, name) => match(schema, readText(raw, name), name))

/** One JSON text of that type. */
export const json = <T>(schema: z.ZodType<T>): Parameter<T> =>
  parameter((raw, name) => match(schema, readJson(raw, name), name), null, [], schema)

/** JSON or a plain text, whichever the client sends for a value that may be either. */
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

/** "str or int": tried as JSON first, then taken as it is. A JSON value of another type is taken as its text. */
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

/** The text `null`, which one client sends for what it has not got, counts as not sent. */
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
  // Escapes can say what UTF-8 cannot; such a text would not come back from the disk as it was.
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
  /** Names that were sent and mean nothing here. */
  ignored: string[]
}

/** In declared order. Throws `REQUEST_CONFUSING_VAR` first, then of each parameter `..._MISSING` or `..._INVALID`. */
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
