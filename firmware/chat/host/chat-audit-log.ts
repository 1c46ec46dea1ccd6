/**
 * Writes chat audit events to the appliance's audit log. Action and user mark each line as one of the chat. The chat process is exposed to
 * the network, so it has separate budgets: an attacker who controls it can neither displace other lines nor write lines in the name of the
 * appliance. Contract section 3.9 of the appliance.
 */

import type { AuditLog } from '../../audit/audit-log.ts'
import { createBudgets } from '../../audit/budget.ts'
import type { AuditEvent } from '../../audit/chain.ts'
import type { AuditShare, ChatAuditEvent } from '../link/chat-audit-event.ts'

/** User ids of the appliance never contain a colon. */
const USER_PREFIX = 'chat:'
/**
 * Burst of changes; afterwards one line every ten seconds, like every budget of the log. An administrator may create some hundred accounts.
 * The total is below the smallest capacity of the log, so no change of the appliance is displaced.
 */
export const CHANGES = {
  administrators: { ofEach: 250, ofAll: 500 },
  accounts: { ofEach: 100, ofAll: 300 },
} as const

interface ChatAuditLog {
  /** For a change, rejects with `storage` if the disk cannot store it. Changes beyond the budget are only counted. */
  record(act: ChatAuditEvent): Promise<void> | undefined
}

interface ChatAuditLogOptions {
  /** Undefined while the audit log is closed. */
  audit: () => Pick<AuditLog, 'record'> | undefined
  time: () => string
  monotonicMs?: () => number
}

export function createChatAuditLog(options: ChatAuditLogOptions): ChatAuditLog {
  const { audit, time, monotonicMs = () => performance.now() } = options
  const administrators = createShare(CHANGES.administrators, monotonicMs)
  const accounts = createShare(CHANGES.accounts, monotonicMs)
  const take = ({ of, account }: AuditShare) => (of === 'administrators' ? administrators : accounts)(account)
  let skipped = 0

  return {
    record({ user, address, method, path, result, facts, share }) {
      const isChange = result < 400
      if (isChange && !take(share)) {
        skipped++
        return undefined
      }
      const shown = Object.entries(facts).map(([name, value]) => [name, String(value)])
      const event: AuditEvent = {
        time: time(),
        user: `${USER_PREFIX}${user ?? ''}`,
        address,
        action: `chat ${method} ${path}`,
        key: '',
        namespace: '',
        result,
        ...(shown.length > 0 && { facts: Object.fromEntries(shown) }),
        ...(isChange && skipped > 0 && { skipped }),
      }
      if (isChange) skipped = 0
      // Each kind of caller has a separate budget for refusals.
      return audit()?.record(event, isChange ? 'change' : 'refusal', USER_PREFIX + share.of)
    },
  }
}

type Burst = (typeof CHANGES)[keyof typeof CHANGES]

/** Returns a function that is true if an account may write another line. */
function createShare({ ofEach, ofAll }: Burst, nowMs: () => number): (account: number | null) => boolean {
  const each = createBudgets(nowMs, ofEach)
  const all = createBudgets(nowMs, ofAll)
  return (account) => each.take(account === null ? null : String(account)) && all.take(null)
}
