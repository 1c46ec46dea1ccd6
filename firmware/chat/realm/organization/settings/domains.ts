/** Email domains to which the organization may restrict accounts. Contract sections 2.5 and 11.20, rows E110 to E113, V27. */

import { badRequest } from '../../../base/error.ts'
import { isDisposableDomain } from '../../../data/disposable-domains.ts'
import { realmSetting } from '../../model/read-settings.ts'
import type { Realm } from '../../model/realm.ts'
import type { RealmDomain } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import { changeRealmSettings } from './change.ts'

const CHARACTERS_MAX = 80
const DOMAIN = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)+$/

export const domainObjects = ({ state }: Realm) =>
  [...state.realmDomain.all()].map(domainObject).sort((a, b) => (a.domain < b.domain ? -1 : 1))

const domainObject = ({ domain, allowSubdomains }: RealmDomain) => ({ domain, allow_subdomains: allowSubdomains })

/** Throws `BAD_REQUEST` for an invalid domain and one that already exists. */
export function addDomain(realm: Realm, input: string, allowSubdomains: boolean): [id: number, domain: string] {
  return realm.transaction((tx) => {
    const domain = input.trim().toLowerCase()
    if (domain.length > CHARACTERS_MAX || !DOMAIN.test(domain)) throw badRequest(`Invalid domain: '${domain}'`)
    if (realm.state.realmDomain.has(domain))
      throw badRequest(`The domain ${domain} is already a part of your organization.`)
    const added = { id: tx.nextId('realmDomain'), domain, allowSubdomains }
    tx.put('realmDomain', added)
    const body = { op: 'add', realm_domain: domainObject(added) }
    tx.publish({ type: 'realm_domains', to: 'everyone', make: () => body })
    return [added.id, domain]
  })
}

export function changeDomain(realm: Realm, input: string, allowSubdomains: boolean): void {
  realm.transaction((tx) => {
    const after = { ...find(realm, input), allowSubdomains }
    tx.put('realmDomain', after)
    const body = { op: 'change', realm_domain: domainObject(after) }
    tx.publish({ type: 'realm_domains', to: 'everyone', make: () => body })
  })
}

/** Removing the last domain also lifts the restriction: otherwise no further account could be created. */
export function removeDomain(realm: Realm, input: string): void {
  realm.transaction((tx) => {
    const { domain } = find(realm, input)
    tx.remove('realmDomain', domain)
    if (realm.state.realmDomain.size === 0) changeRealmSettings(realm, tx, { emails_restricted_to_domains: false })
    tx.publish({ type: 'realm_domains', to: 'everyone', make: () => ({ op: 'remove', domain }) })
  })
}

function find({ state }: Realm, input: string): RealmDomain {
  const domain = state.realmDomain.get(input.trim().toLowerCase())
  if (domain === undefined) throw badRequest(`No entry found for domain ${input}.`)
  return domain
}

/** Checks a person's address before an account gets it. Throws `BAD_REQUEST`. */
export function expectAllowedAddress(realm: Realm, email: string): void {
  switch (refusalOf(realm, email)) {
    case 'outside':
      throw badRequest(`Email '${email}' not allowed in this organization`)
    case 'disposable':
      throw badRequest('Disposable email addresses are not allowed in this organization')
  }
}

export function refusalOf(realm: Realm, email: string): 'outside' | 'disposable' | null {
  const organization = organizationOf(realm.state)
  const at = email.lastIndexOf('@')
  const [local, host] = [email.slice(0, at), email.slice(at + 1).toLowerCase()]
  if (!realmSetting(organization, 'emails_restricted_to_domains')) {
    const isRefused = realmSetting(organization, 'disallow_disposable_email_addresses') && isDisposableDomain(host)
    return isRefused ? 'disposable' : null
  }
  const isAllowed = [...realm.state.realmDomain.all()].some(
    ({ domain, allowSubdomains }) => host === domain || (allowSubdomains && host.endsWith(`.${domain}`)),
  )
  // One mailbox has any number of addresses with a plus sign, which would evade the restriction.
  return isAllowed && !local.includes('+') ? null : 'outside'
}
