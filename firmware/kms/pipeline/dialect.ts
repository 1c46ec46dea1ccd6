/**
 * A dialect holds the differences of another API than NetHSM's in the checks of contract section 1.7: paths, methods, credentials and the
 * form of errors. The checks and their order are the same.
 */

import type { Reply } from '../../http/reply.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import type { Namespace } from '../domain/identifiers.ts'
import type { Caller } from '../domain/roles.ts'
import type { Token } from '../domain/tokens.ts'
import type { Declaration } from './endpoint.ts'

/** Members of a request that come from its dialect. */
export interface DialectRequest {
  /** As the request names it; for an authenticated caller that of the caller. */
  readonly namespace: Namespace
  readonly token: Token | null
  /** As for Basic credentials, with the same limit. Returns null for wrong ones. Sets the caller of the audit record. */
  logIn(userId: string, passphrase: Uint8Array): Promise<Caller | null>
}

/** The API's names in metrics. */
export type WireName = 'nethsm' | 'transit'

export interface Dialect<S> {
  readonly name: WireName
  /** Paths below it are the dialect's while it is offered. */
  readonly base: string
  /** With full paths. */
  readonly declarations: readonly Declaration<S>[]
  isOffered(services: S): boolean
  /** The path under which an endpoint is declared. */
  pathOf(path: string): string
  /** Throws what an unknown path is refused with. */
  refusePath(exchange: Exchange, services: S): never
  /** The method under which an endpoint is declared. */
  methodOf(exchange: Exchange, query: string): string
  /** Checks headers that come before credentials. Returns the namespace that they name. */
  namespaceOf(exchange: Exchange): Namespace
  /** Throws `unauthenticated`, and errors for a namespace that is not the token's. */
  authenticate(exchange: Exchange, namespace: Namespace, services: S): { caller: Caller; token: Token }
  isCurrent(token: Token, services: S): boolean
  /** True for an error that the audit log has as a refusal, whatever its status. */
  isRefusal(error: unknown): boolean
  errorReply(error: unknown): Reply
}
