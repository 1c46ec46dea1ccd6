/**
 * The appliance's end of what is done in the chat: lines of its audit log, each marked as the chat's by its action and its
 * user. The chat's process meets the network, so it has budgets of its own: an attacker who controls it pushes no line of
 * others out of the log, and no line says that the appliance did it. Contract section 3.9 of the appliance.
 */

import type { AuditLog } from '../../audit/audit-log.ts'
import { createBudgets } from '../../audit/budget.ts'
import type { AuditEvent } from '../../audit/chain.ts'
import type { AuditShare, ChatAuditEvent } from '../link/chat-audit-event.ts'

/** No id of a user of the appliance has a colon. */
const USER_PREFIX = 'chat:'
/**
 * Changes at once; then a line each ten seconds, as every budget of the log has it. An administrator may set up some hundred
 * accounts. All together they are fewer than the smallest log has lines, so that no change of the appliance is pushed out.
 */
export const CHANGES = {
  administrators: { ofEach: 250, ofAll: 500 },
  accounts: { ofEach: 100, ofAll: 300 },
} as const

interface ChatAuditLog {
  /** Of a change, throws `storage` when the disk does not take it. What is beyond the budget is counted only. */
  record(act: ChatAuditEvent): Promise<void> | undefined
}

interface ChatAuditLogOptions {
  /** Undefined while there is none. */
  audit: () => Pick<AuditLog, 'record'> | undefined
  /** Time as it is shown. */
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
      // Refusals of each kind of callers share one budget, so that they leave those of others theirs.
      return audit()?.record(event, isChange ? 'change' : 'refusal', USER_PREFIX + share.of)
    },
  }
}

type Burst = (typeof CHANGES)[keyof typeof CHANGES]

/** Returns whether one more line of an account may be written. */
function createShare({ ofEach, ofAll }: Burst, nowMs: () => number): (account: number | null) => boolean {
  const each = createBudgets(nowMs, ofEach)
  const all = createBudgets(nowMs, ofAll)
  return (account) => each.take(account === null ? null : String(account)) && all.take(null)
}
