/** Rights of the account, as far as the page can tell; the server decides. `chat/CONTRACT.md`, sections 7.1 to 7.4. */

import type { RealmView } from './realm.ts'
import type { ReceivedMessage, RightHolders, UserGroup } from './types.ts'

const OWNER = 100
const ADMINISTRATOR = 200
const MEMBER = 400

const roleOf = ({ people, ownId }: RealmView): number => people.get(ownId)?.role ?? Number.POSITIVE_INFINITY

export const isOwner = (realm: RealmView): boolean => roleOf(realm) <= OWNER
export const isAdministrator = (realm: RealmView): boolean => roleOf(realm) <= ADMINISTRATOR
export const isMember = (realm: RealmView): boolean => roleOf(realm) <= MEMBER

/** True if the account has the right of the organization with that name, such as `can_invite_users_group`. */
export const mayInRealm = (realm: RealmView, right: string): boolean => {
  const holders = realm.organization[right] as RightHolders | undefined
  return holders !== undefined && isInGroup(realm, holders)
}

export const mayInvite = (realm: RealmView): boolean =>
  mayInRealm(realm, 'can_invite_users_group') || mayInRealm(realm, 'create_multiuse_invite_group')

export function isInGroup(realm: RealmView, value: RightHolders): boolean {
  if (typeof value === 'number') return hasMember(realm, realm.groups.get(value), new Set())
  return (
    value.direct_members.includes(realm.ownId) ||
    value.direct_subgroups.some((id) => hasMember(realm, realm.groups.get(id), new Set()))
  )
}

function hasMember(realm: RealmView, group: UserGroup | undefined, seen: Set<number>): boolean {
  if (group === undefined || seen.has(group.id)) return false
  seen.add(group.id)
  return (
    group.members.includes(realm.ownId) ||
    group.direct_subgroup_ids.some((id) => hasMember(realm, realm.groups.get(id), seen))
  )
}

/** Messages with a widget cannot be edited as text. */
export const mayEdit = (realm: RealmView, message: ReceivedMessage, nowS: number): boolean =>
  message.sender_id === realm.ownId &&
  message.submessages.length === 0 &&
  realm.policies.allow_message_editing &&
  isInTime(message, realm.policies.message_content_edit_limit_seconds, nowS)

export const mayDelete = (realm: RealmView, message: ReceivedMessage, nowS: number): boolean =>
  isInGroup(realm, realm.policies.can_delete_any_message_group) ||
  (message.sender_id === realm.ownId &&
    isInGroup(realm, realm.policies.can_delete_own_message_group) &&
    isInTime(message, realm.policies.message_content_delete_limit_seconds, nowS))

/** The channel may have further rules, which the server applies. */
export const mayMove = (realm: RealmView, { type }: ReceivedMessage): boolean =>
  type === 'stream' &&
  (mayInRealm(realm, 'can_move_messages_between_topics_group') ||
    mayInRealm(realm, 'can_move_messages_between_channels_group'))

export const hasHistory = ({ organization }: RealmView, { last_edit_timestamp: editedS }: ReceivedMessage): boolean =>
  editedS !== undefined && organization.message_edit_history_visibility_policy !== 'none'

export const hasReceipts = ({ organization }: RealmView): boolean => organization.enable_read_receipts === true

const isInTime = ({ timestamp }: ReceivedMessage, limitS: number | null, nowS: number): boolean =>
  limitS === null || nowS - timestamp < limitS
