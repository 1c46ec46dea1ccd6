/** User groups. Contract section 3.6, row E95. */

import { boolean } from '../http/parameters.ts'
import { groupObjects } from '../realm/groups/view.ts'
import { type AnyDeclaration, declare } from './declare.ts'

export const groupDeclarations: readonly AnyDeclaration[] = [
  declare({
    row: 'E95',
    method: 'GET',
    path: '/user_groups',
    who: 'member',
    parameters: { include_deactivated_groups: boolean().default(false) },
    handle: ({ realm, given }) => ({ user_groups: groupObjects(realm, given.include_deactivated_groups) }),
  }),
]
