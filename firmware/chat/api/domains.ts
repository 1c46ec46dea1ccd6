/** Domains that email addresses of accounts may have. Contract section 3.7, rows E110 to E113; 11.7 for the two paths. */

import { boolean, text } from '../pipeline/parameters.ts'
import { addDomain, changeDomain, domainObjects, removeDomain } from '../realm/organization/settings/domains.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const ALL = { path: '/realm/domains', who: 'owner' } as const
const ONE = { path: '/realm/domains/:domain', who: 'owner', segments: { domain: text() } } as const

export const domainDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/realm/domains',
    who: 'account',
    handle: ({ realm }) => ({ domains: domainObjects(realm) }),
  }),
  declare({
    method: 'POST',
    ...ALL,
    audit: {},
    parameters: { domain: text(), allow_subdomains: boolean() },
    handle: ({ realm, input }) => ({ new_domain: addDomain(realm, input.domain, input.allow_subdomains) }),
  }),
  declare({
    method: 'PATCH',
    ...ONE,
    audit: {},
    parameters: { allow_subdomains: boolean() },
    handle: ({ realm, path, input }) => {
      changeDomain(realm, path.domain, input.allow_subdomains)
      return {}
    },
  }),
  declare({
    method: 'PATCH',
    ...ALL,
    audit: {},
    parameters: { domain: text(), allow_subdomains: boolean() },
    handle: ({ realm, input }) => {
      changeDomain(realm, input.domain, input.allow_subdomains)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    ...ONE,
    audit: {},
    handle: ({ realm, path }) => {
      removeDomain(realm, path.domain)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    ...ALL,
    audit: {},
    parameters: { domain: text() },
    handle: ({ realm, input }) => {
      removeDomain(realm, input.domain)
      return {}
    },
  }),
]
