/** Events about an account to other users. Contract section 4.4, V33 and V34. */

import type { Realm } from '../model/realm.ts'
import type { User } from '../model/records.ts'
import type { Transaction } from '../model/transaction.ts'
import { audiencesOf, seesAddress } from '../permissions/user-access.ts'
import { avatarUrl } from './avatar-url.ts'
import { publishBotUpdate } from './bot-events.ts'
import { placeholderObject, userObject } from './user-view.ts'

const idsOf = (users: readonly User[]): number[] => users.map(({ id }) => id)

export function publishPerson(
  realm: Realm,
  tx: Transaction,
  user: User,
  person: Readonly<Record<string, unknown>>,
  cause?: 'first_sign_in',
): void {
  tx.publish({
    type: 'realm_user',
    to: idsOf(audiencesOf(realm, user).seeing),
    make: () => ({ op: 'update', person: { user_id: user.id, ...person } }),
    ...(cause !== undefined && { cause }),
  })
}

/**
 * To all users who may see the account, with or without the real address. Other clients get a placeholder if they need a user for each id.
 */
export function publishNewUser(realm: Realm, tx: Transaction, user: User): void {
  const { seeing, others } = audiencesOf(realm, user)
  for (const sees of [true, false]) {
    tx.publish({
      type: 'realm_user',
      to: idsOf(seeing.filter((viewer) => seesAddress(viewer, user) === sees)),
      make: ({ clientGravatar }) => ({
        op: 'add',
        person: userObject(realm, user, sees, { clientGravatar, includeProfileData: true }),
      }),
    })
  }
  tx.publish({
    type: 'realm_user',
    to: idsOf(others),
    make: ({ can }) => (can.user_list_incomplete ? null : { op: 'add', person: placeholderObject(realm, user) }),
  })
}

export function publishAvatar(realm: Realm, tx: Transaction, user: User): void {
  const { seeing } = audiencesOf(realm, user)
  for (const sees of [true, false]) {
    tx.publish({
      type: 'realm_user',
      to: idsOf(seeing.filter((viewer) => seesAddress(viewer, user) === sees)),
      make: (shape) => {
        const clientGravatar = shape.clientGravatar && sees
        return {
          op: 'update',
          person: {
            user_id: user.id,
            avatar_source: user.avatarSource,
            avatar_url: avatarUrl(realm, user, { clientGravatar }),
            avatar_url_medium: avatarUrl(realm, user, { clientGravatar, medium: true }),
            avatar_version: user.avatarVersion,
          },
        }
      },
    })
  }
}

/** After an address or its visibility changed. Sends the real address to each viewer for whom it changed. */
export function publishAddresses(realm: Realm, tx: Transaction, before: User, after: User): void {
  if (before.email !== after.email) {
    publishPerson(realm, tx, after, { new_email: after.email })
    if (after.bot !== null) publishBotUpdate(realm, tx, after, { email: after.email }, { cause: 'email' })
  }
  const shown = (viewer: User, user: User) => (seesAddress(viewer, user) ? user.deliveryEmail : null)
  const changed = audiencesOf(realm, after).seeing.filter((viewer) => shown(viewer, before) !== shown(viewer, after))
  for (const sees of [true, false]) {
    tx.publish({
      type: 'realm_user',
      to: idsOf(changed.filter((viewer) => seesAddress(viewer, after) === sees)),
      make: () => ({
        op: 'update',
        person: { user_id: after.id, delivery_email: sees ? after.deliveryEmail : null },
      }),
    })
  }
}
