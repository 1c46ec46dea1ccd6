/** Checks a group-setting value of a request against its setting. Contract sections 0 (GSV) and 7.2. */

import { badRequest, ChatError } from '../../base/error.ts'
import { systemName } from '../model/group-membership.ts'
import { type GroupSetting, refusal } from '../model/group-settings.ts'
import { type GroupValue, groupsOf } from '../model/group-value.ts'
import type { Realm } from '../model/realm.ts'

/**
 * Throws `SYSTEM_GROUP_REQUIRED`, or `BAD_REQUEST` for unknown or deactivated groups and users and for groups that may not have the right.
 */
export function expectGroupValue(realm: Realm, name: string, setting: GroupSetting, value: GroupValue): void {
  const { state } = realm
  for (const id of groupsOf(value)) {
    const group = state.group.get(id)
    if (group === undefined || group.isDeactivated) throw badRequest(`Invalid user group ID: ${id}`)
  }
  for (const id of typeof value === 'number' ? [] : value.direct_members) {
    if (state.user.get(id)?.isActive !== true) throw badRequest(`Invalid user ID: ${id}`)
  }
  switch (refusal(setting, value, (id) => systemName(state.group.get(id)))) {
    case 'system group required':
      throw new ChatError('SYSTEM_GROUP_REQUIRED', `'${name}' must be a system user group`, { setting_name: name })
    case 'not allowed':
      throw badRequest(`'${name}' setting cannot be set to that group`)
  }
}
