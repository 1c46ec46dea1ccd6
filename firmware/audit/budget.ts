/**
 * How often what was refused, and what those change who may change little, enters the audit log: a budget for each user, and
 * one for all that nobody signed in for. The log is bounded: without this, anybody who reaches the port could push the
 * refusals of all others out of it, and the lowest roles the changes of administrators.
 */

const BURST = 100 // a person's mistakes, and a first look at an attack
const INTERVAL_MS = 10_000 // then a line each: twelve days until one user has filled the default ring
const USERS_MAX = 10_000 // that are remembered at a time; those beyond share one budget

interface Budgets {
  /** True when one more may be written of this user; null stands for everybody who did not sign in. */
  take(user: string | null): boolean
}

/** `nowMs` must never jump. `burst` is how many lines come at once before each waits for its turn. */
export function createBudgets(nowMs: () => number, burst = BURST): Budgets {
  const unknown = createBudget(nowMs, burst)
  const users = new Map<string, Budget>()

  const budgetOf = (user: string): Budget => {
    const known = users.get(user)
    if (known !== undefined) return known
    if (users.size >= USERS_MAX) for (const [other, budget] of users) if (budget.isFull()) users.delete(other)
    if (users.size >= USERS_MAX) return unknown
    const budget = createBudget(nowMs, burst)
    users.set(user, budget)
    return budget
  }
  return { take: (user) => (user === null ? unknown : budgetOf(user)).take() }
}

interface Budget {
  take(): boolean
  isFull(): boolean
}

function createBudget(nowMs: () => number, burst: number): Budget {
  let left = burst
  let filledMs = nowMs()
  const fill = (): void => {
    const earned = Math.floor((nowMs() - filledMs) / INTERVAL_MS)
    filledMs += earned * INTERVAL_MS
    left = Math.min(burst, left + earned)
  }
  return {
    take() {
      fill()
      if (left === 0) return false
      left--
      return true
    },
    isFull() {
      fill()
      return left === burst
    },
  }
}
