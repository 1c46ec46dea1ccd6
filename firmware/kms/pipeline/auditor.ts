/** Which requests are recorded in the audit log. Contract section 7.6. */

import type { Attempt } from '../../http/endpoint/attempt.ts'
import type { Caller } from '../domain/roles.ts'
import type { Declaration, Request, Result } from './endpoint.ts'

/** Credentials name a user id. */
export interface KmsAttempt<S> extends Attempt<Declaration<S>, Caller> {
  /** Somebody else has written the line, or failed to. */
  isRecorded?: boolean
  /** With its body, present once it acts. */
  request?: Request<S, unknown, unknown, unknown>
  result?: Result
}

export interface Auditor<S> {
  /** Throws when what such a request does could not be recorded, or would push out too much: then it must not happen. */
  expectRoom(kind: AuditKind, caller: Caller | undefined): void
  /** The answer waits for the promise if there is one, and is an error when it fails. */
  record(attempt: KmsAttempt<S> & { endpoint: Declaration<S> }, status: number): Promise<void> | undefined
}

type AuditKind = NonNullable<Declaration<unknown>['audit']>

export const auditKind = ({ method, audit }: Pick<Declaration<never>, 'method' | 'audit'>): AuditKind =>
  audit ?? (method === 'GET' ? 'none' : 'change')

const REFUSED: ReadonlySet<number> = new Set([401, 403, 429])

/** Whether the caller was refused, whatever he asked for. */
export const isRefused = (status: number): boolean => REFUSED.has(status)

/** Of requests nobody was admitted to, only refused callers are recorded: the others tried nothing. */
export function recordAttempt<S>(
  auditor: Auditor<S>,
  attempt: KmsAttempt<S>,
  status: number,
): Promise<void> | undefined {
  if (attempt.isRecorded || !isDeclared(attempt)) return undefined
  const { endpoint, isAuthorized } = attempt
  const isRecorded = isRefused(status) || (isAuthorized && auditKind(endpoint) !== 'none')
  return isRecorded ? auditor.record(attempt, status) : undefined
}

const isDeclared = <S>(attempt: KmsAttempt<S>): attempt is KmsAttempt<S> & { endpoint: Declaration<S> } =>
  attempt.endpoint !== undefined
