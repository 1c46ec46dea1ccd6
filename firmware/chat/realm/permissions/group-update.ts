/** What becomes of a setting that gives a right to a group when a request changes it (GSU). Contract sections 0 and 7.2. */

import { ChatError } from '../../base/error.ts'
import type { GroupSetting } from '../model/group-settings.ts'
import { type GroupValue, type GroupValueUpdate, sameGroupValue } from '../model/group-value.ts'
import type { Realm } from '../model/realm.ts'
import { expectGroupValue } from './group-check.ts'

/**
 * The values that are new, by the names of their settings; `current` has all of them as they are now. Throws
 * `EXPECTATION_MISMATCH` where the caller believes something else to be stored, and what group-check.ts says of the new ones.
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
