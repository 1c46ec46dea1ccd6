/** Creates, changes and deactivates user groups. Contract rows E96, E97, E101, E102; V54, V55, V57. */

import { defined } from '../../../../base/defined.ts'
import { badRequest, ChatError, forbidden } from '../../../base/error.ts'
import { USER_GROUP_SETTINGS, type UserGroupSetting } from '../../model/group-settings.ts'
import { type GroupValue, type GroupValueUpdate, groupsOf } from '../../model/group-value.ts'
import { fold } from '../../model/names.ts'
import { nowOf, type Realm } from '../../model/realm.ts'
import type { Group, GroupSettings, User } from '../../model/records.ts'
import { organizationOf } from '../../model/state.ts'
import { checkedDescription } from '../../objects/descriptions.ts'
import { publishActivation, publishGroup } from '../../objects/group-events.ts'
import { groupObject } from '../../objects/group-view.ts'
import { expectGroupValue } from '../../permissions/group-check.ts'
import { expectActive, findOwnGroup } from '../../permissions/group-find.ts'
import { mayInRealm, mayManageGroup, userGroupValues } from '../../permissions/group-rights.ts'
import { updatedGroupValues } from '../../permissions/group-update.ts'
import { checkedMembers, checkedSubgroups } from './members.ts'

const NAME_CHARACTERS_MAX = 100

/** Prefixes with another meaning in mentions and settings. */
const RESERVED_PREFIXES = ['@', 'role:', 'user:', 'stream:', 'channel:']

interface NewGroup {
  name: string
  description: string
  members: readonly number[]
  subgroups: readonly number[]
  settings: Partial<Record<UserGroupSetting, GroupValue>>
}

export function createGroup(realm: Realm, me: User, input: NewGroup): number {
  return realm.transaction((tx) => {
    if (!mayInRealm(realm, 'can_create_groups', me)) throw forbidden('Insufficient permission')
    for (const [name, value] of Object.entries(input.settings))
      expectGroupValue(realm, name, USER_GROUP_SETTINGS[name as UserGroupSetting], value)
    const group: Group = {
      id: tx.nextId('group'),
      name: freeName(realm, input.name, null),
      description: checkedDescription(input.description),
      dateCreated: nowOf(realm),
      creatorId: me.id,
      members: checkedMembers(realm, me, input.members),
      subgroups: checkedSubgroups(realm, input.subgroups),
      isSystem: false,
      isDeactivated: false,
      groupSettings: input.settings as GroupSettings,
    }
    tx.put('group', group)
    publishGroup(realm, tx, group, { op: 'add', group: groupObject(realm, group) })
    return group.id
  })
}

interface GroupChanges {
  name: string | undefined
  description: string | undefined
  /** Reactivation only: `deactivateGroup` deactivates. */
  isDeactivated: false | undefined
  settings: Partial<Record<UserGroupSetting, GroupValueUpdate>>
}

/** Only the name of a deactivated group can change, unless the same request reactivates it. */
export function changeGroup(realm: Realm, me: User, id: number, changes: GroupChanges): void {
  const { name, description, isDeactivated, settings } = changes
  const isMore = description !== undefined || Object.keys(settings).length > 0
  if (name === undefined && !isMore && isDeactivated === undefined) throw badRequest('No new data supplied')
  realm.transaction((tx) => {
    const before = findManaged(realm, me, id)
    const isReactivated = before.isDeactivated && isDeactivated === false
    if (before.isDeactivated && !isReactivated && isMore)
      throw badRequest('You can only change name of deactivated user groups')
    const values = updatedGroupValues(realm, USER_GROUP_SETTINGS, userGroupValues(realm, before), settings)
    const renamed = name === undefined ? before.name : freeName(realm, name, id)
    const described = description === undefined ? before.description : checkedDescription(description)
    const after: Group = {
      ...before,
      name: renamed,
      description: described,
      isDeactivated: before.isDeactivated && !isReactivated,
      groupSettings: { ...before.groupSettings, ...values },
    }
    tx.put('group', after)
    if (isReactivated) publishActivation(realm, tx, after)
    const data = {
      ...(renamed !== before.name && { name: renamed }),
      ...(described !== before.description && { description: described }),
      ...values,
    }
    if (Object.keys(data).length > 0) publishGroup(realm, tx, after, { op: 'update', group_id: id, data })
  })
}

/** Throws `CANNOT_DEACTIVATE_GROUP_IN_USE` while another group or a setting refers to the group. */
export function deactivateGroup(realm: Realm, me: User, id: number): void {
  realm.transaction((tx) => {
    const group = findManaged(realm, me, id)
    expectActive(group)
    const objections = [...objectionsTo(realm, id)]
    if (objections.length > 0)
      throw new ChatError('CANNOT_DEACTIVATE_GROUP_IN_USE', 'Cannot deactivate user group in use.', { objections })
    const after = { ...group, isDeactivated: true }
    tx.put('group', after)
    publishActivation(realm, tx, after)
  })
}

function findManaged(realm: Realm, me: User, id: number): Group {
  const group = findOwnGroup(realm, id)
  if (!mayManageGroup(realm, group, me)) throw forbidden('Insufficient permission')
  return group
}

/** References from the group itself and from deactivated groups do not count. */
function* objectionsTo({ state }: Realm, id: number): Generator<Record<string, unknown>> {
  const named = (settings: GroupSettings): string[] =>
    Object.keys(settings).filter((name) => groupsOf(defined(settings[name])).includes(id))
  const others = [...state.group.all()].filter((group) => group.id !== id && !group.isDeactivated)
  const supergroups = others.filter(({ subgroups }) => subgroups.includes(id)).map((group) => group.id)
  if (supergroups.length > 0) yield { type: 'subgroup', supergroup_ids: supergroups.sort((a, b) => a - b) }
  const ofRealm = named(organizationOf(state).groupSettings)
  if (ofRealm.length > 0) yield { type: 'realm', settings: ofRealm }
  for (const channel of state.channel.all()) {
    const settings = named(channel.groupSettings)
    if (settings.length > 0) yield { type: 'channel', channel_id: channel.id, settings }
  }
  for (const group of others) {
    const settings = named(group.groupSettings)
    if (settings.length > 0) yield { type: 'user_group', group_id: group.id, settings }
  }
}

function freeName(realm: Realm, input: string, ownId: number | null): string {
  const name = input.trim()
  if (name === '') throw badRequest("User group name can't be empty!")
  if ([...name].length > NAME_CHARACTERS_MAX)
    throw badRequest(`User group name cannot exceed ${NAME_CHARACTERS_MAX} characters.`)
  if (/\p{Cc}/u.test(name)) throw badRequest('Invalid character in user group name.')
  const prefix = RESERVED_PREFIXES.find((prefix) => name.startsWith(prefix))
  if (prefix !== undefined) throw badRequest(`User group name cannot start with '${prefix}'.`)
  const known = realm.state.groupByName.get(fold(name))
  if (known !== undefined && known.id !== ownId) throw badRequest(`User group '${name}' already exists.`)
  return name
}
