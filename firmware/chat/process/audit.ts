/** Assigns audit events to the share of an account, and limits the changes of each account. Contract section 1.6. */

import { type Clock, createClock } from '../../base/clock.ts'
import type { AuditShare, ChatAuditEvent } from '../link/chat-audit-event.ts'
import type { Auditor } from '../pipeline/auditor.ts'
import { createRateLimiter, RATE_LIMITS, type RateLimits } from '../pipeline/rate-limit.ts'
import type { Realm } from '../realm/model/realm.ts'
import { atLeast, ROLES } from '../realm/model/roles.ts'
import { findByName } from '../realm/permissions/user-find.ts'

interface AuditorOptions {
  /** Sends an event to the audit log of the appliance. By default none are sent. */
  record?: (act: ChatAuditEvent) => Promise<void> | undefined
  rateLimits?: Partial<RateLimits>
  clock?: Clock
  /** Must be monotonic. */
  nowMs?: () => number
}

/** Administrators may make unlimited changes, like those of the appliance. */
export function createAuditor(
  realm: Realm,
  { record = () => undefined, rateLimits, clock = createClock(), nowMs }: AuditorOptions,
): Auditor {
  const rate = { ...RATE_LIMITS, ...rateLimits }.changes
  const changes = createRateLimiter(rate, nowMs ?? (() => performance.now()), () => clock.now() / 1000)

  /** A bot counts against the share of its owner, whose role it never exceeds. */
  function shareOf(account: number): AuditShare {
    const user = realm.state.user.get(account)
    const payer = user?.bot?.ownerId == null ? user : realm.state.user.get(user.bot.ownerId)
    const isAdministrator = payer !== undefined && atLeast(payer.role, ROLES.administrator)
    return { of: isAdministrator ? 'administrators' : 'accounts', account: payer?.id ?? account }
  }

  return {
    record,
    accountOf: (email) => findByName(realm, email)?.id ?? null,
    shareOf,
    expectBudget(account) {
      const share = shareOf(account)
      if (share.of === 'accounts') changes.take(String(share.account))
    },
  }
}
