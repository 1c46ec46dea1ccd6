/** Who calls, and whose share of calls a request takes from. Contract sections 1.2 and 1.5. */

import { prefixOf } from '../../base/login-limiter.ts'
import type { BasicCredentials } from '../../http/endpoint/basic.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import { ChatError } from '../base/error.ts'
import type { ChatAttempt } from './auditor.ts'
import { readCredentials, readQueryKey } from './credentials.ts'
import type { Credential, Declaration, Who } from './declaration.ts'
import { createRateLimiter, RateLimitHit, type RateLimits } from './rate-limit.ts'
import { readSessionCookie } from './session-cookie.ts'

/** An account that showed a key or a session. */
export interface AuthenticatedCaller<Me> {
  readonly credential: Credential
  /** As long as the key is the same account's. */
  readonly name: string
  readonly account: number
  /** The caller as of now; throws once the key is revoked, or the account deactivated. */
  current(): Me
}

export interface CallerOptions<Me> {
  /** Throws `INVALID_API_KEY`, `USER_DEACTIVATED` and the like. */
  authenticate: (credentials: BasicCredentials, host: string | undefined) => AuthenticatedCaller<Me>
  /** By the secret in the cookie. `cookie` is to be set with the answer. Throws as `authenticate`. */
  authenticateSession: (
    secret: string,
    host: string | undefined,
  ) => { session: AuthenticatedCaller<Me>; cookie: string | null }
  /** Authenticates a bot by its key alone. Throws as `authenticate`. */
  authenticateWebhook: (key: string, host: string | undefined) => AuthenticatedCaller<Me>
  /** Throws what a caller of this kind is refused with. `me` is null without credentials. */
  authorize: (who: Who, me: Me | null) => void
}

/** The caller as known when the answer is made. */
export interface AnswerTerms {
  readonly headers: Record<string, string>
  /** By the cookie of the page. */
  isSession: boolean
}

interface Asking {
  readonly exchange: Exchange
  readonly declaration: Pick<Declaration<never, never>, 'who' | 'isMedia'>
  readonly query: string
}

interface Callers<Me> {
  /** Throws what the credentials are refused with. Null: without any. */
  authenticate(asking: Asking, attempt: ChatAttempt, terms: AnswerTerms): AuthenticatedCaller<Me> | null
}

interface Identified<Me> {
  session: AuthenticatedCaller<Me>
  cookie: string | null
}

export function createCallers<Me>(
  options: CallerOptions<Me>,
  limits: RateLimits,
  nowMs: () => number,
  timeS: () => number,
): Callers<Me> {
  const ofAccounts = createRateLimiter(limits.account, nowMs, timeS)
  const ofAddresses = createRateLimiter(limits.address, nowMs, timeS)
  const ofMedia = createRateLimiter(limits.media, nowMs, timeS)

  function authenticate(asking: Asking, attempt: ChatAttempt, terms: AnswerTerms): AuthenticatedCaller<Me> | null {
    const { exchange, declaration } = asking
    const { isMedia = false } = declaration
    const prefix = prefixOf(exchange.address)
    let identified: Identified<Me> | null
    try {
      identified = identify(asking, attempt, terms)
    } catch (error) {
      if (!(error instanceof RateLimitHit)) ofAddresses.take(prefix) // wrong guesses are an address's
      throw error
    }
    if (identified === null) {
      const shared = isMedia ? ofMedia : ofAddresses // with all others of the address who have no account
      shared.take(prefix)
      return null
    }
    const { session, cookie } = identified
    rateLimit(session, terms, isMedia)
    if (cookie !== null) terms.headers['set-cookie'] = cookie
    exchange.markAuthenticated()
    attempt.caller = session
    return session
  }

  function rateLimit({ name }: AuthenticatedCaller<Me>, { headers, isSession }: AnswerTerms, isMedia: boolean): void {
    const limiter = isSession && isMedia ? ofMedia : ofAccounts
    Object.assign(headers, limiter.take(name))
  }

  function identify(asking: Asking, attempt: ChatAttempt, terms: AnswerTerms): Identified<Me> | null {
    const { who, isMedia = false } = asking.declaration
    const { header } = asking.exchange
    if (who === 'nobody') return null
    const host = header('host')
    if (who === 'webhook') {
      const key = readQueryKey(asking.query)
      attempt.claimed = ''
      return { session: options.authenticateWebhook(key, host), cookie: null }
    }
    const authorization = header('authorization')
    const secret = authorization === undefined ? readSessionCookie(header, isMedia) : null
    if (secret !== null) {
      terms.isSession = true
      attempt.claimed = ''
      return options.authenticateSession(secret, host)
    }
    if (who === 'anyone' && authorization === undefined) return null
    const credentials = readCredentials(authorization)
    if (credentials === null)
      throw new ChatError('UNAUTHORIZED', 'Not logged in: API authentication or user session required')
    attempt.claimed = credentials.user
    return { session: options.authenticate(credentials, host), cookie: null }
  }

  return { authenticate }
}
