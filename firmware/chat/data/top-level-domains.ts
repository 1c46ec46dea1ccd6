/** Top-level domains that turn a bare `name.example` into a link: IANA's list without those that are also file extensions. */

import data from './top-level-domains.json' with { type: 'json' }

const domains = new Set(data.domains.split(' '))

export function isTopLevelDomain(label: string): boolean {
  return domains.has(label)
}
