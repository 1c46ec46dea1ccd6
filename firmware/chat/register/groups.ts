/** Register section of user groups. Contract sections 2.5 and 4.2. */

import { ROLES } from '../realm/model/roles.ts'
import { groupObjects } from '../realm/objects/group-view.ts'
import type { RegisterSection } from './section.ts'

/** Guests get an empty list, and no events about groups either. */
export const realmUserGroups: RegisterSection = ({ realm, me, shape }) => ({
  realm_user_groups: me.role === ROLES.guest ? [] : groupObjects(realm, shape.can.include_deactivated_groups),
})
