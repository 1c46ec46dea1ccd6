/** User groups. Contract section 3.6. */

import { z } from 'zod'
import { boolean, integer, json, nameText, type Parameter, prose } from '../pipeline/parameters.ts'
import { USER_GROUP_SETTINGS, type UserGroupSetting } from '../realm/model/group-settings.ts'
import { groupValue, groupValueUpdate } from '../realm/model/group-value.ts'
import { activeMembers, groupObjects } from '../realm/objects/group-view.ts'
import { allMembersOf, isMember, subgroupsOf } from '../realm/objects/nested-groups.ts'
import { changeGroup, createGroup, deactivateGroup } from '../realm/organization/groups/change.ts'
import { changeMembers } from '../realm/organization/groups/members.ts'
import { findGroup } from '../realm/permissions/group-find.ts'
import { findUser } from '../realm/permissions/user-find.ts'
import { type AnyDeclaration, declare } from './declare.ts'

const IDS_MAX = 20_000 // of accounts or groups in one request

const ids = () => json(z.array(z.int()).max(IDS_MAX))

const SETTING_NAMES = Object.keys(USER_GROUP_SETTINGS) as UserGroupSetting[]

const settingParameters = <T>(parameter: Parameter<T | undefined>) =>
  Object.fromEntries(SETTING_NAMES.map((name) => [name, parameter])) as Record<
    UserGroupSetting,
    Parameter<T | undefined>
  >

const givenSettings = <T>(input: Readonly<Record<UserGroupSetting, T | undefined>>) =>
  Object.fromEntries(
    SETTING_NAMES.flatMap((name) => (input[name] === undefined ? [] : [[name, input[name]]])),
  ) as Partial<Record<UserGroupSetting, T>>

const groupPath = { user_group_id: integer() }

export const groupDeclarations: readonly AnyDeclaration[] = [
  declare({
    method: 'GET',
    path: '/user_groups',
    isExpensive: true,
    who: 'member',
    parameters: { include_deactivated_groups: boolean().default(false) },
    handle: ({ realm, input }) => ({ user_groups: groupObjects(realm, input.include_deactivated_groups) }),
  }),
  declare({
    method: 'POST',
    path: '/user_groups/create',
    audit: {},
    who: 'member',
    parameters: {
      name: nameText('group name'),
      description: prose(),
      members: ids(),
      subgroups: ids().default([]),
      ...settingParameters(json(groupValue).optional()),
    },
    handle: ({ realm, me, input }) => {
      const { name, description, members, subgroups } = input
      const settings = givenSettings(input)
      return { group_id: createGroup(realm, me, { name, description, members, subgroups, settings }) }
    },
  }),
  declare({
    method: 'PATCH',
    path: '/user_groups/:user_group_id',
    audit: {},
    who: 'account',
    segments: groupPath,
    parameters: {
      name: nameText('group name').optional(),
      description: prose().optional(),
      deactivated: json(z.literal(false)).optional(),
      ...settingParameters(json(groupValueUpdate).optional()),
    },
    handle: ({ realm, me, path, input }) => {
      const { name, description, deactivated: isDeactivated } = input
      const settings = givenSettings(input)
      changeGroup(realm, me, path.user_group_id, { name, description, isDeactivated, settings })
      return {}
    },
  }),
  declare({
    method: 'GET',
    path: '/user_groups/:user_group_id/members',
    who: 'member',
    segments: groupPath,
    parameters: { direct_member_only: boolean().default(false) },
    handle: ({ realm, path, input }) => {
      const group = findGroup(realm, path.user_group_id)
      return { members: input.direct_member_only ? activeMembers(realm, group) : allMembersOf(realm, group) }
    },
  }),
  declare({
    method: 'POST',
    path: '/user_groups/:user_group_id/members',
    audit: {},
    who: 'account',
    segments: groupPath,
    parameters: {
      add: ids().default([]),
      delete: ids().default([]),
      add_subgroups: ids().default([]),
      delete_subgroups: ids().default([]),
    },
    handle: ({ realm, me, path, input }) => {
      const { add, delete: remove, add_subgroups: addSubgroups, delete_subgroups: removeSubgroups } = input
      changeMembers(realm, me, path.user_group_id, { add, remove, addSubgroups, removeSubgroups })
      return {}
    },
  }),
  declare({
    method: 'GET',
    path: '/user_groups/:user_group_id/subgroups',
    who: 'member',
    segments: groupPath,
    parameters: { direct_subgroup_only: boolean().default(false) },
    handle: ({ realm, path, input }) => {
      const group = findGroup(realm, path.user_group_id)
      const subgroups = input.direct_subgroup_only ? group.subgroups : subgroupsOf(realm, group)
      return { subgroups: [...subgroups].sort((a, b) => a - b) }
    },
  }),
  declare({
    method: 'POST',
    path: '/user_groups/:user_group_id/subgroups',
    audit: {},
    who: 'account',
    segments: groupPath,
    parameters: { add: ids().default([]), delete: ids().default([]) },
    handle: ({ realm, me, path, input }) => {
      const { add: addSubgroups, delete: removeSubgroups } = input
      changeMembers(realm, me, path.user_group_id, { add: [], remove: [], addSubgroups, removeSubgroups })
      return {}
    },
  }),
  declare({
    method: 'GET',
    path: '/user_groups/:user_group_id/members/:user_id',
    who: 'account',
    segments: { ...groupPath, user_id: integer() },
    parameters: { direct_member_only: boolean().default(false) },
    handle: ({ realm, me, path, input }) => {
      const group = findGroup(realm, path.user_group_id)
      const user = findUser(realm, me, path.user_id)
      const isIn = input.direct_member_only
        ? activeMembers(realm, group).includes(user.id)
        : isMember(realm, group, user)
      return { is_user_group_member: isIn }
    },
  }),
  declare({
    method: 'POST',
    path: '/user_groups/:user_group_id/deactivate',
    audit: {},
    usesReserve: true,
    who: 'account',
    segments: groupPath,
    handle: ({ realm, me, path }) => {
      deactivateGroup(realm, me, path.user_group_id)
      return {}
    },
  }),
  declare({
    method: 'DELETE',
    path: '/user_groups/:user_group_id',
    audit: {},
    who: 'account',
    segments: groupPath,
    handle: ({ realm, me, path }) => {
      deactivateGroup(realm, me, path.user_group_id)
      return {}
    },
  }),
]
