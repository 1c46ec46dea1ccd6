/**
 * Authentication and authorization, checked when a request arrives and again when it acts. Contract section 1.7, `authenticate` and
 * `authorize`.
 */

import { CofferError, wrongState } from '../../base/error.ts'
import type { QueuePriority } from '../../base/fair-queue.ts'
import type { Log } from '../../base/log.ts'
import type { LoginLimiter } from '../../base/login-limiter.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import type { Caller } from '../domain/roles.ts'
import type { KmsAttempt } from './auditor.ts'
import { readCredentials } from './credentials.ts'
import type { Declaration, EndpointAccess, Request } from './endpoint.ts'
import type { ClusterView, ReadBarrier } from './read-barrier.ts'

export interface AccessOptions {
  /** The current epoch. A new one begins with each state change and each replacement of all records, and ends earlier requests. */
  epoch: () => unknown
  /** Returns null for an unknown user or a wrong passphrase. The passphrase is wiped when this returns. */
  authenticate: (userId: string, passphrase: Uint8Array, place: QueuePriority) => Caller | null | Promise<Caller | null>
  recall?: (userId: string, passphrase: Uint8Array) => Caller | null
  /** False once the caller is deleted or the caller's passphrase has changed. */
  isCurrent?: (caller: Caller) => boolean
  /** False if the caller's namespace does not exist; all requests are then refused (contract 7.3). */
  namespaceExists?: (caller: Caller) => boolean
  /** Changes of other nodes; null on a standalone node. */
  nodes?: () => ClusterView | null
  limiter: LoginLimiter
  log: Log
}

/** Limits and checks the credentials of a user, and logs a failure. Returns at once who is recalled, and else null if they are wrong. */
type LogIn = (
  address: string,
  userId: string,
  withSecret: <T>(use: (secret: Uint8Array) => T) => T,
) => Caller | Promise<Caller | null>

interface AccessChecks<S> {
  logIn: LogIn
  /** Throws `unauthenticated` or `limited`. */
  authenticate(exchange: Exchange, attempt: KmsAttempt<S>): Caller | Promise<Caller>
  /** Checks the current state, account, role and namespace for a request that arrived in `epoch`. */
  authorize(
    declaration: Declaration<S>,
    access: EndpointAccess | 'public',
    request: Request<S, unknown, unknown, unknown>,
    epoch: unknown,
  ): void
}

export function createAccess<S>(options: AccessOptions, confirm: ReadBarrier): AccessChecks<S> {
  const logIn: LogIn = (address, userId, withSecret) => {
    const verify = (place: QueuePriority) =>
      confirm.null(() => withSecret((passphrase) => options.authenticate(userId, passphrase, place)))
    const recall = () => withSecret((passphrase) => options.recall?.(userId, passphrase) ?? null)
    const attempted = options.limiter.recallOrAttempt(address, userId, recall, verify)
    return attempted instanceof Promise ? logged(attempted, address, userId) : attempted
  }

  async function logged(attempted: Promise<Caller | null>, address: string, userId: string): Promise<Caller | null> {
    const caller = await attempted
    if (caller === null)
      options.log.warning('access', `authentication of ${userId} from ${address || 'inside'} failed: wrong credentials`)
    return caller
  }

  function authenticate(exchange: Exchange, attempt: KmsAttempt<S>): Caller | Promise<Caller> {
    const credentials = readCredentials(exchange.header('authorization'))
    if (credentials === null) throw new CofferError('unauthenticated', 'Credentials are missing or malformed')
    const { user: userId, withSecret } = credentials
    attempt.claimed = userId
    const caller = logIn(exchange.address, userId, withSecret)
    return caller instanceof Promise
      ? caller.then((found) => accept(found, exchange, attempt))
      : accept(caller, exchange, attempt)
  }

  function accept(caller: Caller | null, exchange: Exchange, attempt: KmsAttempt<S>): Caller {
    if (caller === null) throw new CofferError('unauthenticated', 'Wrong credentials')
    attempt.caller = caller
    exchange.markAuthenticated()
    return caller
  }

  function authorize(
    declaration: Declaration<S>,
    access: EndpointAccess | 'public',
    request: Request<S, unknown, unknown, unknown>,
    epoch: unknown,
  ): void {
    if (options.epoch() !== epoch) throw wrongState()
    if (access === 'public') return
    const { caller } = request
    if (options.isCurrent?.(caller) === false)
      throw new CofferError('unauthenticated', 'The account was deleted, or its passphrase was changed')
    expectRole(access, caller)
    declaration.authorize?.(request as Request<S, Record<string, string>, unknown, unknown>)
  }

  function expectRole(access: EndpointAccess, caller: Caller): void {
    const isMeant = access.roles.includes(caller.role) && (access.scope === 'any' || caller.namespace === '')
    if (!isMeant) throw new CofferError('forbidden', whoMay(access))
    if (options.namespaceExists?.(caller) === false) throw new CofferError('forbidden', 'Your namespace does not exist')
  }

  return { logIn, authenticate, authorize }
}

/** Tells a refused caller which users to ask. */
const whoMay = ({ roles, scope }: EndpointAccess): string =>
  `Only users with role ${roles.join(' or ')}${scope === 'root' ? ' outside any namespace' : ''} may do this`
