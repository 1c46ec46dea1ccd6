/** Schemas of declarations as JSON Schema 2020-12, those with a name collected as components. */

import { z } from 'zod'

/** What of JSON Schema appears in the documents. */
export interface JsonSchema {
  $ref?: string
  type?: string
  description?: string
  format?: string
  pattern?: string
  contentEncoding?: string
  contentMediaType?: string
  enum?: readonly unknown[]
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

export function createSchemaSet() {
  const components: Record<string, JsonSchema> = {}

  /** The schema itself, referring to components for whatever in it has a name. */
  function inline(schema: z.ZodType, side: 'input' | 'output'): JsonSchema {
    const {
      $schema: _,
      $defs = {},
      id: _id,
      ...json
    } = z.toJSONSchema(schema, { io: side, unrepresentable: 'any' }) as {
      $schema?: string
      $defs?: Record<string, JsonSchema>
      id?: string
    } & JsonSchema
    const names = new Map<string, string>()
    for (const name of Object.keys($defs)) names.set(name, componentName(name, $defs[name]!, side))
    for (const [name, definition] of Object.entries($defs)) {
      components[names.get(name)!] = relocate(withoutId(definition), names) as JsonSchema
    }
    return relocate(json, names) as JsonSchema
  }

  /** One name may look different when it is sent and when it is received. */
  function componentName(name: string, definition: JsonSchema, side: 'input' | 'output'): string {
    const known = components[name]
    const same = known === undefined || JSON.stringify(known) === JSON.stringify(withoutId(definition))
    return same ? name : `${name}${side === 'input' ? 'Request' : 'Answer'}`
  }

  return { components, inline }
}

function withoutId(definition: JsonSchema & { id?: unknown }): JsonSchema {
  const { id: _, ...rest } = definition
  return rest
}

/** References into the schema become references into the document. */
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
