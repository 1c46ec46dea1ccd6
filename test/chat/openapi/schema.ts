/**
 * Whether answers and events have the shapes of the upstream's published API description at level 372: the part of JSON
 * Schema that it uses (OpenAPI 3.0).
 */

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

// biome-ignore lint/suspicious/noExplicitAny: a document and answers of JSON, whose members are looked at by name
type Json = any

/** The description, or null where it is not installed; with CI=true it must be. */
export function readDescription(): Description | null {
  const root = process.env.COFFER_VECTORS ?? new URL('../../../../shared/vectors', import.meta.url).pathname
  const path = join(root, 'zulip', 'openapi_level_372.json')
  if (!existsSync(path) && process.env.CI !== 'true') return null
  return new Description(JSON.parse(readFileSync(path, 'utf8')))
}

export class Description {
  readonly #document: Json
  readonly #paths: { expression: RegExp; path: string; operations: Json }[]

  constructor(document: Json) {
    this.#document = document
    this.#paths = Object.entries<Json>(document.paths)
      .map(([path, operations]) => ({
        path,
        operations,
        expression: new RegExp(
          `^${path.replace(/\{(\w+)\}/g, (_, name) => (name.endsWith('_id') ? '(?:\\d+)' : '[^/]+'))}$`,
        ),
      }))
      // A path without variables is meant before one with.
      .sort((a, b) => a.path.split('{').length - b.path.split('{').length)
  }

  /** Where a successful answer is not as described; null for an operation that is not in the description. */
  problems(method: string, path: string, answer: Json): string[] | null {
    const found = this.#paths.find(
      ({ expression, operations }) => expression.test(path) && method.toLowerCase() in operations,
    )
    const response = found?.operations[method.toLowerCase()].responses['200']
    const described = response?.$ref === undefined ? response : this.#referred(response.$ref)
    const schema = described?.content?.['application/json']?.schema
    if (schema === undefined) return null
    return this.#check(schema, answer, '').map((problem) => `${method} ${found!.path}${problem}`)
  }

  #check(schema: Json, value: Json, path: string): string[] {
    if (schema.$ref !== undefined) return this.#check(this.#referred(schema.$ref), value, path)
    if (value === null) return schema.nullable || isEmpty(schema) ? [] : this.#nullProblems(schema, path)
    return [
      ...typeProblems(schema, value, path),
      ...(schema.allOf ?? []).flatMap((part: Json) => this.#check(part, value, path)),
      ...this.#alternativeProblems(schema.oneOf, value, path),
      ...this.#memberProblems(schema, value, path),
      ...(Array.isArray(value) && schema.items !== undefined
        ? value.flatMap((item) => this.#check(schema.items, item, `${path}[]`))
        : []),
    ]
  }

  #nullProblems(schema: Json, path: string): string[] {
    const parts: Json[] = schema.allOf ?? []
    const alternatives: Json[] = schema.oneOf ?? []
    if (alternatives.some((part) => this.#check(part, null, path).length === 0)) return []
    if (parts.length > 0 && parts.every((part) => this.#check(part, null, path).length === 0)) return []
    return [`${path}: may not be null`]
  }

  /** One of them has to fit; if none does, what the nearest one misses is said. */
  #alternativeProblems(alternatives: Json[] | undefined, value: Json, path: string): string[] {
    if (alternatives === undefined) return []
    const named = alternatives.filter((part) => this.#names(part, value))
    const tried = (named.length > 0 ? named : alternatives).map((part) => this.#check(part, value, label(path, value)))
    return tried.sort((a, b) => a.length - b.length)[0]!
  }

  #names(schema: Json, value: Json): boolean {
    const types = this.#valuesOf(schema, 'type')
    const operations = this.#valuesOf(schema, 'op')
    return types.includes(value?.type) && (operations.length === 0 || operations.includes(value.op))
  }

  #valuesOf(schema: Json, member: string): Json[] {
    if (schema.$ref !== undefined) return this.#valuesOf(this.#referred(schema.$ref), member)
    const own = schema.properties?.[member]
    const values = [...(own?.enum ?? []), ...(own?.allOf ?? []).flatMap((part: Json) => part.enum ?? [])]
    return [...values, ...(schema.allOf ?? []).flatMap((part: Json) => this.#valuesOf(part, member))]
  }

  #memberProblems(schema: Json, value: Json, path: string): string[] {
    if (typeof value !== 'object' || Array.isArray(value)) return []
    const known = schema.properties ?? {}
    const problems = (schema.required ?? [])
      .filter((name: string) => !(name in value))
      .map((name: string) => `${path}.${name}: missing`)
    for (const [name, member] of Object.entries<Json>(value)) {
      if (name in known) problems.push(...this.#check(known[name], member, `${path}.${name}`))
      else if (schema.additionalProperties === false) problems.push(`${path}.${name}: not described`)
      else if (typeof schema.additionalProperties === 'object')
        problems.push(...this.#check(schema.additionalProperties, member, `${path}.*`))
    }
    return problems
  }

  #referred(reference: string): Json {
    return reference
      .slice(2)
      .split('/')
      .reduce((node, name) => node[name], this.#document)
  }
}

function isEmpty(schema: Json): boolean {
  return Object.keys(schema).length === 0
}

function label(path: string, value: Json): string {
  return typeof value?.type === 'string' && path.endsWith('events[]')
    ? `${path}<${[value.type, value.op].filter(Boolean).join('/')}>`
    : path
}

function typeProblems({ type, enum: values, pattern }: Json, value: Json, path: string): string[] {
  const fits =
    type === undefined ||
    (type === 'integer' && Number.isInteger(value)) ||
    (type === 'array' && Array.isArray(value)) ||
    (type === 'object' && typeof value === 'object' && !Array.isArray(value)) ||
    (['string', 'number', 'boolean'].includes(type) && typeof value === type)
  if (!fits) return [`${path}: ${Array.isArray(value) ? 'array' : typeof value} instead of ${type}`]
  if (values !== undefined && !values.includes(value))
    return [`${path}: ${JSON.stringify(value)} is none of its values`]
  if (pattern !== undefined && typeof value === 'string' && !new RegExp(pattern).test(value))
    return [`${path}: ${JSON.stringify(value)} does not match`]
  return []
}
