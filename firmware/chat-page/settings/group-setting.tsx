/** Holders of a permission: a group, or chosen people and groups. `chat/CONTRACT.md`, section 7.2. */

import { useSignal } from '@preact/signals'
import { Action } from '../../web/controls.tsx'
import type { RealmView } from '../model/realm.ts'
import type { PermissionBound, RightHolders, UserGroup } from '../model/types.ts'
import { personName } from '../names.ts'
import { PeoplePicker } from '../people/people-picker.tsx'
import { Choices } from '../views/choices.tsx'
import { FormDialog } from '../views/form-dialog.tsx'
import { listOf } from '../words/format.ts'
import { wordFor, words } from '../words/words.ts'
import { type Choice, Setting } from './setting.tsx'

interface GroupSettingProps {
  realm: RealmView
  label: string
  value: RightHolders
  bound: PermissionBound
  save: (value: RightHolders) => Promise<unknown>
}

export const groupName = ({ name, is_system_group: isSystem }: Pick<UserGroup, 'name' | 'is_system_group'>): string =>
  isSystem ? (wordFor(words.systemGroups, name) ?? name) : name

const NOBODY = 'role:nobody'
const EVERYONE = 'role:everyone'
const INTERNET = 'role:internet'

function isAllowed({ name, is_system_group: isSystem, deactivated }: UserGroup, bound: PermissionBound): boolean {
  if (deactivated || name === INTERNET) return false
  if (!isSystem) return !bound.require_system_group
  if (bound.allowed_system_groups.length > 0) return bound.allowed_system_groups.includes(name)
  if (name === NOBODY) return bound.allow_nobody_group
  return name !== EVERYONE || bound.allow_everyone_group
}

interface GroupSettingsProps {
  realm: RealmView
  /** By name of the permission. */
  labels: Readonly<Record<string, string>>
  bounds: Readonly<Record<string, PermissionBound>>
  holdersOf: (right: string) => RightHolders
  /** `change` is the parameter of the API that changes one permission. */
  save: (change: Record<string, { new: RightHolders }>) => Promise<unknown>
}

/** Settings of the permissions in `labels` that the server has. */
export function GroupSettings({ realm, labels, bounds, holdersOf, save }: GroupSettingsProps) {
  return Object.entries(labels).map(([right, label]) => {
    const bound = bounds[right]
    return (
      bound !== undefined && (
        <GroupSetting
          key={right}
          realm={realm}
          label={label}
          value={holdersOf(right)}
          bound={bound}
          save={(value) => save({ [right]: { new: value } })}
        />
      )
    )
  })
}

function GroupSetting({ realm, label, value, bound, save }: GroupSettingProps) {
  const isAsked = useSignal(false)
  const groups = [...realm.groups.values()].filter((one) => isAllowed(one, bound))
  const choices: Choice[] = groups.map((one) => [one.id, groupName(one)])
  const isChosen = typeof value !== 'number'
  if (isChosen) choices.unshift([CHOSEN, shown(realm, value)])
  return (
    <div class="stack">
      <Setting
        row={{ name: label, label, input: choices }}
        value={isChosen ? CHOSEN : value}
        save={(chosen) => (typeof chosen === 'number' ? save(chosen) : Promise.resolve())}
      />
      {!bound.require_system_group && (
        <div>
          <Action
            kind="link"
            label={`${words.choosePeople}: ${label}`}
            onClick={() => {
              isAsked.value = true
            }}
          >
            {words.choosePeople}
          </Action>
        </div>
      )}
      {isAsked.value && (
        <HoldersDialog
          realm={realm}
          label={label}
          value={value}
          groups={groups}
          save={save}
          close={() => {
            isAsked.value = false
          }}
        />
      )}
    </div>
  )
}

const CHOSEN = 'chosen'

const shown = (
  realm: RealmView,
  { direct_members: people, direct_subgroups: groups }: Exclude<RightHolders, number>,
) =>
  people.length + groups.length === 0
    ? words.systemGroups[NOBODY]
    : listOf([
        ...groups.map((id) => realm.groups.get(id)).flatMap((one) => (one === undefined ? [] : groupName(one))),
        ...people.map((id) => personName(realm, id)),
      ])

interface HoldersDialogProps extends Omit<GroupSettingProps, 'bound'> {
  groups: readonly UserGroup[]
  close: () => void
}

function HoldersDialog({ realm, label, value, groups, save, close }: HoldersDialogProps) {
  const before = typeof value === 'number' ? { direct_members: [], direct_subgroups: [value] } : value
  const people = useSignal<readonly number[]>(before.direct_members)
  const chosen = useSignal<readonly number[]>(before.direct_subgroups)
  return (
    <FormDialog
      title={label}
      action={words.save}
      act={() => save({ direct_members: people.value, direct_subgroups: chosen.value })}
      close={close}
    >
      <Choices label={words.groups} all={groups.map((one) => [one.id, groupName(one)])} chosen={chosen} />
      <PeoplePicker realm={realm} label={words.addPeople} chosen={people} />
    </FormDialog>
  )
}
