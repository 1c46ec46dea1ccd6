/** The operator's settings and actions for the organization, which need no account in it. */

import { CofferError } from '../../../../base/error.ts'
import { wipe } from '../../../../base/secret.ts'
import { seal, unseal } from '../../../../crypto/seal.ts'
import { ChatError } from '../../../base/error.ts'
import type { OperatorChanges, OperatorSettings } from '../../../link/link.ts'
import { noticePerson } from '../../messages/notices.ts'
import { uploadQuotaMib } from '../../model/disk-room.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { Operator, User } from '../../model/records.ts'
import { ROLES } from '../../model/roles.ts'
import { organizationOf } from '../../model/state.ts'
import type { Transaction } from '../../model/transaction.ts'
import { revokeKeys } from '../../objects/keys.ts'
import { hideQueuedPictures } from '../../objects/rendering.ts'
import { setPassword } from '../../objects/users.ts'
import { silently } from '../channels/notices.ts'
import type { Passwords } from '../users/passwords.ts'
import { type Claims, checkJwtKey, readToken } from './jwt.ts'

export function operatorSettings({ state }: Realm): OperatorSettings {
  const { url, operator } = organizationOf(state)
  const { ownerFullContentAccess, uploadQuotaMib, outgoingHosts = [], externalPreviews = false, jwt } = operator
  const shown = { url, ownerFullContentAccess, uploadQuotaMib, outgoingHosts, externalPreviews }
  return { ...shown, jwt: jwt ? { algorithm: jwt.algorithm } : null }
}

/** Returns null if the token is invalid or no key is set. Throws `storage` if the stored key cannot be opened. */
export function claimsOf(realm: Realm, token: string): Claims | null {
  const { url, operator } = organizationOf(realm.state)
  if (!operator.jwt) return null
  const key = unseal(realm.secretsKey, Buffer.from(operator.jwt.sealed, 'base64'))
  if (key === null) throw new CofferError('storage', 'The key that tokens are checked with cannot be opened')
  try {
    return readToken(token, { algorithm: operator.jwt.algorithm, key, nowS: nowOf(realm), audience: url })
  } finally {
    wipe(key)
  }
}

/**
 * Publishes the changes and sends direct messages about changes of who may read messages or sign in. A new URL drops all event queues: no
 * client takes a new URL from an event. Throws `invalid`.
 */
export function changeOperatorSettings(realm: Realm, changes: OperatorChanges): void {
  const { url: newUrl, jwt, ...others } = changes
  if (jwt) checkJwtKey(jwt.algorithm, jwt.key)
  realm.transaction((tx) => {
    const organization = organizationOf(realm.state)
    const before = organization.operator
    const url = newUrl ?? organization.url
    const operator = { ...before, ...others, ...(jwt !== undefined && { jwt: jwt && sealed(realm, jwt) }) }
    tx.put('organization', { ...organization, url, operator })
    if (url !== organization.url) tx.onCommit(() => dropAllQueues(realm))
    if (operator.uploadQuotaMib !== before.uploadQuotaMib) publishQuota(tx, uploadQuotaMib(realm))
    if (operator.ownerFullContentAccess !== before.ownerFullContentAccess)
      announceAccess(realm, tx, operator.ownerFullContentAccess)
    if ((operator.externalPreviews ?? false) !== (before.externalPreviews ?? false))
      changePreviews(realm, tx, operator.externalPreviews === true)
    if (jwt || (jwt === null && before.jwt)) announceTokens(realm, tx, jwt !== null)
  })
}

function sealed(realm: Realm, { algorithm, key }: NonNullable<OperatorChanges['jwt']>): NonNullable<Operator['jwt']> {
  return { algorithm, sealed: Buffer.from(seal(realm.secretsKey, key, realm.random)).toString('base64') }
}

function dropAllQueues({ state, events }: Realm): void {
  for (const { id } of state.user.all()) events.dropQueuesOf(id)
}

/** Contract V23. */
function publishQuota(tx: Transaction, mebibytes: number): void {
  const body = { op: 'update_dict', property: 'default', data: { upload_quota_mib: mebibytes } }
  tx.publish({ type: 'realm', to: 'everyone', make: () => body })
}

/** Contract V22 and section 7.1. */
function announceAccess(realm: Realm, tx: Transaction, isGiven: boolean): void {
  const body = { op: 'update', property: 'owner_full_content_access', value: isGiven }
  tx.publish({ type: 'realm', to: 'everyone', make: () => body })
  const text = isGiven
    ? 'The administrator of the server has let the owners of this organization read all of its channels, also the private ones that they are not in. Direct messages are for those who take part in them, as before.'
    : 'The administrator of the server has set that the owners of this organization read no private channels that they are not in.'
  tellPeople(realm, tx, text)
}

/** Contract section 6.3. */
function changePreviews(realm: Realm, tx: Transaction, areShown: boolean): void {
  tx.onCommit(() => hideQueuedPictures(realm))
  const text = areShown
    ? 'The administrator of the server has set that new messages show pictures and videos of other hosts. Such a host can learn who reads a message, when, and from which address.'
    : 'The administrator of the server has set that new messages show no pictures and videos of other hosts: links to them stay links.'
  tellPeople(realm, tx, text)
}

/** Users must know: the owner of the key can sign in as any of them. */
function announceTokens(realm: Realm, tx: Transaction, areTaken: boolean): void {
  const text = areTaken
    ? 'The administrator of the server has set a key for tokens that sign people in. The issuer of these tokens can sign in as anybody in this organization.'
    : 'The administrator of the server has set that tokens sign nobody in any more.'
  tellPeople(realm, tx, text)
}

/**
 * Sets a new password for an owner who has forgotten the old one and reactivates a deactivated organization. Revokes every key of the
 * account and notifies all owners, because the operator can take over an owner's account this way. Throws `notFound`.
 */
export async function recoverOwner(realm: Realm, passwords: Passwords, email: string, password: string): Promise<void> {
  const find = () => {
    const user = realm.state.userByDeliveryEmail.get(email.toLowerCase())
    if (user === undefined || user.role !== ROLES.owner || !user.isActive || user.bot !== null)
      throw new CofferError('notFound', 'There is no such owner')
    return user
  }
  const digest = await passwords.digest(find().id, password)
  realm.transaction((tx) => {
    const user = find()
    if (user.id !== digest.userId) throw new ChatError('BAD_REQUEST', 'The account has changed, try again')
    setPassword(tx, digest)
    revokeKeys(realm, tx, user)
    const organization = organizationOf(realm.state)
    if (organization.isDeactivated) tx.put('organization', { ...organization, isDeactivated: false })
    const text = `The administrator of the server has set a new password for ${silently(user)}, an owner.`
    tellPeople(realm, tx, text, ({ role }) => role === ROLES.owner)
    tx.onCommit(() => {
      realm.events.dropQueuesOf(user.id)
      passwords.forgive([user.email, user.deliveryEmail]) // the owner can sign in without waiting for the login limiter
    })
  })
}

function tellPeople(realm: Realm, tx: Transaction, text: string, isMeant: (user: User) => boolean = () => true): void {
  for (const user of [...realm.state.user.all()].filter(({ isActive, bot }) => isActive && bot === null)) {
    if (!isMeant(user)) continue
    noticePerson(realm, tx, user, text)
  }
}
