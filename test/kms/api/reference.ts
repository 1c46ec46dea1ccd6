/** Two API descriptions, compared operation by operation: of OpenAPI 3.0 and 3.1, as far as they tell what a client may rely on. */

import type { JsonSchema } from '../../../firmware/kms/documents/json-schema.ts'

/** JSON Schema of either version. */
type Schema = Omit<JsonSchema, 'type'> & { type?: string | string[]; nullable?: boolean }
type Content = Record<string, { schema?: Schema }>

export interface Operation {
  roles: readonly string[]
  states: readonly string[]
  scopes: readonly string[]
  parameters?: { name: string; in: string }[]
  requestBody?: { content: Content }
  responses: Record<string, { content?: Content }>
}

export interface Description {
  /** By method and path, without the names of parameters. */
  operations: ReadonlyMap<string, Operation>
  schemas: Record<string, Schema>
}

export interface Difference {
  operation: string
  /** Compared item, such as `status 406` or `request.label text`. */
  at: string
  was: string | undefined
  is: string | undefined
}

type Facts = Map<string, string>

const METHODS = ['get', 'put', 'post', 'delete'] as const

/** `read` takes what the description says of an operation in extensions of its own. */
export function readDescription(
  document: { paths: object; components: { schemas: object } },
  read: (operation: never) => Pick<Operation, 'roles' | 'states' | 'scopes'>,
): Description {
  const operations = new Map<string, Operation>()
  for (const [path, item] of Object.entries<Record<string, Operation>>(document.paths as never))
    for (const method of METHODS) {
      const operation = item[method]
      if (operation === undefined) continue
      operations.set(`${method.toUpperCase()} ${templateOf(path)}`, { ...operation, ...read(operation as never) })
    }
  return { operations, schemas: document.components.schemas as Record<string, Schema> }
}

/** The reference describes `/users/{namespace}~`, which makes a user in a namespace, as a user id. */
const templateOf = (path: string): string => path.replace(/\{\w+\}~?/g, '{}')

export function differencesOf(reference: Description, ours: Description): Difference[] {
  const found: Difference[] = []
  for (const [operation, theirs] of reference.operations) {
    const own = ours.operations.get(operation)
    if (own === undefined) continue
    const [before, after] = [factsOf(theirs, reference.schemas), factsOf(own, ours.schemas)]
    for (const at of new Set([...before.keys(), ...after.keys()])) {
      const [was, is] = [before.get(at), after.get(at)]
      if (was !== is) found.push({ operation, at, was, is })
    }
  }
  return found
}

function factsOf(operation: Operation, schemas: Record<string, Schema>): Facts {
  const facts: Facts = new Map()
  const note = (kind: string, names: Iterable<string>) => {
    for (const name of names) facts.set(`${kind} ${name}`, 'yes')
  }
  note('role', operation.roles)
  note('state', operation.states)
  note('scope', operation.scopes)
  note(
    'query',
    (operation.parameters ?? []).filter((parameter) => parameter.in === 'query').map(({ name }) => name),
  )
  note('status', Object.keys(operation.responses))
  const bodies: [string, Content | undefined][] = [['request', operation.requestBody?.content]]
  for (const [status, { content }] of Object.entries(operation.responses))
    if (Number(status) < 300) bodies.push(['answer', content])
  for (const [kind, content = {}] of bodies) {
    note(`${kind} type`, Object.keys(content))
    const schema = (content['application/json'] ?? content['multipart/form-data'])?.schema
    if (schema !== undefined) for (const [at, fact] of schemaFacts(schema, kind, schemas)) facts.set(at, fact)
  }
  return facts
}

/** `at` is the place of the schema in the body. */
function schemaFacts(schema: Schema, at: string, schemas: Record<string, Schema>): Facts {
  const inner = (child: Schema, place: string): Facts => schemaFacts(child, place, schemas)
  if (schema.$ref !== undefined) return inner(schemas[schema.$ref.split('/').at(-1)!]!, at)
  const alternatives = schema.anyOf ?? schema.oneOf
  if (alternatives !== undefined)
    return merge(
      alternatives.map((one) => inner(one as Schema, at)),
      at,
    )
  const facts: Facts = new Map()
  facts.set(`${at} type`, typesOf(schema).join(' '))
  const values = schema.enum ?? (schema.const === undefined ? undefined : [schema.const])
  if (values !== undefined) facts.set(`${at} enum`, [...values].sort().join(' '))
  if (textOf(schema) !== '') facts.set(`${at} text`, textOf(schema))
  const { minimum, maximum, minItems, maxItems } = schema
  if ((minimum ?? maximum) !== undefined) facts.set(`${at} range`, `${minimum} to ${maximum}`)
  if ((minItems ?? maxItems) !== undefined) facts.set(`${at} count`, `${minItems} to ${maxItems}`)
  if (schema.additionalProperties === false) facts.set(`${at} strict`, 'yes')
  for (const [name, child] of Object.entries(schema.properties ?? {})) {
    facts.set(`${at}.${name} required`, schema.required?.includes(name) ? 'yes' : 'no')
    for (const [place, fact] of inner(child as Schema, `${at}.${name}`)) facts.set(place, fact)
  }
  if (schema.items !== undefined)
    for (const [place, fact] of inner(schema.items as Schema, `${at}[]`)) facts.set(place, fact)
  return facts
}

/** A member is required where each alternative that can have it requires it. */
function merge(alternatives: readonly Facts[], at: string): Facts {
  const facts: Facts = new Map()
  for (const key of new Set(alternatives.flatMap((one) => [...one.keys()]))) {
    const [place = '', kind] = key.split(' ')
    const holder = place.slice(0, place.lastIndexOf('.'))
    const holders = alternatives.filter((one) => /object/.test(one.get(`${holder || at} type`) ?? ''))
    const known = alternatives.flatMap((one) => one.get(key) ?? [])
    if (kind === 'required') facts.set(key, holders.every((one) => one.get(key) === 'yes') ? 'yes' : 'no')
    else facts.set(key, [...new Set(known.flatMap((fact) => fact.split(' ')))].sort().join(' '))
  }
  return facts
}

function typesOf({ type, nullable, properties }: Schema): string[] {
  const types = [type ?? (properties === undefined ? 'any' : 'object')].flat()
  return [...types, ...(nullable ? ['null'] : [])].sort()
}

const SPELLINGS: Readonly<Record<string, string>> = {
  '^[a-zA-Z0-9][a-zA-Z0-9_.-]*$ 1 128': 'ID',
  '^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$': 'ID',
  '^[a-zA-Z0-9+/]+={0,3}$': 'Base64',
  'base64 ^[A-Za-z0-9+/]*={0,2}$': 'Base64',
  '^https://.+ 1 1024': 'URL',
  '^https:\\/\\/.+ 1024': 'URL',
}

function textOf({ format, contentEncoding, pattern, minLength, maxLength }: Schema): string {
  const text = [format, contentEncoding, pattern, minLength, maxLength].filter((part) => part !== undefined).join(' ')
  return SPELLINGS[text] ?? text.replaceAll(' ', ',')
}
