/** Checks of contract section 1.7 that need only the request and its declaration, named as there. */

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

/** Longer request targets get 414; contract section 1.5. */
const TARGET_MAX = 2000

type Matches<S> = readonly Match<Resource<Declaration<S>>>[]

export interface Asked<S> {
  readonly exchange: Exchange
  readonly declaration: Declaration<S>
  readonly access: EndpointAccess | 'public'
  readonly request: Request<S, unknown, unknown, unknown>
  readonly params: Readonly<Record<string, string>>
  /** As sent. */
  readonly query: string
  /** True if a segment of the path cannot match the endpoint's pattern. */
  readonly malformed: boolean
  /** Throws once the caller is no longer authorized or the state has changed. */
  readonly check: AuthorizationCheck
}

/** Throws `notFound` if no offered endpoint has the path. */
export function route<S>(table: EndpointTable<Declaration<S>>, path: string, services: S): Matches<S> {
  const isOffered = ({ value }: Matches<S>[number]): boolean =>
    value.values().some((declaration) => declaration.isOffered?.(services) ?? true)
  const matches = table(path).filter(isOffered)
  if (matches.length === 0) throw new CofferError('notFound', 'No such path')
  return matches
}

/**
 * Throws in states where the endpoint is unavailable. For a method that the path does not offer, any available endpoint on the path counts:
 * PATCH gets 412 if none is available, else 501.
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

/** Throws a RequestError for a method unknown to HTTP or to this path, and for a target that is too long. */
export function method<S>(
  exchange: Exchange,
  matches: Matches<S>,
  found: Found<Declaration<S>> | undefined,
): Found<Declaration<S>> {
  if (found === undefined && !KNOWN_METHODS.has(exchange.method)) throw new RequestError(501, 'Unknown method')
  if (exchange.target.length > TARGET_MAX)
    throw new RequestError(414, `The request target is longer than ${TARGET_MAX} characters`)
  if (found === undefined)
    throw new RequestError(405, 'Method not allowed', { allow: allowedMethods(matches).join(', ') })
  return found
}

const KNOWN_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'TRACE'])

/** Foreign pages are refused before authentication, so that they cannot try credentials, not even those that the browser stores. */
export const origin = ({ method, header }: Exchange): void => refuseForeignPage(method, header)

/** Checks content type and declared size of the body. Returns the acceptable types of the answer. */
export function negotiate<S>({ exchange, declaration, access, request }: Asked<S>): readonly string[] {
  const { body, creates } = declaration
  if (creates && body !== undefined) checkType(body, mediaType(exchange.header('content-type')))
  const bytesMax = bodyBytesMax(body, access)
  if (Number(exchange.header('content-length') ?? 0) > bytesMax) throw tooLarge(bytesMax)
  // Other APIs than NetHSM's answer in one form, whatever the client accepts.
  return answerTypes(declaration, request.dialect === null ? exchange.header('accept') : undefined)
}

export function validate<S>({ declaration, request, params: raw, query: text, malformed }: Asked<S>): void {
  if (malformed) throw new CofferError('invalid', 'The path contains an invalid ID')
  const { params, query } = declaration
  if (params !== undefined) request.params = matchSchema(params, raw, 'path')
  if (query !== undefined) request.query = matchSchema(query, readQuery(text), 'query')
}
