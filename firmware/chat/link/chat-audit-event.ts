/**
 * A chat audit event for the appliance's audit log: numbers, and names defined by this program. It has no place for text of users, so a
 * compromised process cannot write such text either. Contract section 1.6.
 */

export interface ChatAuditEvent {
  readonly user: number | null
  readonly address: string
  readonly method: string
  /** The declared path below the base path: `/users/{user_id}`. */
  readonly path: string
  readonly result: number
  /** Ids in the path, ids of created objects, and an assigned role. */
  readonly facts: Readonly<Record<string, number>>
  readonly share: AuditShare
}

export const SHARES = ['administrators', 'accounts', 'strangers'] as const

export interface AuditShare {
  /** Share of the audit log. Members and callers without an account cannot use up that of administrators. */
  readonly of: (typeof SHARES)[number]
  /** Account within the share, for a bot its owner; null without an account. */
  readonly account: number | null
}

export const STRANGERS: AuditShare = { of: 'strangers', account: null }

const METHODS: ReadonlySet<unknown> = new Set(['POST', 'PATCH', 'PUT', 'DELETE', 'GET'])
const PATH = /^(?:\/[a-z_]{1,32}|\/\{[a-z_]{1,32}\}){1,8}$/
const ADDRESS = /^[0-9a-fA-F.:]{0,45}$/
const FACT_NAME = /^[a-z_]{1,32}$/
const FACTS_MAX = 8

/** Null for an invalid event. */
export function readChatAuditEvent(value: unknown): ChatAuditEvent | null {
  if (typeof value !== 'object' || value === null) return null
  const { user, address, method, path, result, facts, share } = value as Record<string, unknown>
  const isRight =
    (user === null || isNumber(user)) &&
    typeof address === 'string' &&
    ADDRESS.test(address) &&
    METHODS.has(method) &&
    typeof path === 'string' &&
    PATH.test(path) &&
    isNumber(result) &&
    result >= 200 &&
    result < 600
  const known = isRight ? readFacts(facts) : null
  const taken = readShare(share)
  return known && taken && ({ user, address, method, path, result, facts: known, share: taken } as ChatAuditEvent)
}

function readShare(value: unknown): AuditShare | null {
  if (typeof value !== 'object' || value === null) return null
  const { of, account } = value as Record<string, unknown>
  const isRight = SHARES.some((known) => known === of) && (account === null || isNumber(account))
  return isRight ? ({ of, account } as AuditShare) : null
}

function readFacts(value: unknown): Record<string, number> | null {
  if (typeof value !== 'object' || value === null) return null
  const entries = Object.entries(value)
  const isRight = entries.length <= FACTS_MAX && entries.every(([name, fact]) => FACT_NAME.test(name) && isNumber(fact))
  return isRight ? (Object.fromEntries(entries) as Record<string, number>) : null
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0
