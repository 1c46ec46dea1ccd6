/** Accepts an invitation: creates the account with its channels, groups and first API key. Contract section 3.8, row E143. */

import { badRequest, notFound } from '../../../base/error.ts'
import { noticePerson } from '../../messages/notices.ts'
import type { Realm } from '../../model/realm.ts'
import type { Channel, Invitation, User } from '../../model/records.ts'
import { atLeast, ROLES } from '../../model/roles.ts'
import { makeKey } from '../../objects/keys.ts'
import { setPassword } from '../../objects/users.ts'
import { canAddSubscribers } from '../../permissions/channel-rights.ts'
import { silently } from '../channels/notices.ts'
import { addPerson, expectFreeName } from './change.ts'
import { enterGroups } from './invitation-groups.ts'
import { findByKey, publishChanged, welcomeTextOf } from './invitations.ts'
import type { Passwords } from './passwords.ts'

/** Throws the same 404 for an unknown, expired and revoked invitation. */
export function expectInvitation(realm: Realm, key: string): Invitation {
  const invitation = findByKey(realm, key)
  if (invitation === undefined) throw notFound('Invitation does not exist')
  return invitation
}

export interface Joining {
  /** Required for an invitation without an address. */
  email: string | undefined
  fullName: string
  password: string
  client: string
}

export async function join(
  realm: Realm,
  passwords: Passwords,
  key: string,
  { email, fullName, password, client }: Joining,
): Promise<{ user: User; apiKey: string }> {
  expectInvitation(realm, key)
  const digest = await passwords.digest(0, password)
  return realm.transaction((tx) => {
    const invitation = expectInvitation(realm, key) // it may have been accepted or revoked meanwhile
    const own = invitation.email ?? email
    if (own === undefined) throw badRequest("Missing 'email' argument")
    expectFreeName(realm, fullName, null)
    const { role } = invitation
    const inviter = realm.state.user.require(invitation.inviterId)
    const welcomeText = welcomeTextOf(inviter, invitation)
    const beginning = { channels: channelsOf(realm, inviter, invitation), ...(welcomeText !== null && { welcomeText }) }
    const isAddressTrusted = invitation.email !== null && atLeast(inviter.role, ROLES.administrator)
    const user = addPerson(realm, tx, { email: own.trim(), fullName, role, isAddressTrusted }, beginning)
    setPassword(tx, { ...digest, userId: user.id })
    enterGroups(realm, tx, user, inviter, invitation.groupIds)
    if (invitation.email !== null) {
      tx.remove('invitation', invitation.id)
      publishChanged(realm, tx, invitation.inviterId)
    }
    if (invitation.notifyInviter)
      noticePerson(realm, tx, inviter, `${silently(user)} accepted your invitation to join.`)
    return { user, apiKey: makeKey(realm, tx, user, client) }
  })
}

/** Skips archived channels and those to which the inviter may no longer add subscribers. */
function channelsOf(realm: Realm, inviter: User, { channelIds, includeDefaults }: Invitation): Channel[] {
  const wanted = new Set(channelIds)
  return [...realm.state.channel.all()].filter(
    (channel) =>
      !channel.isArchived &&
      ((includeDefaults && channel.isDefault) ||
        (wanted.has(channel.id) && canAddSubscribers(realm, inviter, channel))),
  )
}
