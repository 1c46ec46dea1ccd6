/** Addresses of other hosts in what a client fetches by itself. Contract section 6.3. */

import assert from 'node:assert/strict'

/** Reads attributes that a browser fetches without a click, and `url()` of styles. Relative addresses are own ones. */
export function foreignFetches(html: string, ownHosts: readonly string[] = []): string[] {
  const tags = html.matchAll(/<[a-z][^>]*>/gi)
  const addresses = [...tags].flatMap(([tag]) => [
    ...[...tag.matchAll(/\s(?:src|poster|data|background)="([^"]*)"/gi)].map(([, address]) => address!),
    ...[...tag.matchAll(/\ssrcset="([^"]*)"/gi)].flatMap(([, set]) => set!.split(',').map((one) => one.trim())),
    ...[...tag.matchAll(/url\(['"]?([^'")]*)/gi)].map(([, address]) => address!),
    ...[...tag.matchAll(/^<(?:link|use|image)\s.*?href="([^"]*)"/gis)].map(([, address]) => address!),
  ])
  return addresses.filter((address) => isForeign(address, ownHosts))
}

/** `path: address` of each address of another host in an answer or event, but for members whose name is in `links`. */
export function foreignAddresses(value: unknown, ownHosts: readonly string[], links: ReadonlySet<string>): string[] {
  const found: string[] = []
  const walk = (value: unknown, path: string): void => {
    if (typeof value === 'string') {
      if (!/\s/.test(value) && isForeign(value, ownHosts)) found.push(`${path}: ${value}`)
      found.push(...foreignFetches(value, ownHosts).map((address) => `${path}: ${address}`))
    } else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) if (!links.has(name)) walk(member, `${path}.${name}`)
    }
  }
  walk(value, '')
  return found
}

function isForeign(address: string, ownHosts: readonly string[]): boolean {
  if (!/^\s*(?:[a-z][a-z0-9+.-]*:)?\/\//i.test(address)) return false
  const url = URL.parse(address, 'https://own.invalid')
  return url === null || !ownHosts.includes(url.host)
}

// A search that finds nothing must not pass for a page without such addresses.
assert.deepEqual(foreignFetches('<a href="https://a.example/"><img alt="x" src="https://a.example/b.png"></a>'), [
  'https://a.example/b.png',
])
assert.deepEqual(foreignFetches('<video poster="//a.example/p" src="/own"></video>', ['b.example']), ['//a.example/p'])
