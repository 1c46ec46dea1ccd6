/** Checks that the resource exists and has the requested version. Contract section 1.7. */

import { CofferError } from '../../base/error.ts'
import { emptyReply, type Reply } from '../../http/reply.ts'
import { etagOf, judge, type ResourceState } from '../../http/request/conditions.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import type { Declaration, Request } from './endpoint.ts'
import { responseHeaders } from './replies.ts'

/** Returns the answer if a condition ends the request, else the etag. */
export function precondition<S>(
  exchange: Exchange,
  declaration: Declaration<S>,
  request: Request<S, unknown, unknown, unknown>,
): Reply | { etag?: string | undefined } {
  declaration.exists?.(request)
  declaration.mayUse?.(request)
  if (declaration.method !== 'GET' && !isConditional(exchange)) return {}
  const version = declaration.version?.(request)
  const etag = version === undefined || version === null ? undefined : etagOf(version)
  const verdict = conditions(exchange, declaration, version, etag)
  if (verdict === 412) throw new CofferError('unavailable', 'A precondition of the request is not met')
  if (verdict === 304) return emptyReply(304, responseHeaders(declaration, etag))
  return { etag }
}

const isConditional = ({ header }: Exchange): boolean =>
  header('if-match') !== undefined || header('if-none-match') !== undefined

const NO_CONDITIONS = (): void => {}

/** The conditions of a change, once more for the turn in which it is made: another request may have been faster. */
export function conditionsOf<S>(
  exchange: Exchange,
  declaration: Declaration<S>,
  request: Request<S, unknown, unknown, unknown>,
): () => void {
  if (declaration.method === 'GET' || !isConditional(exchange)) return NO_CONDITIONS
  return () => void precondition(exchange, declaration, request)
}

function conditions<S>(
  exchange: Exchange,
  { method, version: declared }: Declaration<S>,
  version: string | null | undefined,
  etag: string | undefined,
): 'proceed' | 412 | 304 {
  const ifMatch = exchange.header('if-match')
  const ifNoneMatch = exchange.header('if-none-match')
  if (ifMatch === undefined && ifNoneMatch === undefined) return 'proceed'
  return judge({ ifMatch, ifNoneMatch }, presence(), method === 'GET')

  function presence(): ResourceState {
    if (etag !== undefined) return { etag }
    if (declared !== undefined && version === null) return 'missing'
    // Only a PUT can create a resource. Other methods have found it by now.
    return method === 'PUT' ? 'unknown' : 'present'
  }
}
