import type { Realm } from './realm.ts'
import type { Organization, User } from './records.ts'
import { organizationOf } from './state.ts'

/** Without a trailing slash. Until an administrator sets the URL, it is derived from the `host` header of the request. */
export const urlOf = ({ url }: Organization, host: string | undefined): string =>
  url === '' ? `https://${host ?? 'localhost'}` : url

/** URL as the account's clients last saw it, or '' if unknown. */
export function urlFor(realm: Realm, { id }: Pick<User, 'id'>): string {
  const organization = organizationOf(realm.state)
  const host = realm.hosts.get(id)
  return organization.url === '' && host === undefined ? '' : urlOf(organization, host)
}

/** A host name or address with an optional port (RFC 9110 section 7.2). */
const HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/** Records the `host` header of an account's request, which `urlFor` uses until the URL is set. */
export function noteHost({ hosts }: Realm, { id }: User, host: string | undefined): void {
  if (host !== undefined && HOST.test(host)) hosts.set(id, host)
}
