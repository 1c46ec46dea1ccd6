/** Converts an OpenAPI document to RAML 1.0. */

import type { JsonSchema } from './json-schema.ts'
import type { Content, OpenApi, OpenApiOperation, OpenApiResponse } from './openapi.ts'

type Raml = Record<string, unknown>

export function ramlDocument({ info, servers, components, paths }: OpenApi): Raml {
  const types: Record<string, Raml> = {}
  for (const [name, schema] of Object.entries(components.schemas)) types[name] = typeOf(schema, name, types)
  const resources = Object.entries(paths).map(([path, item]) => {
    const operations = Object.entries(item)
    const uriParameters = parametersOf(operations[0]?.[1], 'path', types)
    return [
      path,
      {
        ...(Object.keys(uriParameters).length > 0 && { uriParameters }),
        ...Object.fromEntries(operations.map(([method, operation]) => [method, methodOf(operation, types)])),
      },
    ]
  })
  return {
    title: info.title,
    version: info.version,
    description: info.description,
    baseUri: `https://{host}${servers[0]?.url}`,
    baseUriParameters: { host: { type: 'string', description: 'Name or address of the appliance.' } },
    protocols: ['HTTPS'],
    mediaType: 'application/json',
    securitySchemes: { basic: { type: 'Basic Authentication', description: 'User ID and passphrase, in UTF-8.' } },
    annotationTypes: {
      states: { type: 'string[]', description: 'States in which the method is available.' },
      roles: { type: 'string[]', description: 'Roles that may use the method; none where it is public.' },
      scope: { type: 'string', description: '`root`: users outside any namespace only; `any`: all users.' },
      publicIn: { type: 'string[]', description: 'States in which no credentials are needed.' },
    },
    types,
    ...Object.fromEntries(resources),
  }
}

function methodOf(operation: OpenApiOperation, types: Record<string, Raml>): Raml {
  const queryParameters = parametersOf(operation, 'query', types)
  const { security, requestBody, responses } = operation
  return {
    displayName: operation.summary,
    description: operation.description,
    '(states)': operation['x-states'],
    '(roles)': operation['x-roles'],
    ...(operation['x-scope'] !== undefined && { '(scope)': operation['x-scope'] }),
    ...(operation['x-public-in'] !== undefined && { '(publicIn)': operation['x-public-in'] }),
    ...(security.length > 0 && { securedBy: security.map((scheme) => Object.keys(scheme)[0] ?? null) }),
    ...(Object.keys(queryParameters).length > 0 && { queryParameters }),
    ...(requestBody !== undefined && { body: bodyOf(requestBody.content, operation.operationId, types) }),
    responses: Object.fromEntries(
      Object.entries(responses).map(([status, answer]) => [
        Number(status),
        answerOf(answer, `${operation.operationId}${status}`, types),
      ]),
    ),
  }
}

function parametersOf(
  operation: OpenApiOperation | undefined,
  place: 'path' | 'query',
  types: Record<string, Raml>,
): Raml {
  const parameters = (operation?.parameters ?? []).filter((parameter) => parameter.in === place)
  return Object.fromEntries(
    parameters.map(({ name, required, schema }) => [name, { ...typeOf(schema, name, types), required }]),
  )
}

function answerOf({ description, headers, content }: OpenApiResponse, name: string, types: Record<string, Raml>): Raml {
  return {
    description,
    ...(headers !== undefined && {
      headers: Object.fromEntries(
        Object.entries(headers).map(([name, { description }]) => [name, { type: 'string', description }]),
      ),
    }),
    ...(content !== undefined && { body: bodyOf(content, name, types) }),
  }
}

const bodyOf = (content: Content, name: string, types: Record<string, Raml>): Raml =>
  Object.fromEntries(Object.entries(content).map(([type, { schema }]) => [type, typeOf(schema, name, types)]))

const REFERENCE = /^#\/components\/schemas\//

/** RAML type declaration. `name` is for members of unions, which RAML can only reference by name. */
function typeOf(schema: JsonSchema, name: string, types: Record<string, Raml>): Raml {
  const description = schema.description === undefined ? {} : { description: schema.description }
  if (schema.$ref !== undefined) return { type: schema.$ref.replace(REFERENCE, ''), ...description }
  const variants = schema.anyOf ?? schema.oneOf
  if (variants !== undefined) {
    const union = variants.map((variant, index) => unionMember(variant, `${name}Variant${index + 1}`, types))
    return { type: union.join(' | '), ...description }
  }
  if (schema.const !== undefined) return { type: scalarOf(schema.const), enum: [schema.const], ...description }
  switch (schema.type) {
    case 'object':
      return { type: 'object', ...description, ...objectFacets(schema, name, types) }
    case 'array':
      return {
        type: 'array',
        ...description,
        items: schema.items === undefined ? 'any' : typeOf(schema.items, `${name}Item`, types),
        ...pick(schema, ['minItems', 'maxItems']),
      }
    case 'string':
      return stringType(schema, description)
    case 'integer':
    case 'number':
      return { type: schema.type, ...description, ...pick(schema, ['minimum', 'maximum', 'enum', 'default']) }
    case 'boolean':
      return { type: 'boolean', ...description }
    case 'null':
      return { type: 'nil', ...description }
    default:
      return { type: 'any', ...description }
  }
}

function objectFacets(schema: JsonSchema, name: string, types: Record<string, Raml>): Raml {
  const { properties = {}, required = [], additionalProperties } = schema
  const members = Object.entries(properties).map(([member, type]): [string, Raml] => [
    member,
    { ...typeOf(type, `${name}_${member}`, types), required: required.includes(member) },
  ])
  // In RAML, `//` stands for members of any other name.
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0)
    members.push(['//', typeOf(additionalProperties, `${name}Member`, types)])
  return {
    ...(members.length > 0 && { properties: Object.fromEntries(members) }),
    ...(additionalProperties === false && { additionalProperties: false }),
  }
}

function stringType(schema: JsonSchema, description: Raml): Raml {
  if (schema.format === 'binary') return { type: 'file', ...description }
  if (schema.format === 'date-time') return { type: 'datetime', format: 'rfc3339', ...description }
  const base64 = schema.contentEncoding === 'base64' && description.description === undefined
  return {
    type: 'string',
    ...description,
    ...(base64 && { description: 'Base64 with padding.' }),
    ...pick(schema, ['pattern', 'minLength', 'maxLength', 'enum', 'default']),
    ...(schema.examples?.[0] !== undefined && { example: schema.examples[0] }),
  }
}

function unionMember(schema: JsonSchema, name: string, types: Record<string, Raml>): string {
  const type = typeOf(schema, name, types)
  if (Object.keys(type).length === 1) return String(type.type)
  types[name] = type
  return name
}

const scalarOf = (value: unknown): string =>
  typeof value === 'number' ? 'number' : typeof value === 'boolean' ? 'boolean' : value === null ? 'nil' : 'string'

function pick(schema: JsonSchema, facets: readonly (keyof JsonSchema)[]): Raml {
  return Object.fromEntries(
    facets.filter((facet) => schema[facet] !== undefined).map((facet) => [facet, schema[facet]]),
  )
}
