/** Selects the requests that the audit log records. Contract section 7.6. */

import type { Attempt } from '../../http/endpoint/attempt.ts'
import type { Caller } from '../domain/roles.ts'
import type { Token } from '../domain/tokens.ts'
import type { Declaration, Request, Result } from './endpoint.ts'

/** Credentials name a user id. */
export interface KmsAttempt<S> extends Attempt<Declaration<S>, Caller> {
  /** True if other code records the request, successfully or not. */
  isRecorded?: boolean
  request?: Request<S, unknown, unknown, unknown>
  result?: Result
  token?: Token
  /** True for a refusal whose status does not tell. */
  isRefusal?: boolean
}

export interface Auditor<S> {
  /** Throws if the log could not record such a request or would lose too many older records. The request must then not act. */
  expectRoom(kind: AuditKind, caller: Caller | undefined): void
  /** The answer waits for the promise and becomes an error if it rejects. */
  record(attempt: KmsAttempt<S> & { endpoint: Declaration<S> }, status: number): Promise<void> | undefined
}

type AuditKind = NonNullable<Declaration<unknown>['audit']>

export const auditKind = ({ method, audit }: Pick<Declaration<never>, 'method' | 'audit'>): AuditKind =>
  audit ?? (method === 'GET' ? 'none' : 'change')

const REFUSED: ReadonlySet<number> = new Set([401, 403, 429])

export const isRefused = (status: number): boolean => REFUSED.has(status)

/** Unauthorized requests are recorded only if the caller was refused; others, such as unknown paths, attempted nothing. */
export function recordAttempt<S>(
  auditor: Auditor<S>,
  attempt: KmsAttempt<S>,
  status: number,
): Promise<void> | undefined {
  if (attempt.isRecorded || !isDeclared(attempt)) return undefined
  const { endpoint, isAuthorized } = attempt
  const isRecorded = isRefused(status) || attempt.isRefusal === true || (isAuthorized && auditKind(endpoint) !== 'none')
  return isRecorded ? auditor.record(attempt, status) : undefined
}

const isDeclared = <S>(attempt: KmsAttempt<S>): attempt is KmsAttempt<S> & { endpoint: Declaration<S> } =>
  attempt.endpoint !== undefined
