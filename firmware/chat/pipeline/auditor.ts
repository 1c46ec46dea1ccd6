/** Reports requests to the appliance's audit log. Contract section 1.6. */

import type { Attempt } from '../../http/endpoint/attempt.ts'
import { type AuditShare, type ChatAuditEvent, STRANGERS } from '../link/chat-audit-event.ts'
import type { Audit, Declaration } from './declaration.ts'
import { statusOf } from './envelope.ts'

export interface Auditor {
  /** Throws `RATE_LIMIT_HIT` if the account has made so many changes that more would push out those of others. */
  expectBudget(account: number): void
  accountOf(email: string): number | null
  shareOf(account: number): AuditShare
  /** The answer waits for the promise and becomes an error if it rejects. */
  record(act: ChatAuditEvent): Promise<void> | undefined
}

/** Credentials name an email address. */
export type ChatAttempt = Attempt<Pick<Declaration<never, never>, 'method' | 'path' | 'audit'>, { account: number }>

/** Reports wrong credentials, and refused calls of audited endpoints. */
export function recordRefusal(auditor: Auditor, attempt: ChatAttempt, error: unknown): void {
  const { endpoint, claimed, caller } = attempt
  const status = statusOf(error)
  if (caller === undefined) {
    if (claimed !== undefined && status === 401) tell(auditor, attempt, auditor.accountOf(claimed), STRANGERS, status)
  } else if (endpoint?.audit !== undefined)
    tell(auditor, attempt, caller.account, auditor.shareOf(caller.account), status)
}

/** `path`: parsed path parameters; `values`: other parameters as sent. */
interface Input {
  readonly path: Readonly<Record<string, unknown>>
  readonly values: ReadonlyMap<string, string>
}

export async function recordAct<T>(
  auditor: Auditor,
  attempt: ChatAttempt,
  { path, values }: Input,
  act: () => Promise<T>,
): Promise<T> {
  const { audit } = attempt.endpoint ?? {}
  if (audit === undefined || audit.parameters?.every((name) => !values.has(name))) return act()
  const account = attempt.caller?.account ?? null
  const claim = audit.signsIn?.claim
  const claimed = claim == null ? null : auditor.accountOf(values.get(claim) ?? '')
  const share = account === null ? STRANGERS : auditor.shareOf(account) // read before the call, which may change the role
  const facts = { ...numbers(path), ...numbers(chosen(values, audit)) }
  let answer: Awaited<T>
  try {
    if (account !== null) auditor.expectBudget(account)
    answer = await act()
  } catch (error) {
    tell(auditor, attempt, account ?? claimed, share, statusOf(error), facts)
    throw error
  }
  const { email, user_id, group_id } = (answer ?? {}) as { email?: unknown; user_id?: unknown; group_id?: unknown }
  const made = user_id ?? group_id
  const user = account ?? (typeof email === 'string' ? auditor.accountOf(email) : null)
  const own = account === null && user !== null ? auditor.shareOf(user) : share
  await tell(auditor, attempt, user, own, 200, audit.signsIn === undefined ? { ...facts, ...numbers({ made }) } : facts)
  return answer
}

function tell(
  auditor: Auditor,
  { address, endpoint }: ChatAttempt,
  user: number | null,
  share: AuditShare,
  result: number,
  facts: ChatAuditEvent['facts'] = {},
): Promise<void> | undefined {
  if (endpoint === undefined) return undefined
  const path = endpoint.path.replace(/:(\w+)/g, '{$1}')
  return auditor.record({ user, address, method: endpoint.method, path, result, facts, share })
}

const chosen = (values: ReadonlyMap<string, string>, { facts = [] }: Audit): Record<string, unknown> =>
  Object.fromEntries(facts.map((name) => [name, values.get(name)]))

function numbers(values: Readonly<Record<string, unknown>>): Record<string, number> {
  const whole = Object.entries(values).filter(([, value]) => /^\d{1,15}$/.test(String(value)))
  return Object.fromEntries(whole.map(([name, value]) => [name, Number(value)]))
}
