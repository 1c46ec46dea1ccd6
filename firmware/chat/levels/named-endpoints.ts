/** Checks that all endpoints named by level changes exist. A change of an unknown one would silently have no effect. */

import { endpointName } from '../../http/endpoint/endpoint.ts'
import { DECLARATIONS } from '../api/declarations.ts'
import type { LevelChange, Rule } from './rules.ts'

export function expectEndpoints(changes: readonly LevelChange[]): void {
  const known = new Set(DECLARATIONS.map(endpointName))
  for (const { level, rules } of changes)
    for (const name of rules.flatMap(endpointsIn))
      if (!known.has(name)) throw new Error(`Level ${level} changes an endpoint that does not exist: ${name}`)
}

function endpointsIn(rule: Rule): readonly string[] {
  switch (rule.kind) {
    case 'edit':
      return rule.surface.flatMap(({ answer }) => answer ?? [])
    case 'event':
      return []
    case 'request':
    case 'endpoint':
      return rule.endpoints
    case 'other':
      return [rule.endpoint, rule.other]
    case 'code':
      return [rule.endpoint]
  }
}
