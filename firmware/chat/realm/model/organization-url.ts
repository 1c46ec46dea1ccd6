/** Where the organization is, for links. */

import type { Realm } from './realm.ts'
import type { Organization, User } from './records.ts'
import { organizationOf } from './state.ts'

/** Without a slash at its end. Until somebody has set it, the host that the client asked. */
export const urlOf = ({ url }: Organization, host: string | undefined): string =>
  url === '' ? `https://${host ?? 'localhost'}` : url

/** As the clients of this account were told it; '' where that is not known. */
export function urlFor(realm: Realm, { id }: Pick<User, 'id'>): string {
  const organization = organizationOf(realm.state)
  const host = realm.hosts.get(id)
  return organization.url === '' && host === undefined ? '' : urlOf(organization, host)
}

/** A name or an address, and a port (RFC 9110 section 7.2). */
const HOST = /^(?:[\w.-]{1,253}|\[[\da-f:.]{2,45}\])(?::\d{1,5})?$/i

/** By which host the account asks: what its clients are told until an address is set. */
export function noteHost({ hosts }: Realm, { id }: User, host: string | undefined): void {
  if (host !== undefined && HOST.test(host)) hosts.set(id, host)
}
