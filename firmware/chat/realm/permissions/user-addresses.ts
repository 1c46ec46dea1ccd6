/** Addresses of accounts: the real address and the API address. Contract section 2.2. */

import { badRequest } from '../../base/error.ts'
import { userSetting } from '../model/read-settings.ts'
import type { Realm } from '../model/realm.ts'
import type { Organization, User } from '../model/records.ts'
import { organizationOf } from '../model/state.ts'
import { addressKey } from '../model/user-names.ts'

/** RFC 2606: never resolves. Host of an organization without a URL or with an IP address as host. */
const NO_HOST = 'coffer.invalid'

export function addressHost({ url }: Organization): string {
  const host = URL.parse(url)?.hostname ?? ''
  return /^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/i.test(host) ? host : NO_HOST
}

/** Hosts that the address of a bot may have: the organization's and the requested one, each with and without the port. */
export function ownHosts({ state }: Realm, asked: string | undefined): string[] {
  const { url } = organizationOf(state)
  const urls = [URL.parse(url), asked === undefined ? null : URL.parse(`https://${asked}`)]
  return urls.filter((url) => url !== null).flatMap(({ host, hostname }) => [host, hostname])
}

export const placeholderAddress = (organization: Organization, userId: number): string =>
  `user${userId}@${addressHost(organization)}`

/** True for placeholders and for addresses of accounts whose profile was deleted. */
export function isReserved(organization: Organization, email: string): boolean {
  const [, host] = /^(?:deleted-)?user\d+@(.+)$/.exec(addressKey(email)) ?? []
  return host === NO_HOST || host === addressHost(organization).toLowerCase()
}

/**
 * Returns the real address if everyone may see it. A real address that was taken before it became reserved is hidden: it could be mistaken
 * for another account's placeholder.
 */
export function apiAddress(organization: Organization, user: User): string {
  if (user.bot !== null || user.isDeleted) return user.deliveryEmail
  return userSetting(user, 'email_address_visibility') === 1 && !isReserved(organization, user.deliveryEmail)
    ? user.deliveryEmail
    : placeholderAddress(organization, user.id)
}

/** Throws `BAD_REQUEST` if the address is reserved or another account has it as real or API address. */
export function expectFreeAddress(realm: Realm, email: string, ownId: number | null): void {
  if (isReserved(organizationOf(realm.state), email)) throw badRequest(`Email '${email}' is reserved`)
  const { userByDeliveryEmail, userByEmail } = realm.state
  for (const index of [userByDeliveryEmail, userByEmail]) {
    const user = index.get(addressKey(email))
    if (user !== undefined && user.id !== ownId) throw badRequest(`Email '${email}' already in use`)
  }
}

/** Finds an account by API address, or by real address if `sees` allows it. */
export function findByAddress(realm: Realm, email: string, sees: (user: User) => boolean): User | undefined {
  const key = addressKey(email.trim())
  const known = realm.state.userByEmail.get(key)
  if (known !== undefined) return known
  const real = realm.state.userByDeliveryEmail.get(key)
  return real !== undefined && sees(real) ? real : undefined
}
