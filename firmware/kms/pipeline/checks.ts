/** Checks of contract section 1.7 that need no more than the request and its declaration, by their names there. */

import { CofferError, wrongState } from '../../base/error.ts'
import { matchSchema } from '../../base/json.ts'
import type { AuthorizationCheck } from '../../base/request-authorization.ts'
import type { ApplianceState } from '../../base/states.ts'
import { allowedMethods, type EndpointTable, type Found, type Resource } from '../../http/endpoint/table.ts'
import { RequestError } from '../../http/errors.ts'
import { tooLarge } from '../../http/request/body.ts'
import { mediaType } from '../../http/request/media.ts'
import { refuseForeignPage } from '../../http/request/origin.ts'
import type { Match } from '../../http/routes.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import { checkType } from './bodies.ts'
import { bodyBytesMax, type Declaration, type EndpointAccess, type Request } from './endpoint.ts'
import { readQuery } from './query.ts'
import { answerTypes } from './replies.ts'

/** A longer request target is answered with 414; contract section 1.5. */
const TARGET_MAX = 2000

type Matches<S> = readonly Match<Resource<Declaration<S>>>[]

/** A request on its way through the checks, once its endpoint is known. */
export interface Asked<S> {
  readonly exchange: Exchange
  readonly declaration: Declaration<S>
  readonly access: EndpointAccess | 'public'
  readonly request: Request<S, unknown, unknown, unknown>
  /** Of the path, percent-decoded. */
  readonly params: Readonly<Record<string, string>>
  /** As sent. */
  readonly query: string
  /** A segment of the path cannot be what the endpoint has there. */
  readonly malformed: boolean
  /** Throws once the caller may not do this, or the appliance is in another state. */
  readonly check: AuthorizationCheck
}

/** Throws `notFound` for a path without an endpoint that is offered now. */
export function route<S>(table: EndpointTable<Declaration<S>>, path: string, services: S): Matches<S> {
  const isOffered = ({ value }: Matches<S>[number]): boolean =>
    value.values().some((declaration) => declaration.isOffered?.(services) ?? true)
  const matches = table(path).filter(isOffered)
  if (matches.length === 0) throw new CofferError('notFound', 'No such path')
  return matches
}

/**
 * For a method that the path does not offer, the path is available when any endpoint on it is: so PATCH gets 412 where nothing
 * answers now, and 501 where something does.
 */
export function available<S>(
  matches: Matches<S>,
  declaration: Declaration<S> | undefined,
  state: ApplianceState,
): void {
  const isAvailable =
    declaration === undefined
      ? matches.some(({ value }) => value.values().some(({ states }) => states.includes(state)))
      : declaration.states.includes(state)
  if (!isAvailable) throw wrongState()
}

/** Throws a RequestError for a method that HTTP or this path does not know, and for a target that is too long. */
export function method<S>(
  exchange: Exchange,
  matches: Matches<S>,
  found: Found<Declaration<S>> | undefined,
): Found<Declaration<S>> {
  if (!KNOWN_METHODS.has(exchange.method)) throw new RequestError(501, 'Unknown method')
  if (exchange.target.length > TARGET_MAX)
    throw new RequestError(414, `The request target is longer than ${TARGET_MAX} characters`)
  if (found === undefined)
    throw new RequestError(405, 'Method not allowed', { allow: allowedMethods(matches).join(', ') })
  return found
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])

/** Pages of others do not even get to try credentials, their own or those a browser remembers. */
export const origin = ({ method, header }: Exchange): void => refuseForeignPage(method, header)

/** Content type and declared size of the body, and the types of the answer that the client takes, which it returns. */
export function negotiate<S>({ exchange, declaration, access }: Asked<S>): readonly string[] {
  const { body, creates } = declaration
  if (creates && body !== undefined) checkType(body, mediaType(exchange.header('content-type')))
  const bytesMax = bodyBytesMax(body, access)
  if (Number(exchange.header('content-length') ?? 0) > bytesMax) throw tooLarge(bytesMax)
  return answerTypes(declaration, exchange.header('accept'))
}

/** Ids in the path, and the query. Throws `invalid`. */
export function validate<S>({ declaration, request, params: raw, query: text, malformed }: Asked<S>): void {
  if (malformed) throw new CofferError('invalid', 'The path contains an invalid ID')
  const { params, query } = declaration
  if (params !== undefined) request.params = matchSchema(params, raw, 'path')
  if (query !== undefined) request.query = matchSchema(query, readQuery(text), 'query')
}
