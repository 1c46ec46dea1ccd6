/** User groups: members, permissions, names. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import type { RealmView } from '../model/realm.ts'
import { isInGroup, mayInRealm } from '../model/rights.ts'
import type { UserGroup } from '../model/types.ts'
import { personName } from '../names.ts'
import { PeoplePicker } from '../people/people-picker.tsx'
import { GroupSettings } from '../settings/group-setting.tsx'
import { FormDialog } from '../views/form-dialog.tsx'
import * as words from '../words/en.ts'
import type { OrganizationProps } from './organization.tsx'
import { type ListedRecord, RecordList } from './record-list.tsx'

export function GroupsSection({ realm }: OrganizationProps) {
  const own = [...realm.groups.values()]
    .filter(({ is_system_group: isSystem }) => !isSystem)
    .sort((a, b) => Number(a.deactivated) - Number(b.deactivated) || a.name.localeCompare(b.name))
  return (
    <RecordList
      newLabel={mayInRealm(realm, 'can_create_groups') ? words.newGroup : undefined}
      empty={words.noGroups}
      records={own.map((group): ListedRecord => recordOf(realm, group))}
      fields={[
        { name: 'name', label: words.name, required: true },
        { name: 'description', label: words.description },
      ]}
      add={(values) => call('POST', '/user_groups/create', { ...values, members: [realm.ownId] })}
      change={(id, values) => call('PATCH', `/user_groups/${id}`, values)}
    />
  )
}

const recordOf = (realm: RealmView, group: UserGroup): ListedRecord => {
  const { id, name, description, deactivated } = group
  return {
    ...{ id, title: name, values: { name, description } },
    about: (
      <>
        {words.memberCount(group.members.length)}
        {description && ` · ${description}`}
        {deactivated && ` · ${words.deactivated}`}
        <GroupButtons realm={realm} group={group} />
      </>
    ),
  }
}

type Asked = 'members' | 'permissions' | 'end'

function GroupButtons({ realm, group }: { realm: RealmView; group: UserGroup }) {
  const asked = useSignal<Asked | null>(null)
  const ask = (question: Asked | null) => () => {
    asked.value = question
  }
  const { id, name, deactivated } = group
  const mayManage = mayInRealm(realm, 'can_manage_all_groups') || isInGroup(realm, group.can_manage_group ?? -1)
  if (!mayManage) return null
  return (
    <span class="row">
      {!deactivated && (
        <>
          <Action kind="link" label={`${words.members}: ${name}`} onClick={ask('members')}>
            {words.members}
          </Action>
          <Action kind="link" label={`${words.permissions}: ${name}`} onClick={ask('permissions')}>
            {words.permissions}
          </Action>
        </>
      )}
      <Action kind="link" label={`${deactivated ? words.reactivate : words.deactivate}: ${name}`} onClick={ask('end')}>
        {deactivated ? words.reactivate : words.deactivate}
      </Action>
      {asked.value === 'members' && <MembersDialog realm={realm} group={group} close={ask(null)} />}
      {asked.value === 'permissions' && <PermissionsDialog realm={realm} group={group} close={ask(null)} />}
      {asked.value === 'end' && (
        <FormDialog
          title={deactivated ? words.reactivate : words.deactivateNamed(name)}
          action={deactivated ? words.reactivate : words.deactivate}
          kind="danger"
          act={() =>
            deactivated
              ? call('PATCH', `/user_groups/${id}`, { deactivated: false })
              : call('POST', `/user_groups/${id}/deactivate`)
          }
          close={ask(null)}
        >
          <p>{words.deactivateGroupText}</p>
        </FormDialog>
      )}
    </span>
  )
}

function MembersDialog({ realm, group, close }: { realm: RealmView; group: UserGroup; close: () => void }) {
  const chosen = useSignal<readonly number[]>(group.members)
  const save = async () => {
    const add = chosen.value.filter((id) => !group.members.includes(id))
    const remove = group.members.filter((id) => !chosen.value.includes(id))
    if (add.length + remove.length > 0) await call('POST', `/user_groups/${group.id}/members`, { add, delete: remove })
  }
  return (
    <FormDialog title={words.membersOf(group.name)} action={words.save} act={save} close={close}>
      <p class="soft">{words.names(group.members.map((id) => personName(realm, id)))}</p>
      <PeoplePicker realm={realm} label={words.addPeople} chosen={chosen} />
    </FormDialog>
  )
}

const systemGroupsOnly = (bounds: RealmView['permissionBounds']['group']) =>
  Object.fromEntries(
    Object.entries(bounds).map(([right, bound]) => [
      right,
      { ...bound, require_system_group: true, allowed_system_groups: [] },
    ]),
  )

function PermissionsDialog({ realm, group, close }: { realm: RealmView; group: UserGroup; close: () => void }) {
  return (
    <FormDialog
      title={words.permissionsOf(group.name)}
      action={words.dismiss}
      act={() => Promise.resolve()}
      close={close}
    >
      <GroupSettings
        realm={realm}
        labels={words.groupPermissions}
        bounds={systemGroupsOnly(realm.permissionBounds.group)}
        holdersOf={(right) => group[right as 'can_mention_group'] ?? -1}
        save={(change) => call('PATCH', `/user_groups/${group.id}`, change)}
      />
    </FormDialog>
  )
}
