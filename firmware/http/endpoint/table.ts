/** From the path and method of a request to an endpoint. */

import { createRoutes, type Match } from '../routes.ts'
import { type Endpoint, endpointName } from './endpoint.ts'

/** The endpoints of one path, by method. */
export type Resource<E> = Map<string, E>

/** Resources that a path may mean, the best match first; none where no endpoint has it. */
export type EndpointTable<E> = (path: string) => Match<Resource<E>>[]

/** `lists`: endpoints below a path. Throws where two have one method and path. */
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

/** The path and the query of a request target, as sent. RFC 9112 section 3.2.1. */
export function splitTarget(target: string): [path: string, query: string] {
  const end = target.indexOf('?')
  return end === -1 ? [target, ''] : [target.slice(0, end), target.slice(end + 1)]
}

export interface Found<E> extends Omit<Match<never>, 'value'> {
  endpoint: E
}

/** The best match that offers the method. What offers GET offers HEAD (RFC 9110 section 9.3.2). */
export function endpointOf<E>(matches: readonly Match<Resource<E>>[], method: string): Found<E> | undefined {
  const offered = method === 'HEAD' ? 'GET' : method
  for (const { value, params, malformed } of matches) {
    const endpoint = value.get(offered)
    if (endpoint !== undefined) return { endpoint, params, malformed }
  }
  return undefined
}

/** For the `allow` header. */
export function allowedMethods<E>(matches: readonly Match<Resource<E>>[]): string[] {
  const methods = new Set(matches.flatMap(({ value }) => [...value.keys()]))
  if (methods.has('GET')) methods.add('HEAD')
  return [...methods].sort()
}
