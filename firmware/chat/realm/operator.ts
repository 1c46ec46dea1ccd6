/** What the appliance's administrator sets of the organization and does for it, without an account in it. Design 2. */

import { CofferError } from '../../base/error.ts'
import { ChatError } from '../error.ts'
import type { OperatorSettings } from '../link.ts'
import { silently } from './channels/notices.ts'
import { revokeKeys } from './keys.ts'
import { notificationBot } from './messages/notices.ts'
import { ensureConversation } from './messages/places.ts'
import { deliverNotice } from './messages/send.ts'
import type { Passwords } from './passwords.ts'
import type { Realm } from './realm.ts'
import type { User } from './records.ts'
import { ROLES } from './roles.ts'
import { organizationOf } from './state.ts'
import type { Turn } from './turn.ts'

export function operatorSettings({ state }: Realm): OperatorSettings {
  const { url, operator } = organizationOf(state)
  return { url, ...operator }
}

/** Clients hear of what they show, and everybody is told in words who may read his messages from now on. */
export function changeOperatorSettings(realm: Realm, changes: Partial<OperatorSettings>): void {
  realm.change((turn) => {
    const organization = organizationOf(realm.state)
    const before = organization.operator
    const { url, ...operator } = { ...operatorSettings(realm), ...changes }
    turn.put('organization', { ...organization, url, operator })
    if (operator.uploadQuotaMib !== before.uploadQuotaMib) publishQuota(turn, operator.uploadQuotaMib)
    if (operator.ownerFullContentAccess !== before.ownerFullContentAccess)
      announceAccess(realm, turn, operator.ownerFullContentAccess)
  })
}

/** Contract V23. */
function publishQuota(turn: Turn, uploadQuotaMib: number | null): void {
  const body = { op: 'update_dict', property: 'default', data: { upload_quota_mib: uploadQuotaMib } }
  turn.publish({ type: 'realm', to: 'everyone', make: () => body })
}

/** Contract V22 and section 7.1. */
function announceAccess(realm: Realm, turn: Turn, isGiven: boolean): void {
  const body = { op: 'update', property: 'owner_full_content_access', value: isGiven }
  turn.publish({ type: 'realm', to: 'everyone', make: () => body })
  const text = isGiven
    ? 'The administrator of the server has let the owners of this organization read all of its channels, also the private ones that they are not in. Direct messages are for those who take part in them, as before.'
    : 'The administrator of the server has set that the owners of this organization read no private channels that they are not in.'
  tellPeople(realm, turn, text)
}

/**
 * A new password for an owner who has forgotten his: every key of the account is revoked, and every owner is told, since
 * whoever administers the appliance can get into any owner's account that way. Throws `notFound`.
 */
export async function recoverOwner(realm: Realm, passwords: Passwords, email: string, password: string): Promise<void> {
  const find = () => {
    const user = realm.state.userByDeliveryEmail.get(email.toLowerCase())
    if (user === undefined || user.role !== ROLES.owner || !user.isActive || user.bot !== null)
      throw new CofferError('notFound', 'There is no such owner')
    return user
  }
  const digest = await passwords.digest(find().id, password)
  realm.change((turn) => {
    const user = find()
    if (user.id !== digest.userId) throw new ChatError('BAD_REQUEST', 'The account has changed, try again')
    turn.put('password', digest)
    revokeKeys(realm, turn, user)
    const text = `The administrator of the server has set a new password for ${silently(user)}, an owner.`
    tellPeople(realm, turn, text, ({ role }) => role === ROLES.owner)
    turn.afterwards(() => realm.events.dropQueuesOf(user.id))
  })
}

/** In a direct message of the service to each person that `isMeant`. */
function tellPeople(realm: Realm, turn: Turn, text: string, isMeant: (user: User) => boolean = () => true): void {
  const bot = notificationBot(realm)
  for (const user of [...realm.state.user.all()].filter(({ isActive, bot }) => isActive && bot === null)) {
    if (!isMeant(user)) continue
    const conversation = ensureConversation(realm, turn, [bot.id, user.id])
    deliverNotice(realm, turn, bot, { kind: 'conversation', conversation }, text)
  }
}
