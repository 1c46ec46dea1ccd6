/** What of a request goes to the audit log of the appliance. Contract section 1.6. */

import type { Exchange } from '../../http/server/exchange.ts'
import { type AuditShare, type ChatAuditEvent, STRANGERS } from '../link/chat-audit-event.ts'
import type { Audit, Declaration } from './declaration.ts'
import { statusOf } from './envelope.ts'

export interface Auditor {
  /** Throws `RATE_LIMIT_HIT` when this account changed so much of late that it could push out what others did. */
  expectBudget(account: number): void
  /** The account with this address, if there is one. */
  accountOf(email: string): number | null
  /** The share of the audit log that calls of this account take from. */
  shareOf(account: number): AuditShare
  /** The answer waits for the promise, and is an error when it fails. */
  record(act: ChatAuditEvent): Promise<void> | undefined
}

export interface Attempt {
  /** The caller was refused for this, with these credentials or none. */
  refused(error: unknown, who: { account: number } | { email: string } | null): void
  /** Acts, and tells of it if it is to be told. */
  act<T>(request: Admitted, act: () => Promise<T>): Promise<T>
}

interface Admitted {
  account: number | null
  path: Readonly<Record<string, unknown>>
  /** As sent. */
  values: ReadonlyMap<string, string>
}

export function createAttempt(
  auditor: Auditor,
  { method, path: declared, audit }: Pick<Declaration<never, never>, 'method' | 'path' | 'audit'>,
  { address }: Exchange,
): Attempt {
  const path = declared.replace(/:(\w+)/g, '{$1}')
  const tell = (user: number | null, share: AuditShare, result: number, facts: ChatAuditEvent['facts'] = {}) =>
    auditor.record({ user, address, method, path, result, facts, share })

  return {
    refused(error, who) {
      const status = statusOf(error)
      if (who !== null && 'email' in who && status === 401) tell(auditor.accountOf(who.email), STRANGERS, status)
      if (who !== null && 'account' in who && audit !== undefined)
        tell(who.account, auditor.shareOf(who.account), status)
    },
    async act({ account, path: segments, values }, act) {
      if (audit === undefined || audit.parameters?.every((name) => !values.has(name))) return act()
      const claim = audit.signsIn?.claim
      const claimed = claim == null ? null : auditor.accountOf(values.get(claim) ?? '')
      const share = account === null ? STRANGERS : auditor.shareOf(account) // before the call, which may change the role
      const facts = { ...numbers(segments), ...numbers(chosen(values, audit)) }
      let answer: Awaited<ReturnType<typeof act>>
      try {
        if (account !== null) auditor.expectBudget(account)
        answer = await act()
      } catch (error) {
        const status = statusOf(error)
        tell(account ?? claimed, share, status, facts)
        throw error
      }
      const { email, user_id: made } = (answer ?? {}) as { email?: unknown; user_id?: unknown }
      const user = account ?? (typeof email === 'string' ? auditor.accountOf(email) : null)
      const own = account === null && user !== null ? auditor.shareOf(user) : share
      await tell(user, own, 200, audit.signsIn === undefined ? { ...facts, ...numbers({ made }) } : facts)
      return answer
    },
  }
}

const chosen = (values: ReadonlyMap<string, string>, { facts = [] }: Audit): Record<string, unknown> =>
  Object.fromEntries(facts.map((name) => [name, values.get(name)]))

/** What of it is a whole number. */
function numbers(values: Readonly<Record<string, unknown>>): Record<string, number> {
  const whole = Object.entries(values).filter(([, value]) => /^\d{1,15}$/.test(String(value)))
  return Object.fromEntries(whole.map(([name, value]) => [name, Number(value)]))
}
