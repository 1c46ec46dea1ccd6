/** Renders an example request of an operation as a curl(1) command. */

import { COMPONENTS, type JsonSchema } from './json-schema.ts'
import type { OpenApi, OpenApiOperation } from './openapi.ts'

const USERS: Readonly<Record<string, string>> = {
  Administrator: 'admin',
  Operator: 'operator',
  Metrics: 'metrics',
  Backup: 'backup',
}
const UNLOCKER = 'unlock' // for operations without a role

const BYTES_TYPE = 'application/octet-stream'

/** `$coffer` stands for the API's address, base path included. */
export function curlExample(
  method: string,
  path: string,
  operation: OpenApiOperation,
  { components }: OpenApi,
): string {
  const { parameters = [] } = operation
  const exampleOf = (schema: JsonSchema) => schemaExample(schema, components.schemas)
  const filled = parameters
    .filter((parameter) => parameter.in === 'path')
    .reduce((text, { name, schema }) => text.replace(`{${name}}`, String(exampleOf(schema) ?? name)), path)
  const query = parameters.flatMap(({ in: place, name, schema: { examples } }) =>
    place === 'query' && examples !== undefined ? [`${name}=${examples[0]}`] : [],
  )
  return [
    'curl',
    ...(method === 'GET' ? [] : [`--request ${method}`]),
    ...user(operation),
    ...body(operation, exampleOf),
    ...(saved(operation) ? ['--output answer'] : []),
    `"$coffer${[filled, ...(query.length > 0 ? [query.join('&')] : [])].join('?')}"`,
  ].join(' ')
}

function user({ security, 'x-roles': [role = ''] }: OpenApiOperation): string[] {
  const isAsked = security.some((scheme) => Object.keys(scheme).length > 0)
  return isAsked ? [`--user ${USERS[role] ?? UNLOCKER}`] : []
}

function body({ requestBody }: OpenApiOperation, exampleOf: (schema: JsonSchema) => unknown): string[] {
  const [first] = Object.entries(requestBody?.content ?? {})
  if (first === undefined) return []
  const [type, { schema }] = first
  if (type === 'multipart/form-data') {
    const parts = Object.entries(schema.properties ?? {}).map(([name, { contentMediaType, examples }]) =>
      contentMediaType === undefined ? `${name}=@${name}` : `${name}=${examples?.[0]}`,
    )
    return parts.map((part) => `--form ${quote(part)}`)
  }
  const header = `--header ${quote(`content-type: ${type}`)}`
  if (schema.format === 'binary') return [header, `--data-binary @${type.endsWith('pem-file') ? 'file.pem' : 'file'}`]
  return [header, `--data ${quote(JSON.stringify(exampleOf(schema) ?? {}))}`]
}

const saved = ({ responses }: OpenApiOperation): boolean =>
  Object.keys(responses['200']?.content ?? {})[0] === BYTES_TYPE

function schemaExample(schema: JsonSchema, components: Readonly<Record<string, JsonSchema>>): unknown {
  if (schema.examples?.[0] !== undefined) return schema.examples[0]
  const { $ref } = schema
  return $ref === undefined ? undefined : schemaExample(components[$ref.slice(COMPONENTS.length)] ?? {}, components)
}

/** Quotes for a shell: POSIX.1 XCU section 2.2.2. */
const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
