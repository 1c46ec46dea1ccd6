/** Maps the path and method of a request to an endpoint. */

import { createRoutes, type Match } from '../routes.ts'
import { type Endpoint, endpointName } from './endpoint.ts'

export type Resource<E> = Map<string, E>

/** Returns the resources that a path may mean, best match first; empty if no endpoint has the path. */
export type EndpointTable<E> = (path: string) => Match<Resource<E>>[]

/** `lists`: endpoints below a base path. Throws if two have the same method and path. */
export function createEndpointTable<E extends Endpoint>(
  ...lists: readonly (readonly [base: string, endpoints: readonly E[]])[]
): EndpointTable<E> {
  const routes = createRoutes<Resource<E>>()
  for (const [base, endpoints] of lists)
    for (const endpoint of endpoints) {
      const resource = routes.at(base + endpoint.path, () => new Map())
      if (resource.has(endpoint.method)) throw new Error(`Declared twice: ${endpointName(endpoint)}`)
      resource.set(endpoint.method, endpoint)
    }
  return routes.match
}

/** Splits a request target into path and query, both as sent. RFC 9112 section 3.2.1. */
export function splitTarget(target: string): [path: string, query: string] {
  const end = target.indexOf('?')
  return end === -1 ? [target, ''] : [target.slice(0, end), target.slice(end + 1)]
}

export interface Found<E> extends Omit<Match<never>, 'value'> {
  endpoint: E
}

/** Returns the best match that offers the method. GET includes HEAD (RFC 9110 section 9.3.2). */
export function endpointOf<E>(matches: readonly Match<Resource<E>>[], method: string): Found<E> | undefined {
  const offered = method === 'HEAD' ? 'GET' : method
  for (const { value, params, malformed } of matches) {
    const endpoint = value.get(offered)
    if (endpoint !== undefined) return { endpoint, params, malformed }
  }
  return undefined
}

export function allowedMethods<E>(matches: readonly Match<Resource<E>>[]): string[] {
  const methods = new Set(matches.flatMap(({ value }) => [...value.keys()]))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}
