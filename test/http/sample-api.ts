/** A small API with every kind of declaration, for the tests of the pipeline. */

import { z } from 'zod'
import { CofferError } from '../../firmware/base/error.ts'
import { createLog, type Log, type LogEntry } from '../../firmware/base/log.ts'
import { createLoginLimiter, type LoginLimiter, UNLOCK_USER } from '../../firmware/base/login-limiter.ts'
import { type ApplianceState, STATES } from '../../firmware/base/states.ts'
import { base64Text, id, label, passphrase, tags, timestamp, userId } from '../../firmware/kms/api/schema.ts'
import { documentDeclarations } from '../../firmware/kms/documents/documents.ts'
import type { Caller } from '../../firmware/kms/domain/roles.ts'
import { BASE_PATH, endpoint, longJson } from '../../firmware/kms/pipeline/endpoint.ts'
import { type Api, type ApiOptions, createApi } from '../../firmware/kms/pipeline/pipeline.ts'

export interface Sample {
  state: ApplianceState
  nowMs: number
  keys: Map<string, string>
  calls: string[]
  verifications: number
  limiter: LoginLimiter
}

export interface SampleApi {
  app: Api
  sample: Sample
  limiter: LoginLimiter
  log: Log
  entries: LogEntry[]
}

const keyParams = z.object({ id })
const createId = z.object({ id }).meta({ id: 'CreateId' })

const keyExists = ({ services, params }: { services: Sample; params: { id: string } }) => {
  if (!services.keys.has(params.id)) throw new CofferError('notFound', 'No such key')
}

export const declarations = [
  endpoint({
    method: 'GET',
    path: '/info',
    summary: 'Vendor and product.',
    states: STATES,
    access: 'public',
    version: () => 'always the same',
    answers: { status: 200, json: z.object({ vendor: z.string() }).meta({ id: 'Info' }) },
    handle: () => ({ status: 200, json: { vendor: 'Test' } }),
  }),
  endpoint({
    method: 'GET',
    path: '/health/ready',
    summary: 'Answers while Operational.',
    states: ['Operational'],
    access: 'public',
    noCache: true,
    answers: { status: 200, empty: true },
    handle: () => ({ status: 200 }),
  }),
  endpoint({
    method: 'POST',
    path: '/unlock',
    summary: 'Unlocks.',
    states: ['Locked'],
    access: 'public',
    attemptsAs: UNLOCK_USER,
    body: { kind: 'json', schema: z.strictObject({ passphrase }).meta({ id: 'PassphraseBody' }) },
    noCache: true,
    answers: { status: 204, empty: true },
    handle: async ({
      services,
      address,
      body,
    }: {
      services: Sample
      address: string
      body: { passphrase: Uint8Array }
    }) => {
      const isRight = await services.limiter.attempt(address, UNLOCK_USER, async () =>
        Buffer.from(body.passphrase).toString() === 'right passphrase' ? true : null,
      )
      if (!isRight) throw new CofferError('forbidden', 'Wrong passphrase')
      return { status: 204 }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/system/restore',
    summary: 'Open while there is nobody to ask.',
    states: ['Unprovisioned', 'Operational'],
    access: { roles: ['Administrator'], scope: 'root', publicIn: ['Unprovisioned'] },
    body: { kind: 'raw', types: ['application/octet-stream'], parse: (bytes) => bytes },
    answers: { status: 204, empty: true },
    handle: ({ services, caller, body }: { services: Sample; caller: Caller | undefined; body: Uint8Array }) => {
      services.calls.push(`restore by ${caller?.userId ?? 'anyone'}: ${body.length}`)
      return { status: 204 }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/system/update',
    summary: 'Counts what arrives, up to `?until=`; 0 does not begin to read.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'root' },
    query: z.object({ until: z.string().optional() }),
    body: {
      kind: 'stream',
      types: ['application/octet-stream'],
      bytesExpectedMax: 160 * 1024 * 1024,
      open: (chunks: AsyncIterable<Uint8Array>, contentType) => ({ chunks, contentType }),
    },
    answers: { status: 200, json: z.object({ bytes: z.number(), contentType: z.string() }) },
    handle: async ({
      body: { chunks, contentType },
      query,
      services,
    }: {
      body: { chunks: AsyncIterable<Uint8Array>; contentType: string }
      query: { until?: string | undefined }
      services: Sample
    }) => {
      const until = Number(query.until ?? Number.POSITIVE_INFINITY)
      let bytes = 0
      if (until === 0) throw new CofferError('conflict', 'Nothing is read')
      try {
        for await (const chunk of chunks) {
          bytes += chunk.length
          services.calls.push('chunk')
          if (bytes >= until) throw new CofferError('invalid', 'Enough')
        }
      } finally {
        services.calls.push('end')
      }
      return { status: 200, json: { bytes, contentType } }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/system/backup',
    summary: 'Sends pieces of a kibibyte; fails after `?fail=`.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'root' },
    query: z.object({ pieces: z.coerce.number(), fail: z.coerce.number().optional() }),
    noCache: true,
    answers: { status: 200, types: ['application/octet-stream'] },
    handle: ({ services, query }: { services: Sample; query: { pieces: number; fail?: number | undefined } }) => {
      async function* stream() {
        try {
          for (let n = 0; n < query.pieces; n++) {
            if (n === query.fail) throw new CofferError('storage', 'The disk failed')
            services.calls.push('piece')
            yield new Uint8Array(1024).fill(n)
          }
        } finally {
          services.calls.push('end of pieces')
        }
      }
      return { status: 200, stream: stream(), type: 'application/octet-stream' }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/keys',
    summary: 'Lists keys.',
    states: ['Operational'],
    access: { roles: ['Administrator', 'Operator'], scope: 'any' },
    query: z.object({ filter: z.string().optional(), label: label.optional() }),
    answers: { status: 200, json: z.array(z.object({ id })).meta({ id: 'KeyList' }) },
    handle: ({
      query,
      services,
    }: {
      query: { filter?: string | undefined; label?: string | undefined }
      services: Sample
    }) => {
      services.calls.push(`list ${JSON.stringify(query)}`)
      return { status: 200, json: [...services.keys.keys()].sort().map((id) => ({ id })) }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/keys/generate',
    summary: 'Generates a key.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'any' },
    creates: true,
    body: {
      kind: 'json',
      schema: z.strictObject({ id: id.optional(), tags: tags.optional(), created: timestamp.optional() }),
    },
    noCache: true,
    answers: { status: 201, json: createId },
    handle: ({ body, services }: { body: { id?: string | undefined }; services: Sample }) => {
      const created = body.id ?? 'generated'
      if (services.keys.has(created)) throw new CofferError('conflict', 'The key exists')
      services.keys.set(created, 'new')
      return { status: 201, location: `/keys/${created}`, json: { id: created } }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/keys/:prefix*',
    summary: 'Lists keys whose id starts so.',
    states: ['Operational'],
    access: { roles: ['Administrator', 'Operator'], scope: 'any' },
    params: z.object({ prefix: id }),
    answers: { status: 200, json: z.array(z.object({ id })) },
    handle: ({ params, services }: { params: { prefix: string }; services: Sample }) => ({
      status: 200,
      json: [...services.keys.keys()].filter((name) => name.startsWith(params.prefix)).map((id) => ({ id })),
    }),
  }),
  endpoint({
    method: 'GET',
    path: '/keys/:id',
    summary: 'Reads a key.',
    states: ['Operational'],
    access: { roles: ['Administrator', 'Operator'], scope: 'any' },
    params: keyParams,
    exists: keyExists,
    version: ({ params, services }) => services.keys.get(params.id) ?? null,
    answers: { status: 200, json: z.object({ id, text: z.string() }) },
    handle: ({ params, services }: { params: { id: string }; services: Sample }) => ({
      status: 200,
      json: { id: params.id, text: services.keys.get(params.id) },
    }),
  }),
  endpoint({
    method: 'PUT',
    path: '/keys/:id',
    summary: 'Stores a key.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'any' },
    params: keyParams,
    version: ({ params, services }: { params: { id: string }; services: Sample }) =>
      services.keys.get(params.id) ?? null,
    creates: true,
    body: {
      kind: 'jsonOrMultipart',
      schema: z.strictObject({ text: z.string() }),
      parts: (parts) => {
        if (parts.length !== 2) throw new CofferError('invalid', 'Two parts are expected')
        return { text: parts.map(({ name, bytes }) => `${name}=${Buffer.from(bytes).toString()}`).join() }
      },
    },
    answers: { status: 204, empty: true },
    handle: ({ params, body, services }: { params: { id: string }; body: { text: string }; services: Sample }) => {
      services.keys.set(params.id, body.text)
      return { status: 204 }
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/keys/:id',
    summary: 'Removes a key.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'any' },
    params: keyParams,
    exists: keyExists,
    version: ({ params, services }) => services.keys.get(params.id) ?? null,
    answers: { status: 204, empty: true },
    handle: ({ params, services }: { params: { id: string }; services: Sample }) => {
      services.keys.delete(params.id)
      return { status: 204 }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/keys/:id/sign',
    summary: 'Signs.',
    states: ['Operational'],
    access: { roles: ['Operator'], scope: 'any' },
    params: keyParams,
    exists: keyExists,
    body: longJson(
      z.strictObject({ mode: z.enum(['EdDSA', 'PKCS1']), message: base64Text }).meta({ id: 'SignRequest' }),
      'message',
      67 * 1024 * 1024,
    ),
    noCache: true,
    answers: { status: 200, json: z.object({ signature: base64Text }) },
    handle: ({ body }) => ({ status: 200, json: { signature: `${body.message?.length}` } }),
  }),
  endpoint({
    method: 'PUT',
    path: '/keys/:id/cert',
    summary: 'Stores a certificate.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'any' },
    params: keyParams,
    creates: true,
    body: {
      kind: 'raw',
      types: ['application/x-pem-file', 'application/octet-stream'],
      parse: (bytes, type) => ({ bytes, type }),
    },
    answers: { status: 201, empty: true },
    handle: ({ body, services }: { body: { bytes: Uint8Array; type: string }; services: Sample }) => {
      services.calls.push(`certificate ${body.type} ${body.bytes.length}`)
      return { status: 201 }
    },
  }),
  endpoint({
    method: 'GET',
    path: '/keys/:id/cert',
    summary: 'Reads a certificate.',
    states: ['Operational'],
    access: { roles: ['Administrator', 'Operator'], scope: 'any' },
    params: keyParams,
    answers: { status: 200, types: ['application/x-pem-file', 'application/octet-stream'] },
    handle: () => ({ status: 200, bytes: new Uint8Array([1, 2, 3]), type: 'application/octet-stream' }),
  }),
  endpoint({
    method: 'PUT',
    path: '/keys/:id/tags/:tag',
    summary: 'Adds a tag.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'any' },
    params: z.object({ id, tag: id }),
    answers: { status: 204, empty: true },
    handle: ({ params }) => ({ status: params.tag === 'there' ? 304 : 204 }),
  }),
  endpoint({
    method: 'GET',
    path: '/users/:user',
    summary: 'Reads a user; Operators only themselves.',
    states: ['Operational'],
    access: { roles: ['Administrator', 'Operator'], scope: 'any' },
    authorize: ({ caller, params }) => {
      if (caller.role === 'Operator' && caller.userId !== params.user) throw new CofferError('forbidden', 'Not yours')
    },
    params: z.object({ user: userId }),
    answers: { status: 200, json: z.object({ user: userId }) },
    handle: ({ params }) => ({ status: 200, json: params }),
  }),
  endpoint({
    method: 'POST',
    path: '/users/:namespace~',
    summary: 'Adds a user to a namespace.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'any' },
    params: z.object({ namespace: id }),
    answers: { status: 201, json: createId },
    handle: ({ params }) => ({ status: 201, json: { id: `${params.namespace}~new` } }),
  }),
  endpoint({
    method: 'PUT',
    path: '/config/time',
    summary: 'For callers outside any namespace.',
    states: ['Operational'],
    access: { roles: ['Administrator'], scope: 'root' },
    creates: true,
    body: { kind: 'json', schema: z.strictObject({ time: timestamp }) },
    answers: { status: 204, empty: true },
    handle: ({ body, services }: { body: { time: number }; services: Sample }) => {
      services.calls.push(`time ${body.time}`)
      return { status: 204 }
    },
  }),
  endpoint({
    method: 'POST',
    path: '/fault',
    summary: 'Fails in the way the body says.',
    states: ['Operational'],
    access: 'public',
    body: { kind: 'raw', types: [], parse: (bytes) => Buffer.from(bytes).toString() },
    answers: { status: 204, empty: true },
    handle: ({ body }) => {
      if (body === 'storage') throw new CofferError('storage', 'The disk is full')
      if (body === 'busy') throw new CofferError('busy', 'Try again')
      throw new TypeError(`secret ${body}`)
    },
  }),
]

const CALLERS: Record<string, Caller> = {
  admin: { userId: 'admin', namespace: '', role: 'Administrator' },
  operator: { userId: 'operator', namespace: '', role: 'Operator' },
  metrics: { userId: 'metrics', namespace: '', role: 'Metrics' },
  'ns~admin': { userId: 'ns~admin', namespace: 'ns', role: 'Administrator' },
  'gone~admin': { userId: 'gone~admin', namespace: 'gone', role: 'Administrator' },
}

export const PASSPHRASE = 'test passphrase: ü'

export const basic = (user: string, passphrase = PASSPHRASE): string =>
  `Basic ${Buffer.from(`${user}:${passphrase}`).toString('base64')}`

export function sampleApi(options: Partial<ApiOptions<Sample>> = {}): SampleApi {
  const limiter = createLoginLimiter(() => sample.nowMs)
  const sample: Sample = {
    state: 'Operational',
    nowMs: 0,
    keys: new Map([['k', 'one']]),
    calls: [],
    verifications: 0,
    limiter,
  }
  const entries: LogEntry[] = []
  const log = createLog('debug', (entry) => entries.push(entry))
  const app = createApi<Sample>({
    declarations,
    others: documentDeclarations(declarations, { title: 'Sample', version: '1.2', vendor: 'Test' }, BASE_PATH),
    services: sample,
    state: () => sample.state,
    epoch: () => sample.state,
    authenticate: async (user, passphrase) => {
      sample.verifications++
      const right = Buffer.from(passphrase).toString() === PASSPHRASE
      return (right ? CALLERS[user] : undefined) ?? null
    },
    namespaceExists: ({ namespace }) => namespace !== 'gone',
    limiter,
    log,
    ...options,
  })
  return { app, sample, limiter, log, entries }
}
