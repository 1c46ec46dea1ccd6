/**
 * The one path of every API request: the checks of contract section 1.7 in their order, driven by declarations. The state,
 * the caller and his rights, the resource and the conditions are those of the turn in which the request acts: whoever sends
 * a body is asked again when all of it is there, and every change that follows later asks once more (see request-authorization.ts).
 */

import { Hono } from 'hono'
import { CofferError, wrongState } from '../../base/error.ts'
import { passOn } from '../../base/iteration.ts'
import { matchSchema } from '../../base/json.ts'
import { type AuthorizationCheck, runAuthorized } from '../../base/request-authorization.ts'
import { wipeIn } from '../../base/secret.ts'
import type { ApplianceState } from '../../base/states.ts'
import { errorReply, RequestError, refusal } from '../../http/errors.ts'
import { type Reply, type StreamedReply, toResponse } from '../../http/reply.ts'
import { createBodyReader, tooLarge } from '../../http/request/body.ts'
import { BODY_LIMITS, type BodyLimits } from '../../http/request/body-rate.ts'
import { mediaType } from '../../http/request/media.ts'
import { refuseForeignPage } from '../../http/request/origin.ts'
import { type Connection, type Exchange, exchangeOf } from '../../http/server/exchange.ts'
import type { Caller } from '../domain/roles.ts'
import { type AccessOptions, createAccess } from './access.ts'
import { type Attempt as Audited, type Auditor, auditKind, recordAttempt } from './auditor.ts'
import { type BasicCredentials, readBasic } from './basic-credentials.ts'
import { checkType, createBodies } from './bodies.ts'
import { bodyBytesMax, type Declaration, type EndpointAccess, type Request, type Result } from './endpoint.ts'
import { allowed, createEndpointTable, isAvailable } from './endpoint-table.ts'
import { meetResource } from './preconditions.ts'
import { createReadBarrier } from './read-barrier.ts'
import { answerTypes, replyOf, responseHeaders, textType } from './replies.ts'
import { readQuery, splitTarget } from './target.ts'

/** A longer request target is answered with 414; contract section 1.5. */
const TARGET_MAX = 2000

export interface ApiOptions<S> extends AccessOptions {
  declarations: readonly Declaration<S>[]
  /** With full paths: what stands outside the base path, or describes the API. */
  others?: readonly Declaration<S>[]
  services: S
  state: () => ApplianceState
  /** Calls `listener` when an era ends, so that no body has to be waited for that came in it. */
  onEpochEnd?: (listener: () => void) => void
  /** Records every administrative change, use of a key, and refused caller. */
  audit?: Auditor<S>
  /** Throws `full` while this caller may add nothing to the records. */
  expectRoom?: (caller: Caller | undefined) => void
  bodyLimits?: Partial<BodyLimits>
}

export type Api = Hono<{ Bindings: Connection }>

/** Every path of the TLS port: `/api/v1/...` of the declarations, the others, and 404 for the rest. */
export function createApi<S>(options: ApiOptions<S>): Api {
  const bodyLimits = { ...BODY_LIMITS, ...options.bodyLimits }
  const bodyReader = createBodyReader(bodyLimits)
  const bodies = createBodies(bodyReader)
  options.onEpochEnd?.(bodyReader.recheck)
  const confirm = createReadBarrier(options.nodes ?? (() => null))
  const { authenticate, assertAdmitted } = createAccess<S>(options, confirm)
  const match = createEndpointTable(options)

  const app: Api = new Hono()
  app.all('*', async (context) => {
    const exchange = exchangeOf(context)
    const attempt: Audited<S> = { address: exchange.address, isAuthorized: false }
    const reply = await respond(exchange, attempt).catch((error) => errorReply(error, options.log))
    if (options.audit === undefined) return toResponse(reply)
    try {
      const recorded = recordAttempt(options.audit, attempt, reply.status)
      if (recorded !== undefined) await recorded
      return toResponse(reply)
    } catch (error) {
      if (attempt.declaration?.isDoneUnrecorded) return toResponse(reply) // the audit log has told the log why
      if (reply.body instanceof ReadableStream) await reply.body.cancel()
      return toResponse(errorReply(error, options.log))
    }
  })
  app.onError((error) => toResponse(errorReply(error, options.log)))
  return app

  async function respond(exchange: Exchange, attempt: Audited<S>): Promise<Reply | StreamedReply> {
    const expectAccount = (account: string): BasicCredentials => {
      const input = readBasic(exchange.header('authorization'))
      if (input !== null) attempt.claimedUserId = input.userId
      if (input?.userId !== account) throw new CofferError('unauthenticated', `Only user ${account} may do this`)
      return input
    }

    // 1 to 5
    const [path, queryText] = splitTarget(exchange.target)
    const matches = match(path)
    if (matches.length === 0) throw new CofferError('notFound', 'No such path')
    const state = options.state()
    const epoch = options.epoch()
    const method = exchange.method === 'HEAD' ? 'GET' : exchange.method
    const {
      malformed,
      params: pathParams,
      value: endpoints,
    } = matches.find(({ value }) => value.has(method)) ?? matches[0]!
    const declaration = endpoints.get(method)
    if (declaration?.body?.kind === 'stream') exchange.expectBody(declaration.body.bytesExpectedMax)
    if (!isAvailable(matches, declaration, state)) throw wrongState()
    if (!KNOWN_METHODS.has(exchange.method)) throw new RequestError(501, 'Unknown method')
    if (exchange.target.length > TARGET_MAX)
      throw new RequestError(414, `The request target is longer than ${TARGET_MAX} characters`)
    if (declaration === undefined) return refusal(405, 'Method not allowed', { allow: allowed(matches).join(', ') })

    // Pages of others do not even get to try credentials, their own or those a browser remembers
    attempt.declaration = declaration
    attempt.params = pathParams
    refuseForeignPage(exchange.method, exchange.header)

    // 6 and 7
    const { services, limiter } = options
    const { address } = exchange
    const access = accessIn(declaration, state)
    if (access === 'public' && declaration.attemptsAs !== undefined) limiter.check(address, declaration.attemptsAs)
    const caller = access === 'public' ? NO_CALLER : await authenticate(exchange, attempt)
    const credentials = declaration.account === undefined ? null : expectAccount(declaration.account)
    const request: Request<S, unknown, unknown, unknown> = {
      services,
      caller,
      address,
      credentials,
      signal: exchange.signal,
      params: pathParams,
      query: {},
      body: undefined,
      isRecorded: () => {
        attempt.isRecorded = true
      },
    }
    const check = () => assertAdmitted(declaration, access, request, epoch)
    const bytesMax = bodyBytesMax(declaration.body, access)
    const meet = () => {
      check()
      attempt.isAuthorized = true

      // 8 to 10
      const type = mediaType(exchange.header('content-type'))
      if (declaration.creates && declaration.body !== undefined) checkType(declaration.body, type)
      if (Number(exchange.header('content-length') ?? 0) > bytesMax) throw tooLarge(bytesMax)
      const types = answerTypes(declaration, exchange.header('accept'))

      // 11 to 13
      if (malformed) throw new CofferError('invalid', 'The path contains an invalid ID')
      const { params, query } = declaration
      if (params !== undefined) request.params = matchSchema(params, pathParams, 'path')
      if (query !== undefined) request.query = matchSchema(query, readQuery(queryText), 'query')
      return { types, early: meetResource(exchange, declaration, request) }
    }
    if (declaration.prepare !== undefined) {
      check()
      await declaration.prepare(request)
    }
    const met = confirm.refusal(meet)
    const { types, early } = met instanceof Promise ? await met : met
    if ('status' in early) return early

    // 14 and 15
    options.audit?.expectRoom(auditKind(declaration), caller)
    if (declaration.addsRecords) options.expectRoom?.(caller)
    const { body } = declaration
    try {
      if (body !== undefined) {
        const { anonymousMs, anonymousStreamMs } = bodyLimits
        const ofAnonymous = body.kind === 'stream' ? anonymousStreamMs : anonymousMs
        const terms = { check, withinMs: access === 'public' ? ofAnonymous : Number.POSITIVE_INFINITY }
        request.body = await bodies.read(body, bytesMax, exchange, terms, () => {
          if (declaration.attemptsAs !== undefined) limiter.fail(address, declaration.attemptsAs)
        })
        check()
        const late = meetResource(exchange, declaration, request)
        if ('status' in late) return late
      }
      attempt.request = request
      const result = await runAuthorized(check, () => declaration.handle(request))
      attempt.result = result
      if (givesOut(declaration, result)) check() // nothing is told or signed for whoever may not ask for it any more
      const headers = responseHeaders(declaration, early.etag)
      return replyOf(whileAdmitted(result, check), types, textType(declaration, types), headers, (error) => {
        errorReply(error, options.log) // nobody can be sent it any more; it is logged
        exchange.cut()
      })
    } finally {
      wipeIn(request.body) // handlers may have wiped theirs already
    }
  }
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])

/** Public endpoints get this; no handler of theirs may ask who calls. */
const NO_CALLER = undefined as unknown as Caller

const accessIn = <S>({ access }: Declaration<S>, state: ApplianceState): EndpointAccess | 'public' =>
  access === 'public' || access.publicIn?.includes(state) ? 'public' : access

/** The JSON that answers a change only says that it was made: whoever then heard of a refusal would take it for undone. */
const givesOut = <S>(declaration: Declaration<S>, result: Result): boolean =>
  result.status === 200 && ('bytes' in result || ('json' in result && auditKind(declaration) !== 'change'))

/** An answer that is sent as it is made ends with the request's admission. */
function whileAdmitted(result: Result, check: AuthorizationCheck): Result {
  if (!('stream' in result)) return result
  const stream = passOn(result.stream, ({ done }) => {
    if (!done) check()
  })
  return { ...result, stream }
}
