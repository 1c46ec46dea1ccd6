/** Addresses of accounts: the real one and the one for the API. Contract section 2.2. */

import { badRequest } from '../../base/error.ts'
import { userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { Organization, User } from '../model/records.ts'
import { organizationOf } from '../model/state.ts'
import { addressKey } from '../model/user-names.ts'

/** A name that no network resolves (RFC 2606): what an organisation without a URL, or at a bare address, calls its host. */
const NO_HOST = 'coffer.invalid'

/** What bots' and placeholders' addresses end in. */
export function addressHost({ url }: Organization): string {
  const host = URL.parse(url)?.hostname ?? ''
  return /^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/i.test(host) ? host : NO_HOST
}

/** Hosts that the address of a bot may end in: the organization's, also as requested, with and without the port. */
export function ownHosts({ state }: Realm, asked: string | undefined): string[] {
  const { url } = organizationOf(state)
  const urls = [URL.parse(url), asked === undefined ? null : URL.parse(`https://${asked}`)]
  return urls.filter((url) => url !== null).flatMap(({ host, hostname }) => [host, hostname])
}

/** Stands for an address that not everybody may see. */
export const placeholderAddress = (organization: Organization, userId: number): string =>
  `user${userId}@${addressHost(organization)}`

/** Reserved: a placeholder, or the address of an account whose profile was deleted. */
export function isReserved(organization: Organization, email: string): boolean {
  const [, host] = /^(?:deleted-)?user\d+@(.+)$/.exec(addressKey(email)) ?? []
  return host === NO_HOST || host === addressHost(organization).toLowerCase()
}

/** The address for the API: the real one if all may see it. One that was taken before it was reserved would stand for another account. */
export function apiAddress(organization: Organization, user: User): string {
  if (user.bot !== null || user.isDeleted) return user.deliveryEmail
  return userSetting(user, 'email_address_visibility') === 1 && !isReserved(organization, user.deliveryEmail)
    ? user.deliveryEmail
    : placeholderAddress(organization, user.id)
}

/** Throws `BAD_REQUEST` where an account has the address, or looks as if it had. */
export function expectFreeAddress(realm: Realm, email: string, ownId: number | null): void {
  if (isReserved(organizationOf(realm.state), email)) throw badRequest(`Email '${email}' is reserved`)
  const { userByDeliveryEmail, userByEmail } = realm.state
  for (const index of [userByDeliveryEmail, userByEmail]) {
    const user = index.get(addressKey(email))
    if (user !== undefined && user.id !== ownId) throw badRequest(`Email '${email}' already in use`)
  }
}

/** Whose address this is, as far as `viewer` may know: the one for the API, or a real one that he sees. */
export function findByAddress(realm: Realm, email: string, sees: (user: User) => boolean): User | undefined {
  const key = addressKey(email.trim())
  const known = realm.state.userByEmail.get(key)
  if (known !== undefined) return known
  const real = realm.state.userByDeliveryEmail.get(key)
  return real !== undefined && sees(real) ? real : undefined
}
