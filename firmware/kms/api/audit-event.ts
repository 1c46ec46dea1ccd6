/** Builds audit records of requests. Contract section 7.6. */

import type { AuditEvent, AuditLineKind } from '../../audit/chain.ts'
import { USER_ID_PATTERN } from '../domain/identifiers.ts'
import { auditKind, isRefused, type KmsAttempt } from '../pipeline/auditor.ts'
import type { Declaration } from '../pipeline/endpoint.ts'
import type { Services } from './services.ts'

type Audited = KmsAttempt<Services> & { endpoint: Declaration<Services> }

/** Uses nothing of the query, and of the body only the `facts` of the declaration. */
export function auditEvent(attempt: Audited, status: number, time: string): AuditEvent {
  const { endpoint: declaration, caller, claimed = '', address, params = {}, request, result } = attempt
  const { path } = declaration
  const isTransit = path.startsWith('/v1/transit/')
  const { id: ownId, name, ...others } = facts(params)
  const ownKey = isTransit ? name : ownId
  const named = isTransit || name === undefined ? others : { name, ...others }
  const { key: statedKey, ...stated } = statedFacts(declaration, request)
  const made = madeBy(result)
  const isKeys = isTransit || path.startsWith('/keys')
  const key = isKeys ? (ownKey ?? statedKey ?? made ?? '') : ''
  const accessKey = attempt.token?.accessKey
  const more: Record<string, string> = { ...named, ...stated, ...(accessKey != null && { accessKey }) }
  if (made !== undefined && made !== key && !Object.values(more).includes(made)) more.made = made
  return {
    time,
    user: caller?.userId ?? claimed,
    address,
    action: actionOf(declaration),
    key,
    namespace: caller?.namespace ?? '',
    result: status,
    ...(Object.keys(more).length > 0 && { facts: more }),
  }
}

/** Method and path, as in the API documents. */
function actionOf(declaration: Declaration<Services>): string {
  const { method, path } = declaration
  const known = actions.get(declaration)
  if (known !== undefined) return known
  const action = `${method} ${path.replace(/:(\w+)/g, '{$1}')}`
  actions.set(declaration, action)
  return action
}

const actions = new WeakMap<Declaration<Services>, string>()

/**
 * Selects the ring of a record. Requests that were refused or had no effect are never a `change`. Requests that ended before the key was
 * used (missing key, full log, invalid body) are not a `use`.
 */
export function kindOf({ endpoint, request, isRefusal }: Audited, status: number): AuditLineKind {
  const kind = auditKind(endpoint)
  if (kind === 'use' && request !== undefined && !isRefusal && !isRefused(status)) return 'use'
  return kind === 'change' && status < 300 ? 'change' : 'refusal'
}

/** Empty if they cannot be made: the line is written all the same, since the request may have changed something. */
function statedFacts({ facts: factsOf }: Declaration<Services>, request: Audited['request']): Record<string, string> {
  try {
    return facts(request === undefined ? {} : (factsOf?.(request) ?? {}))
  } catch {
    return {}
  }
}

/** Keeps only IDs and plain words, because the parameters of a refused caller are unchecked. */
function facts(values: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const plain = Object.entries(values).filter(([, value]) => value !== undefined && FACT.test(value))
  return Object.fromEntries(plain) as Record<string, string>
}

const FACT = new RegExp(`${USER_ID_PATTERN.source}|^[A-Za-z0-9_.:, -]{1,128}$`)

function madeBy(result: KmsAttempt<Services>['result']): string | undefined {
  if (result === undefined) return undefined
  if ('json' in result && typeof result.json === 'object' && result.json !== null && 'id' in result.json)
    return String(result.json.id)
  return 'location' in result ? MADE.exec(result.location ?? '')?.[1] : undefined
}

const MADE = /^\/(?:keys|users)\/([^/]+)$/
