/** Making the organization: its system groups, the bots that the service itself is, and its first owner. */

import { CofferError } from '../../base/error.ts'
import { nowOf, type Realm } from './realm.ts'
import { type Password, REALM_ID, ROLE, type User } from './records.ts'
import { createUser } from './users.ts'

export interface NewOrganization {
  name: string
  /** '' or without a slash at its end. */
  url: string
  owner: { email: string; fullName: string }
}

/** From the one that includes everybody to the one of nobody; each includes the next. Contract section 2.1. */
const SYSTEM_GROUPS = [
  ['role:internet', 'Everyone on the Internet'],
  ['role:everyone', 'All users including guests'],
  ['role:members', 'All non-guest users'],
  ['role:fullmembers', 'Members who joined before the waiting period'],
  ['role:moderators', 'Moderators and above'],
  ['role:administrators', 'Administrators and above'],
  ['role:owners', 'Owners'],
] as const

export const SYSTEM_BOTS = [
  { email: 'notification-bot@coffer.invalid', fullName: 'Notification Bot' },
  { email: 'welcome-bot@coffer.invalid', fullName: 'Welcome Bot' },
  { email: 'emailgateway@coffer.invalid', fullName: 'Email Gateway' },
] as const

/** Throws `conflict` where there is one. `password` is made by `passwords.digest` for the user id 0, and taken over. */
export function createOrganization(realm: Realm, { name, url, owner }: NewOrganization, password: Password): User {
  return realm.change((turn) => {
    if (realm.state.organization.size > 0) throw new CofferError('conflict', 'There is an organization already')
    turn.put('organization', {
      id: REALM_ID,
      name,
      url,
      dateCreated: nowOf(realm),
      isDeactivated: false,
      settings: {},
      groupSettings: {},
      operator: { ownerFullContentAccess: false, uploadQuotaMib: null },
    })
    let below: number[] = []
    for (const [name, description] of [...SYSTEM_GROUPS].reverse()) {
      const id = turn.nextId('group')
      turn.put('group', systemGroup(id, name, description, below))
      below = [id]
    }
    turn.put('group', systemGroup(turn.nextId('group'), 'role:nobody', 'Nobody', []))
    for (const bot of SYSTEM_BOTS) createUser(realm, turn, { ...bot, role: ROLE.member, bot: BOT, isSystemBot: true })
    const user = createUser(realm, turn, { ...owner, role: ROLE.owner })
    turn.put('password', { ...password, userId: user.id })
    return user
  })
}

const BOT = {
  type: 1,
  ownerId: null,
  defaultSendingStreamId: null,
  defaultEventsRegisterStreamId: null,
  defaultAllPublicStreams: false,
} as const

const systemGroup = (id: number, name: string, description: string, subgroups: readonly number[]) => ({
  id,
  name,
  description,
  dateCreated: null,
  creatorId: null,
  members: [],
  subgroups,
  isSystem: true,
  isDeactivated: false,
  groupSettings: {},
})
