/** Which requests are recorded in the audit log. Contract section 7.6. */

import type { Caller } from '../domain/roles.ts'
import type { Declaration, Request, Result } from './endpoint.ts'

/** A request and what is known of it, filled in as it passes the checks. */
export interface Attempt<S> {
  readonly address: string
  /** Present from check 6 on. */
  declaration?: Declaration<S>
  /** As sent, percent-decoded; not checked. */
  params?: Readonly<Record<string, string>>
  /** As sent with credentials; whether they are right, `caller` tells. */
  claimedUserId?: string
  caller?: Caller
  /** Checks 6 and 7 were passed. */
  isAuthorized: boolean
  /** Somebody else has written the line, or failed to. */
  isRecorded?: boolean
  /** With the body, present from check 15 on. */
  request?: Request<S, unknown, unknown, unknown>
  result?: Result
}

export interface Auditor<S> {
  /** Throws when what such a request does could not be recorded, or would push out too much: then it must not happen. */
  expectRoom(kind: AuditKind, caller: Caller | undefined): void
  /** The answer waits for the promise if there is one, and is an error when it fails. */
  record(attempt: Attempt<S> & { declaration: Declaration<S> }, status: number): Promise<void> | undefined
}

type AuditKind = NonNullable<Declaration<unknown>['audit']>

export const auditKind = ({ method, audit }: Pick<Declaration<never>, 'method' | 'audit'>): AuditKind =>
  audit ?? (method === 'GET' ? 'none' : 'change')

const REFUSED: ReadonlySet<number> = new Set([401, 403, 429])

/** Whether the caller was refused, whatever he asked for. */
export const isRefused = (status: number): boolean => REFUSED.has(status)

/** Of requests nobody was admitted to, only refused callers are recorded: the others tried nothing. */
export function recordAttempt<S>(auditor: Auditor<S>, attempt: Attempt<S>, status: number): Promise<void> | undefined {
  if (attempt.isRecorded || !isDeclared(attempt)) return undefined
  const { declaration, isAuthorized } = attempt
  const isRecorded = isRefused(status) || (isAuthorized && auditKind(declaration) !== 'none')
  return isRecorded ? auditor.record(attempt, status) : undefined
}

const isDeclared = <S>(attempt: Attempt<S>): attempt is Attempt<S> & { declaration: Declaration<S> } =>
  attempt.declaration !== undefined
