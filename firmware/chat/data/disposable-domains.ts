/** Domains of disposable email addresses, from the community list `disposable-email-domains`. */

import { domainToASCII } from 'node:url'
import data from './disposable-domains.json' with { type: 'json' }

const domains = new Set(data.domains.split(' '))

/** Also true for subdomains, which belong to the owner of the domain. */
export function isDisposableDomain(host: string): boolean {
  const labels = domainToASCII(host).split('.')
  return labels.some((_, from) => domains.has(labels.slice(from).join('.')))
}
