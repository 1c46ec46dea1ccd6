/** Register sections of accounts: all that the caller can access, and the caller's own. Contract section 4.2. */

import type { User } from '../realm/model/records.ts'
import { atLeast, ROLES } from '../realm/model/roles.ts'
import { avatarUrl } from '../realm/objects/avatar-url.ts'
import { placeholderObject, systemBotObject, userObject } from '../realm/objects/user-view.ts'
import { mayInRealm } from '../realm/permissions/group-rights.ts'
import { accessOf, seesAddress } from '../realm/permissions/user-access.ts'
import type { RegisterSection } from './section.ts'
import { listText, sharedTexts } from './shared-texts.ts'

export const realmUser: RegisterSection = (context) => ({ ...everybody(context), ...oneself(context) })

const everybody: RegisterSection = ({ realm, me, shape }) => {
  const mayAccess = accessOf(realm, me)
  const options = { clientGravatar: shape.clientGravatar, includeProfileData: true }
  const texts = sharedTexts(realm)
  const textOf = (user: User): string => {
    const sees = seesAddress(me, user)
    const form = `user ${sees} ${options.clientGravatar}`
    return texts.of(user, form, () => inList(userObject(realm, user, sees, options)))
  }
  const [active, others, system]: [string[], string[], object[]] = [[], [], []]
  for (const user of realm.state.user.all()) {
    if (user.isSystemBot) system.push(systemBotObject(realm, user))
    else if (mayAccess(user)) (user.isActive ? active : others).push(textOf(user))
    else if (!shape.can.user_list_incomplete) active.push(JSON.stringify(inList(placeholderObject(realm, user))))
  }
  return { realm_users: listText(active), realm_non_active_users: listText(others), cross_realm_bots: system }
}

/** Removes `is_active`: active and deactivated users are in separate lists. */
const inList = ({ is_active, ...user }: { is_active: boolean }): object => user

const oneself: RegisterSection = ({ realm, me, shape }) => {
  const may = (name: Parameters<typeof mayInRealm>[1]): boolean => mayInRealm(realm, name, me)
  const [publicOnes, privateOnes] = [may('can_create_public_channel_group'), may('can_create_private_channel_group')]
  return {
    user_id: me.id,
    email: me.email,
    delivery_email: me.deliveryEmail,
    full_name: me.fullName,
    avatar_url: avatarUrl(realm, me, { clientGravatar: shape.clientGravatar }),
    avatar_url_medium: avatarUrl(realm, me, { clientGravatar: shape.clientGravatar, medium: true }),
    avatar_source: me.avatarSource,
    ...ownFlags(me),
    can_create_streams: publicOnes || privateOnes,
    can_create_public_streams: publicOnes,
    can_create_private_streams: privateOnes,
    can_create_web_public_streams: may('can_create_web_public_channel_group'),
    can_subscribe_other_users: may('can_add_subscribers_group'),
    can_invite_others_to_realm: may('can_invite_users_group'),
  }
}

const ownFlags = ({ role }: User) => ({
  is_owner: role === ROLES.owner,
  is_admin: atLeast(role, ROLES.administrator),
  is_moderator: atLeast(role, ROLES.moderator),
  is_guest: role === ROLES.guest,
})
