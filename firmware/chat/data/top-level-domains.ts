/** Top-level domains that make a bare `name.example` a link: IANA's, without those that are endings of files. */

import data from './top-level-domains.json' with { type: 'json' }

const domains = new Set(data.domains.split(' '))

export function isTopLevelDomain(label: string): boolean {
  return domains.has(label)
}
