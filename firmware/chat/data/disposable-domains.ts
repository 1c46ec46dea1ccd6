/** Domains of addresses that are made for an hour: a list that many keep together, `disposable-email-domains`. */

import { domainToASCII } from 'node:url'
import data from './disposable-domains.json' with { type: 'json' }

const domains = new Set(data.domains.split(' '))

/** Also what is below one of them: whoever has a domain has those, too. */
export function isDisposableDomain(host: string): boolean {
  const labels = domainToASCII(host).split('.')
  return labels.some((_, from) => domains.has(labels.slice(from).join('.')))
}
