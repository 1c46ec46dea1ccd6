/** Looks at all conditions again and again, and keeps those that hold, each with the time since when. Contract section 7.10. */

import { CofferError } from '../base/error.ts'
import type { AlertCondition, AlertId, Finding } from './conditions.ts'

/** A condition that holds. */
export interface Alert extends Finding {
  id: AlertId
  /** When it was seen first since the start, in milliseconds since 1970. */
  sinceMs: number
}

export interface AlertList {
  /** Looks now. In the order of the conditions. */
  current(): Alert[]
  /** True if the condition does not hold. Of one that is not current either, nothing could be told since the start. */
  isClear(id: AlertId): boolean
}

/** `now`: milliseconds since 1970. */
export function createAlertList(conditions: readonly AlertCondition[], now: () => number): AlertList {
  const alerts = new Map<AlertId, Alert>()
  const clear = new Set<AlertId>()

  function look({ id, check }: AlertCondition): void {
    const finding = attempt(check)
    if (finding === undefined) return
    if (finding === null) {
      alerts.delete(id)
      clear.add(id)
      return
    }
    clear.delete(id)
    alerts.set(id, { id, sinceMs: alerts.get(id)?.sinceMs ?? now(), ...finding })
  }

  return {
    current() {
      for (const condition of conditions) look(condition)
      return conditions.flatMap(({ id }) => alerts.get(id) ?? [])
    },
    isClear: (id) => clear.has(id),
  }
}

/** The appliance may be locked between two looks, and the disk may fail: other conditions tell of both. */
function attempt(check: AlertCondition['check']): Finding | null | undefined {
  try {
    return check()
  } catch (error) {
    if (error instanceof CofferError) return undefined
    throw error
  }
}
