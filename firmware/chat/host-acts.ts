/**
 * The appliance's end of what is done in the chat: lines of its audit log, each marked as the chat's by its action and its
 * user. The chat's process meets the network, so it has budgets of its own: whoever takes it over pushes no line of others
 * out of the log, and no line says that the appliance did it. Contract section 3.9 of the appliance.
 */

import type { AuditLog } from '../audit/audit-log.ts'
import { createBudgets } from '../audit/budget.ts'
import type { AuditEvent } from '../audit/chain.ts'
import type { Act } from './act.ts'

/** No id of a user of the appliance has a colon. */
const USER_PREFIX = 'chat:'
/** Some hundred accounts that are set up at once; then a line each ten seconds, as every budget of the log has it. */
export const CHANGES_BURST = 500

export interface ActsKept {
  /** Of a change, throws `storage` when the disk does not take it. What is beyond the budget is counted only. */
  record(act: Act): Promise<void> | undefined
}

export interface ActsKeptOptions {
  /** Undefined while there is none. */
  audit: () => Pick<AuditLog, 'record'> | undefined
  /** Time as it is shown. */
  time: () => string
  monotonicMs?: () => number
}

export function createActsKept(options: ActsKeptOptions): ActsKept {
  const { audit, time, monotonicMs = () => performance.now() } = options
  const changes = createBudgets(monotonicMs, CHANGES_BURST)
  let skipped = 0

  return {
    record({ user, address, method, path, result, facts }) {
      const isChange = result < 400
      if (isChange && !changes.take(null)) {
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
      // All refusals of the chat share one budget, so that they leave those of others theirs.
      return audit()?.record(event, isChange ? 'change' : 'refusal', USER_PREFIX)
    },
  }
}
