/** Who may do what in the organization. `chat/CONTRACT.md`, section 7.2. */

import { call } from '../api.ts'
import { isOwner } from '../model/rights.ts'
import type { RightHolders } from '../model/types.ts'
import { GroupSettings } from '../settings/group-setting.tsx'
import { words } from '../words/words.ts'
import type { OrganizationProps } from './organization.tsx'

/** Changed by owners only. */
const OF_OWNERS: ReadonlySet<string> = new Set([
  'can_create_groups',
  'can_invite_users_group',
  'can_manage_all_groups',
  'create_multiuse_invite_group',
])

const withoutOwners = (rights: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(rights).filter(([right]) => !OF_OWNERS.has(right)))

export function PermissionsSection({ realm }: OrganizationProps) {
  return (
    <>
      {words.realmPermissions.map(([title, rights]) => (
        <section class="form" key={title}>
          <h2>{title}</h2>
          <GroupSettings
            realm={realm}
            labels={isOwner(realm) ? rights : withoutOwners(rights)}
            bounds={realm.permissionBounds.realm}
            holdersOf={(right) => realm.organization[right] as RightHolders}
            save={(change) => call('PATCH', '/realm', change)}
          />
        </section>
      ))}
    </>
  )
}
