/** User groups: members, permissions, names. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import { call } from '../api.ts'
import type { RealmView } from '../model/realm.ts'
import { isInGroup, mayInRealm } from '../model/rights.ts'
import type { UserGroup } from '../model/types.ts'
import { personName } from '../names.ts'
import { PeoplePicker } from '../people/people-picker.tsx'
import { GroupSettings, groupName } from '../settings/group-setting.tsx'
import { Choices } from '../views/choices.tsx'
import { FormDialog } from '../views/form-dialog.tsx'
import { listOf } from '../words/format.ts'
import { words } from '../words/words.ts'
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
        {group.direct_subgroup_ids.length > 0 && ` · ${listOf(subgroupNames(realm, group))}`}
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
  const groups = useSignal<readonly number[]>(group.direct_subgroup_ids)
  const save = async () => {
    const [add, remove] = changesOf(group.members, chosen.value)
    const [add_subgroups, delete_subgroups] = changesOf(group.direct_subgroup_ids, groups.value)
    const values = { add, delete: remove, add_subgroups, delete_subgroups }
    if (Object.values(values).some(({ length }) => length > 0))
      await call('POST', `/user_groups/${group.id}/members`, values)
  }
  const others = [...realm.groups.values()].filter(({ id, deactivated }) => id !== group.id && !deactivated)
  return (
    <FormDialog title={words.membersOf(group.name)} action={words.save} act={save} close={close}>
      <p class="soft">{listOf(group.members.map((id) => personName(realm, id)))}</p>
      <PeoplePicker realm={realm} label={words.addPeople} chosen={chosen} />
      <Choices label={words.subgroups} all={others.map((one) => [one.id, groupName(one)])} chosen={groups} />
    </FormDialog>
  )
}

const subgroupNames = (realm: RealmView, { direct_subgroup_ids: ids }: UserGroup): string[] =>
  ids.flatMap((id) => realm.groups.get(id) ?? []).map(groupName)

const changesOf = (before: readonly number[], after: readonly number[]): [added: number[], removed: number[]] => [
  after.filter((id) => !before.includes(id)),
  before.filter((id) => !after.includes(id)),
]

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
