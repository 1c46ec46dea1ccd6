/** Updates of settings that give a right to a group (GSU). Contract sections 0 and 7.2. */

import { ChatError } from '../../base/error.ts'
import type { GroupSetting } from '../model/group-settings.ts'
import { type GroupValue, type GroupValueUpdate, sameGroupValue } from '../model/group-value.ts'
import type { Realm } from '../model/realm.ts'
import { expectGroupValue } from './group-check.ts'

/**
 * Returns the values that change, by setting name. `current` has all values before the update. Throws `EXPECTATION_MISMATCH` if `old` of an
 * update is not the stored value, and the errors of `expectGroupValue`.
 */
export function updatedGroupValues<K extends string>(
  realm: Realm,
  table: Readonly<Record<K, GroupSetting>>,
  current: Readonly<Record<K, GroupValue>>,
  updates: Readonly<Partial<Record<K, GroupValueUpdate | undefined>>>,
): Partial<Record<K, GroupValue>> {
  const changed: Partial<Record<K, GroupValue>> = {}
  for (const [name, update] of Object.entries(updates) as [K, GroupValueUpdate | undefined][]) {
    if (update === undefined) continue
    if (update.old !== undefined && !sameGroupValue(update.old, current[name]))
      throw new ChatError('EXPECTATION_MISMATCH', `'old' value of '${name}' does not match the expected value.`)
    if (sameGroupValue(update.new, current[name])) continue
    expectGroupValue(realm, name, table[name], update.new)
    changed[name] = update.new
  }
  return changed
}
