/** Creates the organization with its system groups, system bots and first owner. */

import { CofferError } from '../../../base/error.ts'
import type { Random } from '../../../crypto/random.ts'
import { expectName } from '../../base/characters.ts'
import { nowOf, type Realm } from '../model/realm.ts'
import { type Password, REALM_ID, type User } from '../model/records.ts'
import { NESTED_SYSTEM_GROUPS, ROLES, SYSTEM_GROUP_DESCRIPTIONS, type SystemGroupName } from '../model/roles.ts'
import { organizationOf } from '../model/state.ts'
import { createUser } from './users.ts'

export interface OrganizationDraft {
  name: string
  /** Empty, or without a trailing slash. */
  url: string
  owner: { email: string; fullName: string }
}

export const SYSTEM_BOTS = [
  { email: 'notification-bot@coffer.invalid', fullName: 'Notification Bot' },
  { email: 'welcome-bot@coffer.invalid', fullName: 'Welcome Bot' },
  { email: 'emailgateway@coffer.invalid', fullName: 'Email Gateway' },
] as const

/** Throws `conflict` if an organization exists. `password` must come from `passwords.digest` for user id 0; it is stored for the owner. */
export function createOrganization(realm: Realm, { name, url, owner }: OrganizationDraft, password: Password): User {
  return realm.transaction((tx) => {
    if (realm.state.organization.size > 0) throw new CofferError('conflict', 'There already is an organization')
    tx.put('organization', {
      id: REALM_ID,
      name: expectName(name.trim(), 'name'),
      url,
      dateCreated: nowOf(realm),
      uuid: randomUuid(realm.random),
      isDeactivated: false,
      settings: {},
      groupSettings: {},
      operator: { ownerFullContentAccess: false, uploadQuotaMib: null },
    })
    tx.put('group', systemGroup(tx.nextId('group'), 'role:nobody', [])) // the first id, as in Zulip
    let below: number[] = []
    for (const name of [...NESTED_SYSTEM_GROUPS].reverse()) {
      const id = tx.nextId('group')
      tx.put('group', systemGroup(id, name, below))
      below = [id]
    }
    for (const bot of SYSTEM_BOTS) createUser(realm, tx, { ...bot, role: ROLES.member, bot: BOT, isSystemBot: true })
    const user = createUser(realm, tx, { ...owner, role: ROLES.owner, isAddressTrusted: true })
    tx.put('password', { ...password, userId: user.id })
    return user
  })
}

/** At a start: assigns a UUID to an organization created before level 466. */
export function ensureUuid(realm: Realm): void {
  const organization = realm.state.organization.get(REALM_ID)
  if (organization === undefined || organization.uuid !== undefined) return
  realm.transaction((tx) => tx.put('organization', { ...organization, uuid: randomUuid(realm.random) }))
}

/** RFC 9562 version 4. */
function randomUuid(random: Random): string {
  const bytes = random(16)
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80
  return Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
}

/**
 * All requests are refused afterwards; the event tells clients why. Only the operator can reactivate: see
 * organization/operator/operator.ts.
 */
export function deactivateOrganization(realm: Realm): void {
  realm.transaction((tx) => {
    tx.put('organization', { ...organizationOf(realm.state), isDeactivated: true })
    tx.publish({ type: 'realm', to: 'everyone', make: () => ({ op: 'deactivated', realm_id: REALM_ID }) })
  })
}

const BOT = {
  type: 1,
  ownerId: null,
  defaultSendingStreamId: null,
  defaultEventsRegisterStreamId: null,
  defaultAllPublicStreams: false,
} as const

const systemGroup = (id: number, name: SystemGroupName, subgroups: readonly number[]) => ({
  id,
  name,
  description: SYSTEM_GROUP_DESCRIPTIONS[name],
  dateCreated: null,
  creatorId: null,
  members: [],
  subgroups,
  isSystem: true,
  isDeactivated: false,
  groupSettings: {},
})
