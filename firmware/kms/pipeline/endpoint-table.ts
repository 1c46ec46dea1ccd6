/** Which endpoints a path means: those of the declarations, by method, as far as they are offered now. */

import { CofferError } from '../../base/error.ts'
import type { ApplianceState } from '../../base/states.ts'
import { createRoutes, type Match } from '../../http/routes.ts'
import { BASE_PATH, type Declaration } from './endpoint.ts'

interface EndpointTableOptions<S> {
  declarations: readonly Declaration<S>[]
  /** With full paths. */
  others?: readonly Declaration<S>[]
  services: S
}

/** The endpoints of one path, by method. */
export type Resource<S> = Map<string, Declaration<S>>

/** Throws `notFound` for a path that no endpoint has. */
export function createEndpointTable<S>(options: EndpointTableOptions<S>): (path: string) => Match<Resource<S>>[] {
  const { declarations, others = [], services } = options
  const routes = createRoutes<Resource<S>>()
  const addAt = (path: string, declaration: Declaration<S>) =>
    add(
      routes.at(path, () => new Map()),
      declaration,
    )
  for (const declaration of declarations) addAt(BASE_PATH + declaration.path, declaration)
  for (const declaration of others) addAt(declaration.path, declaration)

  const isOffered = ({ value }: Match<Resource<S>>): boolean =>
    value.values().some((declaration) => declaration.isOffered?.(services) ?? true)

  return (path) => {
    const matches = routes.match(path).filter(isOffered)
    if (matches.length === 0) throw new CofferError('notFound', 'No such path')
    return matches
  }
}

function add<S>(resource: Resource<S>, declaration: Declaration<S>): void {
  if (resource.has(declaration.method)) throw new Error(`Declared twice: ${declaration.method} ${declaration.path}`)
  resource.set(declaration.method, declaration)
}

/**
 * Check 2. The endpoint is that of path and method. For a method the path does not offer, the path is available when any
 * endpoint on it is: so PATCH gets 412 where nothing answers now, and 501 where something does.
 */
export function isAvailable<S>(
  matches: readonly Match<Resource<S>>[],
  endpoint: Declaration<S> | undefined,
  state: ApplianceState,
): boolean {
  if (endpoint !== undefined) return endpoint.states.includes(state)
  return matches.some((match) => match.value.values().some((other) => other.states.includes(state)))
}

export function allowed<S>(matches: readonly Match<Resource<S>>[]): string[] {
  const methods = new Set(matches.flatMap((match) => [...match.value.keys()]))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}
