/** Describes this API to programs, in OpenAPI 3.1: `/v1/openapi.json`. */

import * as z from 'zod'
import { STATES } from '../../base/states.ts'
import { declare, type Services } from '../api/services.ts'
import { type ApiForm, type ApiInfo, openApiDocument } from '../documents/openapi.ts'
import { bodyBytesMax, type Declaration } from '../pipeline/endpoint.ts'
import { auth, DESCRIBED } from './described.ts'

export const OPENAPI_PATH = '/v1/openapi.json'

const BASE = '/v1'

const FORM: ApiForm = {
  description: [
    'The transit API of OpenBao 2.7.2. Each operation names the states in which it is available and the roles that may use it;',
    'in any other state the answer is 503. Every answer from 400 on carries `{"errors"}`. Bodies are read leniently: numbers and',
    'booleans may be texts, a member that is `null` counts as missing, unknown members are ignored. PUT counts as POST, and',
    'LIST as GET with `list=true`.',
  ].join(' '),
  error: { type: 'object', properties: { errors: { type: 'array', items: { type: 'string' } } }, required: ['errors'] },
  security: {
    name: 'token',
    scheme: { type: 'apiKey', in: 'header', name: 'x-vault-token', description: 'Token of a login, or access key.' },
  },
  hasOptionalBodies: true,
  failures: ({ access, addsRecords, body, method, path, states }) => ({
    400: 'Malformed request, or a key that is not there or cannot do this',
    403: access !== 'public' && 'The token, the role or the tags of the caller forbid it',
    404: method === 'GET' && path.startsWith('/transit/') && 'No such key',
    413: body !== undefined && `The body is larger than ${bodyBytesMax(body, access)} bytes`,
    429: access === 'public' && body !== undefined && 'An attempt failed less than a second ago',
    503: states.length < STATES.length && 'Vault is sealed',
    507: addsRecords && 'The disk is full: what is left is kept for signing, the audit log and deletion',
  }),
}

/** `data` is null where the answer has none. */
const envelope = (data: z.ZodType, answersAuth: boolean) =>
  z.object({
    request_id: z.uuid(),
    lease_id: z.string(),
    renewable: z.boolean(),
    lease_duration: z.int(),
    data,
    wrap_info: z.null(),
    warnings: z.null(),
    auth: answersAuth ? auth : z.null(),
  })

/** The declaration with its members, as a client of OpenAPI can call it. */
function described(declaration: Declaration<Services>): Declaration<Services> {
  const { method, path } = declaration
  const { params, query, body, data, hasAuth = false, bare } = DESCRIBED[`${method} ${path}`] ?? { data: z.unknown() }
  const hasAnswer = data !== undefined || hasAuth || bare !== undefined
  return {
    ...declaration,
    ...(method === 'LIST' && { method: 'GET' }),
    path: path.slice(BASE.length),
    ...(params !== undefined && { params }),
    ...(query !== undefined && { query }),
    ...(declaration.body !== undefined && { body: { kind: 'json', schema: body ?? z.looseObject({}) } }),
    answers: hasAnswer
      ? { status: 200, json: bare ?? envelope(data ?? z.null(), hasAuth) }
      : { status: 204, empty: true },
  }
}

export function documentDeclaration(declarations: readonly Declaration<Services>[], info: ApiInfo) {
  let made: Uint8Array | undefined
  return declare({
    method: 'GET',
    path: OPENAPI_PATH,
    summary: 'OpenAPI 3.1.',
    states: STATES,
    access: 'public',
    answers: { status: 200, types: ['application/json'] },
    handle: () => {
      made ??= new TextEncoder().encode(JSON.stringify(openApiDocument(declarations.map(described), info, BASE, FORM)))
      return { status: 200, file: made, type: 'application/json' }
    },
  })
}
