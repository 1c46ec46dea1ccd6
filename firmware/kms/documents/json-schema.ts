/** Converts schemas of declarations to JSON Schema 2020-12 and collects named ones as components. */

import * as z from 'zod'
import { defined } from '../../base/defined.ts'

export interface JsonSchema {
  $ref?: string
  type?: string
  description?: string
  format?: string
  pattern?: string
  contentEncoding?: string
  contentMediaType?: string
  enum?: readonly unknown[]
  'x-enum-varnames'?: readonly string[]
  const?: unknown
  examples?: readonly unknown[]
  default?: unknown
  minLength?: number
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
  properties?: Record<string, JsonSchema>
  required?: readonly string[]
  additionalProperties?: boolean | JsonSchema
  items?: JsonSchema
  anyOf?: readonly JsonSchema[]
  oneOf?: readonly JsonSchema[]
  allOf?: readonly JsonSchema[]
}

const LOCAL = '#/$defs/'
export const COMPONENTS = '#/components/schemas/'

type Side = 'input' | 'output'

export function createSchemaSet() {
  const components: Record<string, JsonSchema> = {}
  const originals = new Map<string, string>()

  /** Converts a schema; named schemas inside it become references to components. */
  function inline(schema: z.ZodType, side: Side): JsonSchema {
    const { $schema: _, $defs = {}, ...json } = convert(schema, side)
    const names = new Map(Object.entries($defs).map(([name, definition]) => [name, nameFor(name, definition, side)]))
    for (const [name, definition] of Object.entries($defs)) {
      components[defined(names.get(name))] = relocate(definition, names) as JsonSchema
    }
    return relocate(json, names) as JsonSchema
  }

  /** A name may have one definition for input and another for output. */
  function nameFor(name: string, definition: JsonSchema, side: Side): string {
    const original = JSON.stringify(definition)
    const free = [name, `${name}${side === 'input' ? 'Request' : 'Answer'}`].find(
      (candidate) => (originals.get(candidate) ?? original) === original,
    )
    if (free === undefined) throw new Error(`Two schemas are called ${name}`)
    originals.set(free, original)
    return free
  }

  return { components, inline }
}

interface Converted extends JsonSchema {
  $schema?: string
  $defs?: Record<string, JsonSchema>
}

function convert(schema: z.ZodType, side: Side): Converted {
  return z.toJSONSchema(schema, {
    io: side,
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) => {
      delete jsonSchema.id // the name of the component
      // Zod drops examples of transformed schemas. Ours show the wire format.
      const { examples } = z.globalRegistry.get(zodSchema) ?? {}
      if (side === 'input' && examples !== undefined)
        jsonSchema.examples = examples as NonNullable<typeof jsonSchema.examples>
      // These bounds are Zod's for any integer, so the schema has none.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (side === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  }) as Converted
}

/** Turns references within the schema into references within the document. */
function relocate(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => relocate(item, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => {
      if (key !== '$ref' || typeof item !== 'string' || !item.startsWith(LOCAL)) return [key, relocate(item, names)]
      const name = item.slice(LOCAL.length)
      return [key, COMPONENTS + (names.get(name) ?? name)]
    }),
  )
}
