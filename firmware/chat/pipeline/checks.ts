/** Checks of contract section 1.10 that need only the request and its declaration, named as there. */

import { allowedMethods, type EndpointTable, endpointOf, type Found, type Resource } from '../../http/endpoint/table.ts'
import { bodyReply, type Reply } from '../../http/reply.ts'
import { refuseForeignPage } from '../../http/request/origin.ts'
import type { Match } from '../../http/routes.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import { ChatError } from '../base/error.ts'
import type { Declaration } from './declaration.ts'

const TARGET_MAX = 64 * 1024 // some clients send all parameters in the query; Node's limit of 16 KiB for headers also applies

type Matches<E> = readonly Match<Resource<E>>[]

/** Throws if the target is too long or no endpoint has the path. */
export function route<E>(table: EndpointTable<E>, target: string, path: string): Matches<E> {
  if (target.length > TARGET_MAX) throw new ChatError('BAD_REQUEST', 'The request target is too long', {}, 414)
  const matches = table(path).filter(({ malformed }) => !malformed)
  if (matches.length === 0) throw noSuchPath()
  return matches
}

/** Returns the endpoint, or the answer to a method that the path does not offer. */
export function method<E>(matches: Matches<E>, exchange: Exchange): Reply | Found<E> {
  const found = endpointOf(matches, exchange.method)
  if (found !== undefined) return found
  const allowed = allowedMethods(matches)
  const body = { result: 'error', msg: 'Method Not Allowed', code: 'BAD_REQUEST', allowed_methods: allowed }
  return bodyReply(405, JSON.stringify(body), 'application/json; charset=utf-8', { allow: allowed.join(', ') })
}

export const origin = ({ method, header }: Exchange): void => refuseForeignPage(method, header)

/** Throws 404 for a malformed segment. */
export function segments<S, Me>(
  { segments = {} }: Declaration<S, Me>,
  params: Readonly<Record<string, string>>,
): Record<string, unknown> {
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

export const noSuchPath = () => new ChatError('NOT_FOUND', 'No such path')
