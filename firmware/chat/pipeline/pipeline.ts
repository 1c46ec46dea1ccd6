/**
 * Handles every request by its declaration: the checks of contract section 1.10, the handler and the envelope. Access to the realm comes in
 * through options.
 */

import { Hono } from 'hono'
import type { QueuePriority } from '../../base/fair-queue.ts'
import type { Log } from '../../base/log.ts'
import { prefixOf } from '../../base/login-limiter.ts'
import { runAuthorized } from '../../base/request-authorization.ts'
import { createEndpointTable, splitTarget } from '../../http/endpoint/table.ts'
import { type Reply, type StreamedReply, toResponse } from '../../http/reply.ts'
import { createBodyReader } from '../../http/request/body.ts'
import { BODY_LIMITS, type BodyLimits } from '../../http/request/body-rate.ts'
import { type Connection, type Exchange, exchangeOf } from '../../http/server/exchange.ts'
import { ChatError, type ErrorFields } from '../base/error.ts'
import { type Auditor, type ChatAttempt, recordAct, recordRefusal } from './auditor.ts'
import { type AnswerTerms, type AuthenticatedCaller, type CallerOptions, createCallers } from './callers.ts'
import { method, noSuchPath, origin, route, segments } from './checks.ts'
import { compress } from './compression.ts'
import type { Declaration, Request } from './declaration.ts'
import { type Answer, failureReply, successReply } from './envelope.ts'
import { createExpensiveCalls } from './expensive-calls.ts'
import { readParameters } from './parameters.ts'
import { RATE_LIMITS, type RateLimits } from './rate-limit.ts'
import { type Sent, withSent } from './raw-parameters.ts'
import { EXPIRY_HEADERS } from './session-cookie.ts'

export const BASE_PATH = '/api/v1'

const CLIENT_NAME_MAX = 30

/** Adapts requests and answers to an older level. Contract section 8. */
export interface LevelAdapter<S, Me> {
  readonly level: number
  has(declaration: Declaration<S, Me>): boolean
  /** Replaces names and values of the level by current ones. Throws if the level refuses them. */
  readRequest(asked: Asked<S, Me>): Asked<S, Me>
  /** Adapts a successful answer. `me` throws once the caller is no longer authorized. */
  writeReply(asked: Asked<S, Me>, reply: Reply | StreamedReply, me: () => Me | null): Reply | StreamedReply
  writeError(declaration: Declaration<S, Me>, error: unknown): unknown
}

interface Asked<S, Me> {
  readonly declaration: Declaration<S, Me>
  readonly path: Record<string, unknown>
  readonly values: Map<string, string>
  readonly unknown: readonly string[]
}

export interface ApiOptions<S, Me> extends CallerOptions<Me> {
  declarations: readonly Declaration<S, Me>[]
  /** Endpoints outside the base path, with full paths. */
  others?: readonly Declaration<S, Me>[]
  services: S
  isReady: () => boolean
  auditor: Auditor
  /** Throws `full` while there is no room for files, or for other content. */
  expectRoom?: (what: 'files' | 'messages') => void
  /** Returns null for the current level. Throws for an invalid one. */
  formOf?: (level: string | undefined) => LevelAdapter<S, Me> | null
  rateLimits?: Partial<RateLimits>
  /** Monotonic clock. */
  nowMs?: () => number
  timeS: () => number
  log: Log
  bodyLimits?: Partial<BodyLimits>
}

export type Api = Hono<{ Bindings: Connection }>

export function createApi<S extends object, Me>(options: ApiOptions<S, Me>): Api {
  const { log, auditor, nowMs = () => performance.now(), timeS } = options
  const reader = createBodyReader({ ...BODY_LIMITS, ...options.bodyLimits })
  const { authenticate } = createCallers(options, { ...RATE_LIMITS, ...options.rateLimits }, nowMs, timeS)
  const expensive = createExpensiveCalls()
  const table = createEndpointTable([BASE_PATH, options.declarations], ['', options.others ?? []])

  const api: Api = new Hono()
  api.all('*', async (context) => {
    const exchange = exchangeOf(context)
    const headers: Record<string, string> = {}
    const terms: Terms = { headers, isSession: false }
    const attempt: ChatAttempt = { address: exchange.address, isAuthorized: false }
    if (FORKING_CLIENTS.has(clientName(exchange.header('user-agent')))) headers.connection = 'close'
    const reply = await respond(exchange, attempt, terms).catch((error) => {
      if (!attempt.isAuthorized) recordRefusal(auditor, attempt, error)
      return failureReply(error, log, terms.errorFields)
    })
    Object.assign(reply.headers, { ...headers, ...reply.headers }) // headers of the answer win: a rate limit error has its own
    if (reply.status === 401) Object.assign(reply.headers, headersOfRefusal(exchange, terms))
    return toResponse(await compress(reply, exchange.header('accept-encoding')))
  })
  api.onError((error) => toResponse(failureReply(error, log)))
  return api

  /** The checks of contract section 1.10 in their order, named as there. */
  async function respond(exchange: Exchange, attempt: ChatAttempt, terms: Terms): Promise<Reply | StreamedReply> {
    const [pathText, query] = splitTarget(exchange.target)
    const matches = route(table, exchange.target, pathText)
    const found = method(matches, exchange)
    if ('status' in found) return found
    const { endpoint: declaration, params: raw } = found
    ready()
    const { errorFields } = declaration
    if (errorFields !== undefined) terms.errorFields = (message) => errorFields(raw, message)
    const form = level(exchange, declaration)
    origin(exchange)
    attempt.endpoint = declaration
    const caller = authenticate({ exchange, declaration, query }, attempt, terms)
    const check = () => authorize(declaration, caller)
    check()
    attempt.isAuthorized = true
    room(declaration)
    const path = segments(declaration, raw)
    const call: Call<S, Me> = { exchange, declaration, path, caller, form, check }
    return body(call, query, (sent) => {
      const given = params(call, sent)
      return envelope(call, given, act(call, attempt, sent, given))
    })
  }

  function ready(): void {
    if (!options.isReady()) throw new ChatError('SERVER_NOT_READY', 'The server is not ready, try again')
  }

  function level({ header }: Exchange, declaration: Declaration<S, Me>): LevelAdapter<S, Me> | null {
    const form = options.formOf?.(header('x-service-feature-level')) ?? null
    if (form?.has(declaration) === false) throw noSuchPath()
    return form
  }

  function authorize({ who }: Declaration<S, Me>, caller: AuthenticatedCaller<Me> | null): void {
    ready()
    options.authorize(who, caller?.current() ?? null)
  }

  function room(declaration: Declaration<S, Me>): void {
    if (addsContent(declaration)) options.expectRoom?.(declaration.fileBytesMax === undefined ? 'messages' : 'files')
  }

  function body<T>(
    { exchange, declaration, caller, check }: Call<S, Me>,
    query: string,
    use: (sent: Sent) => Promise<T>,
  ): Promise<T> {
    const withinMs = caller === null ? BODY_LIMITS.anonymousMs : Number.POSITIVE_INFINITY
    const terms = { check, withinMs, user: caller?.payer ?? '' }
    const form = { fileBytesMax: declaration.fileBytesMax ?? 0, isOpaque: declaration.takesBody === true }
    return withSent(reader, exchange, query, form, terms, (sent) => {
      check()
      return use(sent)
    })
  }

  function act(
    call: Call<S, Me>,
    attempt: ChatAttempt,
    sent: Sent,
    { asked, input }: Given<S, Me>,
  ): Promise<Answer | undefined> {
    const request = requestOf(call, asked, sent, input)
    const handle = () => asked.declaration.handle(request)
    return recordAct(auditor, attempt, asked, async () =>
      call.declaration.isExpensive ? request.inTurn(handle) : runAuthorized(call.check, handle),
    )
  }

  function requestOf(
    { exchange, caller, form, check }: Call<S, Me>,
    { path }: Asked<S, Me>,
    { values, file, body }: Sent,
    input: Readonly<Record<string, unknown>>,
  ): Request<S, Me> {
    return {
      ...options.services,
      get me() {
        return (caller?.current() ?? null) as Me
      },
      credential: caller?.credential ?? null,
      input,
      path,
      sent: new Set(values.keys()),
      file,
      body,
      client: clientOf(caller, exchange),
      level: form?.level ?? null,
      exchange,
      check,
      inTurn: (act) =>
        whileHeld(caller?.payer ?? '', values, () =>
          expensive.run(priorityOf(caller, exchange), exchange, () => runAuthorized(check, act)),
        ),
    } as Request<S, Me>
  }

  /** Reserves memory for the parameters of a queued call. Throws `busy`. */
  async function whileHeld<T>(user: string, values: ReadonlyMap<string, string>, wait: () => Promise<T>): Promise<T> {
    const held = reader.hold(user)
    try {
      for (const [name, value] of values) held.add(name.length + value.length)
      return await wait()
    } finally {
      held.release()
    }
  }
}

interface Given<S, Me> {
  readonly asked: Asked<S, Me>
  readonly input: Readonly<Record<string, unknown>>
  /** Names that no level knows. */
  readonly ignored: readonly string[]
}

interface Terms extends AnswerTerms {
  errorFields?: (message: string) => ErrorFields
}

interface Call<S, Me> {
  readonly exchange: Exchange
  readonly declaration: Declaration<S, Me>
  readonly path: Record<string, unknown>
  readonly caller: AuthenticatedCaller<Me> | null
  readonly form: LevelAdapter<S, Me> | null
  readonly check: () => void
}

export const addsContent = <S, Me>({ method, usesReserve = false }: Declaration<S, Me>): boolean =>
  method !== 'GET' && method !== 'DELETE' && !usesReserve

/**
 * Zulip's Python package and its IRC bridge. Their programs fork after a call and use one connection in two processes, which breaks its TLS
 * (python-zulip-api issue 777). For them the connection closes with each answer.
 */
const FORKING_CLIENTS: ReadonlySet<string> = new Set(['ZulipPython', 'irc_mirror'])

/** Name of Zulip's web client; messages sent by it count as read by their sender. */
const CLIENT_OF_SESSIONS = 'website'

const clientOf = (caller: AuthenticatedCaller<unknown> | null, { header }: Exchange): string =>
  caller?.credential.isSession ? CLIENT_OF_SESSIONS : clientName(header('user-agent'))

/** Contract section 1.2.1. */
const headersOfRefusal = ({ header }: Exchange, { isSession }: AnswerTerms): Readonly<Record<string, string>> => ({
  ...((header('sec-fetch-mode') ?? 'navigate') !== 'navigate' && { 'www-authenticate': 'Session realm="zulip"' }),
  ...(isSession && EXPIRY_HEADERS),
})

/** An account and its bots share one place in the queue, like their rate limit. */
const priorityOf = (session: AuthenticatedCaller<unknown> | null, { address }: Exchange): QueuePriority =>
  session === null ? { rank: 'unknown', prefix: prefixOf(address) } : { rank: 'known', prefix: session.name }

/** Contract section 1.1: the part before `/`, or before ` (`. */
function clientName(userAgent: string | undefined): string {
  const name = /^[^/(]*/.exec(userAgent ?? '')?.[0].trim() ?? ''
  return name === '' ? 'unspecified' : name.slice(0, CLIENT_NAME_MAX)
}

/** For older levels, converts names and values to current ones first. */
function params<S, Me>({ declaration, path, form }: Call<S, Me>, { values }: Sent): Given<S, Me> {
  const sent: Asked<S, Me> = { declaration, path, values, unknown: [] }
  const asked = form === null ? sent : form.readRequest(sent)
  return { asked, ...readParameters(asked.declaration.parameters ?? {}, values) }
}

async function envelope<S, Me>(
  { declaration, form, caller }: Call<S, Me>,
  { asked, ignored }: Given<S, Me>,
  acting: Promise<Answer | undefined>,
): Promise<Reply | StreamedReply> {
  if (form === null) return successReply((await acting) ?? {}, ignored)
  const answer = await acting.catch((error) => {
    throw form.writeError(declaration, error)
  })
  const reply = successReply(answer ?? {}, [...ignored, ...asked.unknown])
  return form.writeReply(asked, reply, () => caller?.current() ?? null)
}
