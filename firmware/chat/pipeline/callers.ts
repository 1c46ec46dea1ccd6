/** Identifies the caller and applies rate limits. Contract sections 1.2 and 1.5. */

import { prefixOf } from '../../base/login-limiter.ts'
import type { BasicCredentials } from '../../http/endpoint/basic.ts'
import type { Exchange } from '../../http/server/exchange.ts'
import { ChatError } from '../base/error.ts'
import type { ChatAttempt } from './auditor.ts'
import { readCredentials, readQueryKey } from './credentials.ts'
import type { Credential, Declaration, Who } from './declaration.ts'
import { createRateLimiter, RateLimitHit, type RateLimits } from './rate-limit.ts'
import { readSessionCookie } from './session-cookie.ts'

export interface AuthenticatedCaller<Me> {
  readonly credential: Credential
  /** Stays the same as long as the key belongs to the account. */
  readonly name: string
  readonly account: number
  /** Name of the share that request bodies take from: that of the account, for a bot that of its owner. */
  readonly payer: string
  /** Returns the caller's current record. Throws once the key is revoked or the account deactivated. */
  current(): Me
}

export interface CallerOptions<Me> {
  /** Throws `INVALID_API_KEY`, `USER_DEACTIVATED` and similar errors. */
  authenticate: (credentials: BasicCredentials, host: string | undefined) => AuthenticatedCaller<Me>
  /** Authenticates by the session cookie. The answer sets `cookie`. Throws like `authenticate`. */
  authenticateSession: (
    secret: string,
    host: string | undefined,
  ) => { session: AuthenticatedCaller<Me>; cookie: string | null }
  /** Authenticates a bot by its key alone. Throws like `authenticate`. */
  authenticateWebhook: (key: string, host: string | undefined) => AuthenticatedCaller<Me>
  /** Throws if callers of this kind are refused. `me` is null without credentials. */
  authorize: (who: Who, me: Me | null) => void
}

export interface AnswerTerms {
  readonly headers: Record<string, string>
  isSession: boolean
}

interface Asking {
  readonly exchange: Exchange
  readonly declaration: Pick<Declaration<never, never>, 'who' | 'isMedia'>
  readonly query: string
}

interface Callers<Me> {
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
      if (!(error instanceof RateLimitHit)) ofAddresses.take(prefix) // wrong credentials count against the address
      throw error
    }
    if (identified === null) {
      const shared = isMedia ? ofMedia : ofAddresses // shared by all unauthenticated callers of the address
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
