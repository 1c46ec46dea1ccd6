/** What the appliance's administrator sets of the organization and does for it, without an account in it. Design 2. */

import { CofferError } from '../../base/error.ts'
import { ChatError } from '../error.ts'
import type { OperatorSettings } from '../link.ts'
import { revokeKeys } from './keys.ts'
import type { Passwords } from './passwords.ts'
import type { Realm } from './realm.ts'
import { ROLES } from './roles.ts'
import { organizationOf } from './state.ts'

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

/** A new password for an owner who has forgotten his: every key of the account is revoked. Throws `notFound`. */
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
    turn.afterwards(() => realm.events.dropQueuesOf(user.id))
  })
}
