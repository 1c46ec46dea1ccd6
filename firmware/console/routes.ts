/** Routes are in the fragment of the address, which browsers neither send nor put into a referer: `#/keys/web-key?tab=use`. */

import { signal } from '@preact/signals'

interface Route {
  /** Decoded segments, such as `['keys', 'web-key']`; empty for the first view. */
  readonly path: readonly string[]
  readonly query: URLSearchParams
}

export const route = signal<Route>(readRoute(globalThis.location?.hash ?? ''))

/** Calls `changed` after the user or the page has changed the path. */
export function watchRoute(changed: () => void): void {
  addEventListener('hashchange', () => {
    const before = route.value.path.join('/')
    route.value = readRoute(location.hash)
    if (route.value.path.join('/') !== before) changed()
  })
}

export function readRoute(fragment: string): Route {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?', 2)
  return { path: path.split('/').filter(Boolean).map(decoded), query: new URLSearchParams(query) }
}

/** Address for a link: `to('keys', 'a b')` is `#/keys/a%20b`. */
export const to = (...path: string[]): string => `#/${path.map(encodeURIComponent).join('/')}`

export const go = (...path: string[]): void => {
  location.hash = to(...path)
}

/** Stores choices in the address without adding to the history. Omits empty values. */
export function keepQuery(values: Readonly<Record<string, string>>): void {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value !== ''))
  const text = query.size === 0 ? '' : `?${query}`
  history.replaceState(null, '', to(...route.value.path) + text)
  route.value = { ...route.value, query }
}

/** Decodes a segment. An address typed by hand may be malformed: then returns it unchanged. */
function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
