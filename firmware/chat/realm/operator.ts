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
import { ROLES } from './roles.ts'
import { organizationOf } from './state.ts'
import type { Turn } from './turn.ts'

export function operatorSettings({ state }: Realm): OperatorSettings {
  const { url, operator } = organizationOf(state)
  return { url, ...operator }
}

export function changeOperatorSettings(realm: Realm, changes: Partial<OperatorSettings>): void {
  realm.change((turn) => {
    const organization = organizationOf(realm.state)
    const { url, ...operator } = { ...operatorSettings(realm), ...changes }
    turn.put('organization', { ...organization, url, operator })
  })
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
    tellOwners(realm, turn, `The administrator of the server has set a new password for ${silently(user)}, an owner.`)
    turn.afterwards(() => realm.events.dropQueuesOf(user.id))
  })
}

function tellOwners(realm: Realm, turn: Turn, text: string): void {
  const bot = notificationBot(realm)
  const owners = [...realm.state.user.all()].filter(
    ({ role, isActive, bot }) => role === ROLES.owner && isActive && bot === null,
  )
  for (const { id } of owners) {
    const conversation = ensureConversation(realm, turn, [bot.id, id])
    deliverNotice(realm, turn, bot, { kind: 'conversation', conversation }, text)
  }
}
