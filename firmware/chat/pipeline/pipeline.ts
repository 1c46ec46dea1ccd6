/**
 * The one path of every request: path, method, readiness, credentials, rate limit, who, parameters, handler, envelope,
 * driven by declarations. Contract sections 1.1 to 1.5, design 3. It knows no realm: what it asks of one comes in as options.
 */

import { Hono } from 'hono'
import type { QueuePriority } from '../../base/fair-queue.ts'
import type { Log } from '../../base/log.ts'
import { prefixOf } from '../../base/login-limiter.ts'
import { runAuthorized } from '../../base/request-authorization.ts'
import { bodyReply, type Reply, type StreamedReply, toResponse } from '../../http/reply.ts'
import { createBodyReader } from '../../http/request/body.ts'
import { BODY_LIMITS, type BodyLimits } from '../../http/request/body-rate.ts'
import { refuseForeignPage } from '../../http/request/origin.ts'
import { createRoutes, type Match } from '../../http/routes.ts'
import { type Connection, type Exchange, exchangeOf } from '../../http/server/exchange.ts'
import { ChatError, type ErrorFields } from '../base/error.ts'
import { type Attempt, type Auditor, createAttempt } from './auditor.ts'
import { compress } from './compression.ts'
import { type ChatCredentials, readBasic, readQueryKey } from './credentials.ts'
import type { Credential, Declaration, Request, Who } from './declaration.ts'
import { failureReply, successReply } from './envelope.ts'
import { createExpensiveCalls } from './expensive-calls.ts'
import { type Parameters, readParameters } from './parameters.ts'
import { createRateLimiter, type Rate, RateLimitHit } from './rate-limit.ts'
import { withSent } from './sent.ts'
import { EXPIRY_HEADERS, readSessionCookie } from './session-cookie.ts'

export const BASE_PATH = '/api/v1'

const TARGET_MAX = 64 * 1024 // some clients send all parameters in the query; Node's own limit on headers is 16 KiB
const CLIENT_NAME_MAX = 30

export interface RateLimits {
  account: Rate
  address: Rate
  media: Rate
  /** What an account changes that is told to the audit log of the appliance. */
  changes: Rate
}

export const RATE_LIMITS: RateLimits = {
  account: { calls: 200, withinMs: 60_000 },
  address: { calls: 100, withinMs: 60_000 },
  media: { calls: 2000, withinMs: 60_000 }, // a page of messages shows dozens of pictures, an office shares an address
  changes: { calls: 100, withinMs: 3_600_000 },
}

/** How clients of an older level ask and are answered. Contract section 8. */
export interface LevelAdapter<S, Me> {
  readonly level: number
  /** False for an endpoint that came later. */
  has(declaration: Declaration<S, Me>): boolean
  /** Makes names and values of then those of now. Throws what is refused. */
  readRequest(asked: Asked<S, Me>): Asked<S, Me>
  /** Of a success. `me` throws once the caller is admitted no longer. */
  writeReply(asked: Asked<S, Me>, reply: Reply | StreamedReply, me: () => Me | null): Reply | StreamedReply
  writeError(declaration: Declaration<S, Me>, error: unknown): unknown
}

/** What a request is for. */
interface Asked<S, Me> {
  readonly declaration: Declaration<S, Me>
  readonly path: Record<string, unknown>
  readonly values: Map<string, string>
  /** Names that were sent and mean nothing. */
  readonly unknown: readonly string[]
}

export interface ApiOptions<S, Me> {
  declarations: readonly Declaration<S, Me>[]
  /** With full paths: what stands outside the base path. */
  others?: readonly Declaration<S, Me>[]
  services: S
  /** False while nothing can be answered. */
  isReady: () => boolean
  /** Throws `INVALID_API_KEY`, `USER_DEACTIVATED` and the like. */
  authenticate: (credentials: ChatCredentials, client: string, host: string | undefined) => AuthenticatedCaller<Me>
  /** By the secret in the cookie. `cookie` is to be set with the answer. Throws as `authenticate`. */
  authenticateSession: (
    secret: string,
    host: string | undefined,
  ) => { session: AuthenticatedCaller<Me>; cookie: string | null }
  /** Authenticates a bot by its key alone. Throws as `authenticate`. */
  authenticateWebhook: (key: string, host: string | undefined) => AuthenticatedCaller<Me>
  /** Throws what a caller of this kind is refused with. `me` is null without credentials. */
  authorize: (who: Who, me: Me | null) => void
  auditor: Auditor
  /** Throws `full` while there is no room for what users add: files, or everything else. */
  expectRoom?: (what: 'files' | 'messages') => void
  /** Of the level in the header; null for the one of now. Throws for what is no level. */
  formOf?: (level: string | undefined) => LevelAdapter<S, Me> | null
  rateLimits?: Partial<RateLimits>
  /** Must never jump. */
  nowMs?: () => number
  timeS: () => number
  log: Log
  bodyLimits?: Partial<BodyLimits>
}

/** Whoever showed a key. */
export interface AuthenticatedCaller<Me> {
  readonly credential: Credential
  /** As long as the key is the same account's. */
  readonly name: string
  readonly account: number
  /** The caller as he is now; throws once the key is revoked, or the account deactivated. */
  current(): Me
}

export type Api = Hono<{ Bindings: Connection }>

export function createApi<S extends object, Me>(options: ApiOptions<S, Me>): Api {
  const { services, log, auditor, nowMs = () => performance.now(), timeS } = options
  const rateLimits = { ...RATE_LIMITS, ...options.rateLimits }
  const reader = createBodyReader({ ...BODY_LIMITS, ...options.bodyLimits })
  const ofAccounts = createRateLimiter(rateLimits.account, nowMs, timeS)
  const ofAddresses = createRateLimiter(rateLimits.address, nowMs, timeS)
  const ofMedia = createRateLimiter(rateLimits.media, nowMs, timeS)
  const expensive = createExpensiveCalls()
  const routes = createRoutes<Resource<S, Me>>()
  for (const declaration of options.declarations) add(BASE_PATH + declaration.path, declaration)
  for (const declaration of options.others ?? []) add(declaration.path, declaration)

  const api: Api = new Hono()
  api.all('*', async (context) => {
    const exchange = exchangeOf(context)
    const headers: Record<string, string> = {}
    const caller: Caller = { headers, isSession: false }
    if (FORKING_CLIENTS.has(clientName(exchange.header('user-agent')))) headers.connection = 'close'
    const reply = await respond(exchange, caller).catch((error) => failureReply(error, log, caller.errorFields))
    Object.assign(reply.headers, { ...headers, ...reply.headers }) // a limit that was hit tells of itself
    if (reply.status === 401) Object.assign(reply.headers, headersOfRefusal(exchange, caller))
    return toResponse(await compress(reply, exchange.header('accept-encoding')))
  })
  api.onError((error) => toResponse(failureReply(error, log)))
  return api

  function add(path: string, declaration: Declaration<S, Me>): void {
    const resource = routes.at(path, () => new Map())
    if (resource.has(declaration.method)) throw new Error(`Declared twice: ${declaration.method} ${path}`)
    resource.set(declaration.method, declaration)
  }

  async function respond(exchange: Exchange, caller: Caller): Promise<Reply | StreamedReply> {
    const { target } = exchange
    if (target.length > TARGET_MAX) throw new ChatError('BAD_REQUEST', 'The request target is too long', {}, 414)
    const at = target.indexOf('?')
    const matches = routes.match(at === -1 ? target : target.slice(0, at)).filter(({ malformed }) => !malformed)
    if (matches.length === 0) throw noSuchPath()
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method
    const match = matches.find(({ value }) => value.has(method))
    if (match === undefined) return wrongMethod(matches)
    if (!options.isReady()) throw new ChatError('SERVER_NOT_READY', 'The server is not ready, try again')
    const declaration = match.value.get(method)!
    const { errorFields } = declaration
    if (errorFields !== undefined) caller.errorFields = (message) => errorFields(match.params, message)
    const form = options.formOf?.(exchange.header('x-service-feature-level')) ?? null
    if (form?.has(declaration) === false) throw noSuchPath()
    refuseForeignPage(exchange.method, exchange.header)

    const userAgent = clientName(exchange.header('user-agent'))
    const attempt = createAttempt(auditor, declaration, exchange)
    const query = at === -1 ? '' : target.slice(at + 1)
    const session = admit(declaration, attempt, exchange, query, userAgent, caller)
    const client = caller.isSession ? CLIENT_OF_SESSIONS : userAgent
    const check = () => {
      if (!options.isReady()) throw new ChatError('SERVER_NOT_READY', 'The server is not ready, try again')
      options.authorize(declaration.who, session?.current() ?? null)
    }
    try {
      check()
    } catch (error) {
      attempt.refused(error, session)
      throw error
    }
    if (addsContent(declaration)) options.expectRoom?.(declaration.fileBytesMax === undefined ? 'messages' : 'files')
    const path = readSegments(declaration.segments ?? {}, match.params)
    const terms = { check, withinMs: session === null ? BODY_LIMITS.anonymousMs : Number.POSITIVE_INFINITY }
    const bodyForm = { fileBytesMax: declaration.fileBytesMax ?? 0, isOpaque: declaration.takesBody === true }
    return withSent(reader, exchange, query, bodyForm, terms, async ({ values, file, body }) => {
      check()
      const sent: Asked<S, Me> = { declaration, path, values, unknown: [] }
      const asked = form === null ? sent : form.readRequest(sent)
      const { input, ignored } = readParameters(asked.declaration.parameters ?? {}, values)
      const inTurn = <T>(act: () => T) =>
        whileHeld(values, () => expensive.run(priorityOf(session, exchange), exchange, () => runAuthorized(check, act)))
      const request = {
        ...services,
        get me() {
          return (session?.current() ?? null) as Me
        },
        credential: session?.credential ?? null,
        input,
        path: asked.path,
        sent: new Set(values.keys()),
        file,
        body,
        client,
        level: form?.level ?? null,
        exchange,
        check,
        inTurn,
      } as Request<S, Me>
      const admitted = { account: session?.account ?? null, path: asked.path, values }
      const handle = () => asked.declaration.handle(request)
      const act = attempt.act(admitted, async () =>
        declaration.isExpensive ? inTurn(handle) : runAuthorized(check, handle),
      )
      if (form === null) return successReply((await act) ?? {}, ignored)
      const answer = await act.catch((error) => {
        throw form.writeError(declaration, error)
      })
      const reply = successReply(answer ?? {}, [...ignored, ...asked.unknown])
      return form.writeReply(asked, reply, () => request.me)
    })
  }

  /** Counts the parameters of a call that waits as memory of bodies. Throws `busy`. */
  async function whileHeld<T>(values: ReadonlyMap<string, string>, wait: () => Promise<T>): Promise<T> {
    const held = reader.hold()
    try {
      for (const [name, value] of values) held.add(name.length + value.length)
      return await wait()
    } finally {
      held.release()
    }
  }

  /** Throws what the credentials are refused with. Null: without any. */
  function admit(
    { who, isMedia }: Declaration<S, Me>,
    attempt: Attempt,
    exchange: Exchange,
    query: string,
    client: string,
    caller: Caller,
  ): AuthenticatedCaller<Me> | null {
    const header = exchange.header('authorization')
    const isWebhook = who === 'webhook'
    const secret = header === undefined && !isWebhook ? readSessionCookie(exchange.header, isMedia === true) : null
    let credentials: ChatCredentials | null = null
    const isAsked = who !== 'nobody' && (who !== 'anyone' || header !== undefined || secret !== null)
    try {
      if (!isAsked) throw new NoCredentials()
      if (secret !== null) {
        caller.isSession = true
        credentials = { email: '', key: secret }
        const { session, cookie } = options.authenticateSession(secret, exchange.header('host'))
        Object.assign(caller.headers, (isMedia ? ofMedia : ofAccounts).take(session.name))
        if (cookie !== null) caller.headers['set-cookie'] = cookie
        exchange.markAuthenticated()
        return session
      }
      credentials = isWebhook ? readQueryKey(query) : readBasic(header)
      if (credentials === null)
        throw new ChatError('UNAUTHORIZED', 'Not logged in: API authentication or user session required')
      const host = exchange.header('host')
      const session = isWebhook
        ? options.authenticateWebhook(credentials.key, host)
        : options.authenticate(credentials, client, host)
      Object.assign(caller.headers, ofAccounts.take(session.name))
      exchange.markAuthenticated()
      return session
    } catch (error) {
      // Whoever has no account's share has one with all others of his address, wrong guesses included.
      const ofCaller = isMedia && error instanceof NoCredentials ? ofMedia : ofAddresses
      if (!(error instanceof RateLimitHit)) ofCaller.take(prefixOf(exchange.address))
      if (error instanceof NoCredentials) return null
      attempt.refused(error, credentials)
      throw error
    }
  }
}

/**
 * Zulip's Python package and its bridge to IRC: programs of theirs call, fork, and go on with one connection in two processes, which
 * breaks its TLS (python-zulip-api issue 777). A connection that ends with its answer is in one of them alone.
 */
const FORKING_CLIENTS: ReadonlySet<string> = new Set(['ZulipPython', 'irc_mirror'])

/** The name of upstream's page, whose messages their sender has read. */
const CLIENT_OF_SESSIONS = 'website'

/** The caller as known when the answer is made. */
interface Caller {
  readonly headers: Record<string, string>
  /** By the cookie of the page. */
  isSession: boolean
  /** Members of error answers, besides. */
  errorFields?: (message: string) => ErrorFields
}

/** Contract section 1.2.1. */
const headersOfRefusal = ({ header }: Exchange, { isSession }: Caller): Readonly<Record<string, string>> => ({
  ...((header('sec-fetch-mode') ?? 'navigate') !== 'navigate' && { 'www-authenticate': 'Session realm="zulip"' }),
  ...(isSession && EXPIRY_HEADERS),
})

class NoCredentials extends Error {}

/** An account has its turns together with its bots, as its calls. */
const priorityOf = (session: AuthenticatedCaller<unknown> | null, { address }: Exchange): QueuePriority =>
  session === null ? { rank: 'unknown', prefix: prefixOf(address) } : { rank: 'known', prefix: session.name }

type Resource<S, Me> = Map<string, Declaration<S, Me>>

export const addsContent = <S, Me>({ method, usesReserve = false }: Declaration<S, Me>): boolean =>
  method !== 'GET' && method !== 'DELETE' && !usesReserve

function readSegments(segments: Parameters, params: Readonly<Record<string, string>>): Record<string, unknown> {
  try {
    return Object.fromEntries(
      Object.entries(params).map(([name, raw]) => [
        name,
        segments[name] === undefined ? raw : segments[name].read(raw, name),
      ]),
    )
  } catch {
    throw noSuchPath()
  }
}

function wrongMethod<S, Me>(matches: readonly Match<Resource<S, Me>>[]): Reply {
  const methods = new Set(matches.flatMap(({ value }) => [...value.keys()]))
  if (methods.has('GET')) methods.add('HEAD')
  const allowed = [...methods].sort()
  const body = { result: 'error', msg: 'Method Not Allowed', code: 'BAD_REQUEST', allowed_methods: allowed }
  return bodyReply(405, JSON.stringify(body), 'application/json; charset=utf-8', { allow: allowed.join(', ') })
}

/** Contract section 1.1: the part before `/`, or before ` (`. */
function clientName(userAgent: string | undefined): string {
  const name = /^[^/(]*/.exec(userAgent ?? '')?.[0].trim() ?? ''
  return name === '' ? 'unspecified' : name.slice(0, CLIENT_NAME_MAX)
}

const noSuchPath = () => new ChatError('NOT_FOUND', 'No such path')
