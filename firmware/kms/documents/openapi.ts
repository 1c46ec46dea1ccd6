/** Generates the OpenAPI document of an API from its declarations. OpenAPI 3.1.1, JSON Schema 2020-12. */

import { STATUS_CODES } from 'node:http'
import { defined } from '../../base/defined.ts'
import { STATES } from '../../base/states.ts'
import type { Method } from '../../http/endpoint/endpoint.ts'
import type { Declaration, MultipartForm } from '../pipeline/endpoint.ts'
import { bodyBytesMax } from '../pipeline/endpoint.ts'
import { createSchemaSet, type JsonSchema } from './json-schema.ts'

export interface ApiInfo {
  title: string
  version: string
  vendor: string
  /** Descriptions of other APIs, to which the page links. */
  others?: readonly { name: string; path: string }[]
}

export interface OpenApi {
  openapi: '3.1.1'
  info: { title: string; version: string; description: string; contact: { name: string } }
  servers: { url: string }[]
  tags: { name: string }[]
  paths: Record<string, PathItem>
  components: { schemas: Record<string, JsonSchema>; securitySchemes: Record<string, object> }
}

type PathItem = Partial<Record<Lowercase<Method>, OpenApiOperation>>

export interface OpenApiOperation {
  operationId: string
  tags: string[]
  summary: string
  description: string
  'x-states': readonly string[]
  'x-roles': readonly string[]
  'x-scope'?: 'root' | 'any'
  'x-public-in'?: readonly string[]
  security: Record<string, string[]>[]
  parameters?: OpenApiParameter[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, OpenApiResponse>
}

interface OpenApiParameter {
  name: string
  in: 'path' | 'query'
  required: boolean
  description?: string
  schema: JsonSchema
}

export interface OpenApiResponse {
  description: string
  headers?: Record<string, { description: string; schema: JsonSchema }>
  content?: Content
}

export type Content = Record<string, { schema: JsonSchema }>

type Meanings = Readonly<Record<string, string | false | undefined>>

/** Parts of the document that depend on the API and not on its declarations. */
export interface ApiForm {
  description: string
  /** Body of every answer from 400 on. */
  error: JsonSchema
  /** The credentials of all operations that are not public. */
  security: { name: string; scheme: object }
  /** Meanings of the error answers, by status; false for those that the operation does not give. */
  failures: <S>(declaration: Declaration<S>) => Meanings
  /** True if a missing body counts as an empty object. */
  hasOptionalBodies?: boolean
}

export function openApiDocument<S>(
  declarations: readonly Declaration<S>[],
  info: ApiInfo,
  basePath: string,
  form: ApiForm = NETHSM,
): OpenApi {
  const schemas = createSchemaSet()
  schemas.components.Error = form.error
  const paths: Record<string, PathItem> = {}
  for (const declaration of declarations) {
    const path = templateOf(declaration.path)
    paths[path] ??= {}
    paths[path][declaration.method.toLowerCase() as Lowercase<Method>] = operationOf(declaration, schemas, form)
  }
  nameConstants(schemas.components)
  return {
    openapi: '3.1.1',
    info: {
      title: info.title,
      version: info.version,
      contact: { name: info.vendor },
      description: form.description,
    },
    servers: [{ url: basePath }],
    tags: [...new Set(declarations.map(({ path }) => tagOf(path)))].map((name) => ({ name })),
    paths,
    components: {
      schemas: schemas.components,
      securitySchemes: { [form.security.name]: form.security.scheme },
    },
  }
}

const DESCRIPTION = [
  'Each operation names the states in which it is available and the roles that may use it; in any other state the answer',
  'is 412. Every answer from 400 on carries `{"message"}`. HEAD is offered wherever GET is. Other known methods are',
  'answered with 405, unknown ones with 501, request targets over 2000 characters with 414.',
].join(' ')

const NETHSM: ApiForm = {
  description: DESCRIPTION,
  error: { type: 'object', properties: { message: { type: 'string' } }, required: ['message'] },
  security: {
    name: 'basic',
    scheme: { type: 'http', scheme: 'basic', description: 'User ID and passphrase, in UTF-8.' },
  },
  failures: meanings,
}

type SchemaSet = ReturnType<typeof createSchemaSet>

/**
 * Client generators create a constant for each enumeration value. In Go all constants share one scope, and several enumerations have `RSA`:
 * https://openapi-generator.tech/docs/templating/#enum
 */
function nameConstants(components: Record<string, JsonSchema>): void {
  for (const [name, schema] of Object.entries(components))
    if (schema.enum !== undefined)
      schema['x-enum-varnames'] = schema.enum.map((value) =>
        `${name.replace(/([a-z0-9])([A-Z])/g, '$1_$2')}_${String(value).replace(/\W/g, '_')}`.toUpperCase(),
      )
}

function operationOf<S>(declaration: Declaration<S>, schemas: SchemaSet, form: ApiForm): OpenApiOperation {
  const { method, path, summary, states, access } = declaration
  const parameters = [...pathParameters(declaration, schemas), ...queryParameters(declaration, schemas)]
  const content = requestContent(declaration, schemas)
  const asksNobody = access === 'public' && declaration.account === undefined
  const open = asksNobody ? [...states] : access === 'public' ? [] : (access.publicIn ?? [])
  return {
    operationId: operationId(method, path),
    tags: [tagOf(path)],
    summary,
    description: permission(declaration),
    'x-states': states,
    'x-roles': access === 'public' ? [] : access.roles,
    ...(access !== 'public' && { 'x-scope': access.scope }),
    ...(open.length > 0 && { 'x-public-in': open }),
    security: asksNobody ? [] : [...(open.length > 0 ? [{}] : []), { [form.security.name]: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(content !== undefined && {
      requestBody: { required: !form.hasOptionalBodies || hasRequired(content), content },
    }),
    responses: { ...success(declaration, schemas), ...failures(form.failures(declaration)) },
  }
}

function permission<S>({ states, access, account }: Declaration<S>): string {
  const when = states.length === STATES.length ? 'States: all.' : `States: ${states.join(', ')}.`
  if (account !== undefined) return `${when} User \`${account}\` alone, who has no role.`
  if (access === 'public') return `${when} No credentials are needed.`
  const { roles, scope, publicIn = [] } = access
  const who = scope === 'root' ? 'users outside any namespace only' : 'users of a namespace included'
  const open = publicIn.length === 0 ? '' : ` No credentials are needed in: ${publicIn.join(', ')}.`
  return `${when} Roles: ${roles.join(', ') || 'none'} (${who}).${open}`
}

function pathParameters<S>({ path, params }: Declaration<S>, schemas: SchemaSet): OpenApiParameter[] {
  const { properties = {} } = params === undefined ? {} : schemas.inline(params, 'input')
  return [...path.matchAll(/:(\w+)/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: properties[name] ?? { type: 'string' },
  }))
}

function queryParameters<S>({ query }: Declaration<S>, schemas: SchemaSet): OpenApiParameter[] {
  if (query === undefined) return []
  const { properties = {}, required = [] } = schemas.inline(query, 'input')
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(schema.description !== undefined && { description: schema.description }),
    schema,
  }))
}

const hasRequired = (content: Content): boolean =>
  Object.values(content).some(({ schema: { required = [] } }) => required.length > 0)

const BYTES: JsonSchema = { type: 'string', format: 'binary' }

const FORM_TYPE = 'multipart/form-data'

function requestContent<S>({ body }: Declaration<S>, schemas: SchemaSet): Content | undefined {
  if (body === undefined) return undefined
  if (body.kind === 'raw') return Object.fromEntries(body.types.map((type) => [type, { schema: BYTES }]))
  if (body.kind === 'stream') {
    const { types, form } = body
    const schemaOf = (type: string) => (type === FORM_TYPE && form !== undefined ? formSchema(form) : BYTES)
    return Object.fromEntries(types.map((type) => [type, { schema: schemaOf(type) }]))
  }
  const json = { 'application/json': { schema: schemas.inline(body.schema, 'input') } }
  if (body.kind !== 'jsonOrMultipart') return json
  return {
    ...json,
    [FORM_TYPE]: { schema: formSchema({ arguments: { example: { mechanisms: [] } }, key_file: 'binary' }) },
  }
}

function formSchema(parts: MultipartForm): JsonSchema {
  const json = ({ example }: { example: object }): JsonSchema => ({
    type: 'string',
    contentMediaType: 'application/json',
    examples: [JSON.stringify(example)],
  })
  const properties = Object.entries(parts).map(([name, content]) => [
    name,
    content === 'binary' ? BYTES : json(content),
  ])
  return { type: 'object', properties: Object.fromEntries(properties), required: Object.keys(parts) }
}

function success<S>(
  { answers, method, version, body, creates }: Declaration<S>,
  schemas: SchemaSet,
): Record<string, OpenApiResponse> {
  const headers: NonNullable<OpenApiResponse['headers']> = {}
  if (version !== undefined && method === 'GET')
    headers.etag = { description: 'Changes with the representation.', schema: { type: 'string' } }
  if (answers.status === 201 && creates && body?.kind !== 'raw')
    headers.location = { description: 'Path of the new resource.', schema: { type: 'string' } }
  const answer: OpenApiResponse = { description: defined(STATUS_CODES[answers.status]) }
  if (Object.keys(headers).length > 0) answer.headers = headers
  if ('json' in answers) {
    answer.content = { 'application/json': { schema: schemas.inline(answers.json, 'output') } }
    if (answers.textType !== undefined) answer.content[answers.textType] = { schema: { type: 'string' } }
  }
  if ('types' in answers) answer.content = Object.fromEntries(answers.types.map((type) => [type, { schema: BYTES }]))
  return { [answers.status]: answer }
}

/** Derives error answers from the declaration; `errors` of the declaration replaces or adds texts. */
function meanings<S>(declaration: Declaration<S>): Meanings {
  const { access, addsRecords, answers, attemptsAs, body, creates, errors, exists, params, query, states, version } =
    declaration
  const limitBytes = bodyBytesMax(body, access)
  const asksSomebody = access !== 'public' || declaration.account !== undefined
  return {
    304: version !== undefined && declaration.method === 'GET' && 'The representation has the etag of `if-none-match`',
    400: (params !== undefined || query !== undefined || body !== undefined) && 'Malformed path, query or body',
    401: asksSomebody && 'Credentials are missing or wrong',
    403: access !== 'public' && 'The role or the namespace of the caller forbids it',
    404: exists !== undefined && 'No such resource',
    406: !('empty' in answers) && '`accept` refuses the type of the answer',
    412:
      (states.length < STATES.length || version !== undefined) && 'Not available in this state, or a condition fails',
    413: body !== undefined && Number.isFinite(limitBytes) && `The body is larger than ${limitBytes} bytes`,
    415: creates && body !== undefined && 'Wrong content type',
    429: (access !== 'public' || attemptsAs !== undefined) && 'An attempt failed less than a second ago',
    507: addsRecords && 'The disk is full: what is left is kept for signing, the audit log and deletion',
    ...errors,
  }
}

function failures(meanings: Meanings): Record<string, OpenApiResponse> {
  const failures: Record<string, OpenApiResponse> = {}
  for (const [status, description] of Object.entries(meanings)) {
    if (!description) continue
    const content = { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }
    failures[status] = status === '304' ? { description } : { description, content }
  }
  return failures
}

/** `/keys/:prefix*` becomes `/keys/{prefix}*`. */
const templateOf = (path: string): string => path.replace(/:(\w+)/g, '{$1}')

const tagOf = (path: string): string => path.split('/')[1] ?? ''

/** `GET /keys/:id/public.pem` becomes `getKeysByIdPublicPem`. */
function operationId(method: Method, path: string): string {
  const words = path.replace(/:/g, 'by ').split(/[^A-Za-z0-9]+/)
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}
