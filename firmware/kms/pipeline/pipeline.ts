/**
 * Handles every API request by its declaration: the checks of contract section 1.7 in their order. State, caller, rights, resource and
 * conditions are those of the turn in which the request acts: the checks run again after the body has arrived, and before each later change
 * (request-authorization.ts).
 */

import { Hono } from 'hono'
import { CofferError } from '../../base/error.ts'
import { passOn } from '../../base/iteration.ts'
import { type AuthorizationCheck, runAuthorized } from '../../base/request-authorization.ts'
import { wipeIn } from '../../base/secret.ts'
import type { ApplianceState } from '../../base/states.ts'
import type { BasicCredentials } from '../../http/endpoint/basic.ts'
import { createEndpointTable, type EndpointTable, endpointOf, splitTarget } from '../../http/endpoint/table.ts'
import { errorReply } from '../../http/errors.ts'
import { type Reply, type StreamedReply, toResponse } from '../../http/reply.ts'
import { createBodyReader } from '../../http/request/body.ts'
import { BODY_LIMITS, type BodyLimits } from '../../http/request/body-rate.ts'
import type { Held } from '../../http/request/reservations.ts'
import { type Connection, type Exchange, exchangeOf } from '../../http/server/exchange.ts'
import type { Namespace } from '../domain/identifiers.ts'
import type { Caller } from '../domain/roles.ts'
import { type AccessOptions, createAccess } from './access.ts'
import { type Auditor, auditKind, type KmsAttempt, recordAttempt } from './auditor.ts'
import { type BodyTerms, createBodies } from './bodies.ts'
import { type Asked, available, method, negotiate, origin, route, validate } from './checks.ts'
import { readCredentials } from './credentials.ts'
import type { Dialect, DialectRequest, WireName } from './dialect.ts'
import {
  BASE_PATH,
  bodyBytesMax,
  type Declaration,
  type EndpointAccess,
  type Request,
  type Result,
} from './endpoint.ts'
import { conditionsOf, precondition } from './preconditions.ts'
import { createReadBarrier } from './read-barrier.ts'
import { replyOf, responseHeaders, textType } from './replies.ts'

export interface ApiOptions<S> extends AccessOptions {
  declarations: readonly Declaration<S>[]
  /** Endpoints with full paths, outside the base path, or for the API documents. */
  others?: readonly Declaration<S>[]
  dialects?: readonly Dialect<S>[]
  services: S
  state: () => ApplianceState
  /** Calls `listener` when an epoch ends: bodies of earlier requests need not be read further. */
  onEpochEnd?: (listener: () => void) => void
  /** Called for each request whose path is one of an API. */
  onRequest?: (wire: WireName) => void
  audit?: Auditor<S>
  /** Throws `full` while this caller cannot add records. */
  expectRoom?: (caller: Caller | undefined) => void
  bodyLimits?: Partial<BodyLimits>
}

export type Api = Hono<{ Bindings: Connection }>

/** Serves all paths of the TLS port: declarations below `/api/v1`, others by their full path, 404 for the rest. */
export function createApi<S>(options: ApiOptions<S>): Api {
  const bodyLimits = { ...BODY_LIMITS, ...options.bodyLimits }
  const bodyReader = createBodyReader(bodyLimits)
  const bodies = createBodies(bodyReader)
  options.onEpochEnd?.(bodyReader.recheck)
  const confirm = createReadBarrier(options.nodes ?? (() => null))
  const { logIn, authenticate, authorize } = createAccess<S>(options, confirm)
  const table = createEndpointTable([BASE_PATH, options.declarations], ['', options.others ?? []])
  const dialects = (options.dialects ?? []).map((dialect) => ({
    dialect,
    table: createEndpointTable(['', dialect.declarations]),
  }))
  const dialectOf = (path: string): Dialected<S> | null =>
    dialects.find(({ dialect }) => path.startsWith(dialect.base) && dialect.isOffered(options.services)) ?? null

  const app: Api = new Hono()
  app.all('*', async (context) => {
    const exchange = exchangeOf(context)
    const attempt: KmsAttempt<S> = { address: exchange.address, isAuthorized: false }
    const dialected = dialectOf(exchange.target)
    const wireName = wireNameOf(exchange.target, dialected)
    if (wireName !== null) options.onRequest?.(wireName)
    let answer: Reply | StreamedReply
    try {
      answer = await respond(exchange, attempt, dialected)
    } catch (error) {
      if (dialected !== null) attempt.isRefusal = dialected.dialect.isRefusal(error)
      answer = dialected === null ? errorReply(error, options.log) : dialected.dialect.errorReply(error)
    }
    const recorded = await record(attempt, answer)
    // The check of a request is bound to all that began in it, such as timers and threads, and refers to the request.
    if (attempt.request !== undefined) attempt.request.body = undefined
    return toResponse(recorded)
  })
  app.onError((error) => toResponse(errorReply(error, options.log)))
  return app

  /** The checks of contract section 1.7 in their order, named as there. */
  async function respond(
    exchange: Exchange,
    attempt: KmsAttempt<S>,
    dialected: Dialected<S> | null,
  ): Promise<Reply | StreamedReply> {
    const [path, query] = splitTarget(exchange.target)
    const [state, epoch] = [options.state(), options.epoch()]
    const matches = dialected === null ? route(table, path, options.services) : routeIn(dialected, path, exchange)
    const found = endpointOf(matches, dialected?.dialect.methodOf(exchange, query) ?? exchange.method)
    if (found?.endpoint.body?.kind === 'stream') exchange.expectBody(found.endpoint.body.bytesExpectedMax)
    available(matches, found?.endpoint, state)
    const { endpoint: declaration, params, malformed } = method(exchange, matches, found)
    attempt.endpoint = declaration
    attempt.params = params
    origin(exchange)
    const wire = dialected === null ? null : wireOf(dialected.dialect, exchange)
    const known = { exchange, declaration, access: accessIn(declaration, state), params, query, malformed, wire }
    const asked = askedOf(known, await identify(known, attempt), epoch, attempt)
    const met = await (declaration.prepare === undefined ? meet(asked, attempt) : prepare(asked, attempt))
    if ('status' in met.early) return met.early
    auditRoom(asked)
    return readAndAct(asked, met, attempt)
  }

  function routeIn({ dialect, table }: Dialected<S>, path: string, exchange: Exchange) {
    const matches = table(dialect.pathOf(path))
    return matches.length > 0 ? matches : dialect.refusePath(exchange, options.services)
  }

  /** Not async, as each level of promises costs every signature something. */
  function identify(known: Known<S>, attempt: KmsAttempt<S>): Caller | Promise<Caller> {
    const { exchange, declaration, access, wire } = known
    if (access === 'public') return expectNoFailures(exchange, declaration)
    return wire === null ? authenticate(exchange, attempt) : authenticateOn(wire, exchange, attempt)
  }

  async function authenticateOn(
    { dialect, namespace }: Wire<S>,
    exchange: Exchange,
    attempt: KmsAttempt<S>,
  ): Promise<Caller> {
    const { caller, token } = await confirm.refusal(() => dialect.authenticate(exchange, namespace, options.services))
    attempt.caller = caller
    attempt.token = token
    exchange.markAuthenticated()
    return caller
  }

  /** Public endpoints: throws if the address has failed too often at the handler's checks. */
  function expectNoFailures({ address }: Exchange, { attemptsAs }: Declaration<S>): Caller {
    if (attemptsAs !== undefined) options.limiter.check(address, attemptsAs)
    return NO_CALLER
  }

  function askedOf(known: Known<S>, caller: Caller, epoch: unknown, attempt: KmsAttempt<S>): Asked<S> {
    const { declaration, access, wire } = known
    const { token } = attempt
    const request = requestOf(known, caller, attempt)
    const check = (): void => {
      authorize(declaration, access, request, epoch)
      if (token !== undefined && wire?.dialect.isCurrent(token, options.services) === false)
        throw new CofferError('unauthenticated', 'The token has expired or was revoked')
    }
    return { ...known, request, check }
  }

  function requestOf(
    { exchange, declaration: { account }, params, wire }: Known<S>,
    caller: Caller,
    attempt: KmsAttempt<S>,
  ): AnyRequest<S> {
    const { token = null } = attempt
    return {
      services: options.services,
      caller,
      address: exchange.address,
      credentials: account === undefined ? null : expectAccount(exchange, account, attempt),
      dialect: wire === null ? null : { namespace: wire.namespace, token, logIn: logInTo(exchange, attempt) },
      signal: exchange.signal,
      params,
      query: {},
      body: undefined,
      isRecorded: () => {
        attempt.isRecorded = true
      },
    }
  }

  function logInTo(exchange: Exchange, attempt: KmsAttempt<S>): DialectRequest['logIn'] {
    return async (userId, passphrase) => {
      attempt.claimed = userId
      const caller = await logIn(exchange.address, userId, (use) => use(passphrase))
      if (caller === null) return null
      attempt.caller = caller
      exchange.markAuthenticated()
      return caller
    }
  }

  async function prepare(asked: Asked<S>, attempt: KmsAttempt<S>): Promise<Met> {
    await confirm.refusal(asked.check)
    await asked.declaration.prepare?.(asked.request)
    return meet(asked, attempt)
  }

  function meet(asked: Asked<S>, attempt: KmsAttempt<S>): Met | Promise<Met> {
    return confirm.refusal(() => {
      asked.check()
      attempt.isAuthorized = true
      const types = negotiate(asked)
      validate(asked)
      return { types, early: precondition(asked.exchange, asked.declaration, asked.request) }
    })
  }

  /** The audit log must have room for the request, and the disk for the records that it adds. */
  function auditRoom({ declaration, request: { caller } }: Asked<S>): void {
    options.audit?.expectRoom(auditKind(declaration), caller)
    if (declaration.addsRecords) options.expectRoom?.(caller)
  }

  /** Does not act if the conditions no longer hold once the body is complete. */
  async function readAndAct(asked: Asked<S>, met: Met, attempt: KmsAttempt<S>): Promise<Reply | StreamedReply> {
    const { exchange, declaration, access, request, check } = asked
    if (declaration.body === undefined) return reply(asked, met, await act(asked, attempt))
    const held = bodyReader.hold(userOf(asked))
    try {
      const bytesMax = bodyBytesMax(declaration.body, access)
      request.body = await bodies.read(declaration.body, bytesMax, exchange, termsOf(asked, held))
      check()
      const late = precondition(exchange, declaration, request)
      return 'status' in late ? late : reply(asked, met, await act(asked, attempt))
    } finally {
      wipeIn(request.body) // handlers may have wiped their part already
      held.release()
    }
  }

  function termsOf(asked: Asked<S>, held: Held): BodyTerms {
    const { exchange, declaration, access, check } = asked
    const { anonymousMs, anonymousStreamMs } = bodyLimits
    const ofAnonymous = declaration.body?.kind === 'stream' ? anonymousStreamMs : anonymousMs
    const withinMs = access === 'public' ? ofAnonymous : Number.POSITIVE_INFINITY
    const onMismatch = () => {
      if (declaration.attemptsAs !== undefined) options.limiter.fail(exchange.address, declaration.attemptsAs)
    }
    return { check, withinMs, user: userOf(asked), held, onMismatch }
  }

  async function act({ exchange, declaration, request, check }: Asked<S>, attempt: KmsAttempt<S>): Promise<Result> {
    attempt.request = request
    const conditions = conditionsOf(exchange, declaration, request)
    const result = await runAuthorized(check, () => declaration.handle(request), attempt.caller?.userId, conditions)
    attempt.result = result
    if (givesOut(declaration, result)) check() // a result is not given to a caller whose rights have ended meanwhile
    return result
  }

  function reply({ exchange, declaration, check }: Asked<S>, { types, early }: Met, result: Result) {
    const headers = responseHeaders(declaration, 'etag' in early ? early.etag : undefined)
    return replyOf(whileAdmitted(result, check), types, textType(declaration, types), headers, (error) => {
      errorReply(error, options.log) // too late for an answer; logs the error
      exchange.cut()
    })
  }

  /** An answer that cannot be recorded is withheld. */
  async function record(attempt: KmsAttempt<S>, answer: Reply | StreamedReply): Promise<Reply | StreamedReply> {
    if (options.audit === undefined) return answer
    try {
      const recorded = recordAttempt(options.audit, attempt, answer.status)
      if (recorded !== undefined) await recorded
      return answer
    } catch (error) {
      if (attempt.endpoint?.isDoneUnrecorded) return answer // the audit log has reported the reason
      if (answer.body instanceof ReadableStream) await answer.body.cancel()
      return errorReply(error, options.log)
    }
  }
}

function wireNameOf<S>(target: string, dialected: Dialected<S> | null): WireName | null {
  if (dialected !== null) return dialected.dialect.name
  return target.startsWith(`${BASE_PATH}/`) ? 'nethsm' : null
}

interface Dialected<S> {
  dialect: Dialect<S>
  table: EndpointTable<Declaration<S>>
}

/** The API of a request that is not NetHSM's. */
interface Wire<S> {
  readonly dialect: Dialect<S>
  /** Empty for none. */
  readonly namespace: Namespace
}

type Known<S> = Omit<Asked<S>, 'request' | 'check'> & { readonly wire: Wire<S> | null }

type AnyRequest<S> = Request<S, unknown, unknown, unknown>

/** `early`: the answer if the conditions of the request do not hold, else the etag. */
interface Met {
  readonly types: readonly string[]
  readonly early: Reply | { etag?: string | undefined }
}

/** Throws `unauthenticated` unless the request names this account. */
function expectAccount<S>(exchange: Exchange, account: string, attempt: KmsAttempt<S>): BasicCredentials {
  const credentials = readCredentials(exchange.header('authorization'))
  if (credentials !== null) attempt.claimed = credentials.user
  if (credentials?.user !== account) throw new CofferError('unauthenticated', `Only user ${account} may do this`)
  return credentials
}

/** Handlers of public endpoints must not read the caller. */
const NO_CALLER = undefined as unknown as Caller

const wireOf = <S>(dialect: Dialect<S>, exchange: Exchange): Wire<S> => ({
  dialect,
  namespace: dialect.namespaceOf(exchange),
})

/** Empty for callers of public endpoints. */
const userOf = <S>({ request }: Asked<S>): string => (request.caller as Caller | undefined)?.userId ?? ''

const accessIn = <S>({ access }: Declaration<S>, state: ApplianceState): EndpointAccess | 'public' =>
  access === 'public' || access.publicIn?.includes(state) ? 'public' : access

/**
 * True if the result holds data. The answer to a change only confirms it: the change is committed, and a refusal now would make the client
 * believe it failed.
 */
function givesOut<S>(declaration: Declaration<S>, result: Result): boolean {
  const isChange = auditKind(declaration) === 'change'
  if ('reply' in result) return !isChange // its status may tell of one item among many
  return result.status === 200 && ('bytes' in result || ('json' in result && !isChange))
}

/** Ends a streamed answer once the request is no longer authorized. */
function whileAdmitted(result: Result, check: AuthorizationCheck): Result {
  if (!('stream' in result)) return result
  const stream = passOn(result.stream, ({ done }) => {
    if (!done) check()
  })
  return { ...result, stream }
}
