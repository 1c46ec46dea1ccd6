import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  CHANNEL_GROUP_SETTINGS,
  defaultValues,
  type GroupSetting,
  REALM_GROUP_SETTINGS,
  refusal,
  SUPPORTED_PERMISSION_SETTINGS,
  USER_GROUP_SETTINGS,
} from '../../../../firmware/chat/realm/model/group-settings.ts'
import { SYSTEM_GROUPS } from '../../../../firmware/chat/realm/model/roles.ts'
import { contractTable } from '../../support/contract.ts'

const TABLES = { realm: REALM_GROUP_SETTINGS, channel: CHANNEL_GROUP_SETTINGS, 'user group': USER_GROUP_SETTINGS }

function inContract(): Map<string, { default: string; bounds: string }> {
  const found = new Map<string, { default: string; bounds: string }>()
  let kind = ''
  for (const [names, group, bounds] of contractTable('7.2')) {
    const heading = /^(Realm|Channel|User group) setting$/.exec(names!)
    if (heading !== null) kind = heading[1]!.toLowerCase()
    if (heading !== null) continue
    for (const name of names!.split(', ')) {
      const [, plain, own] = /^(\w+)( \(Own\))?$/.exec(name.replace(/ \(\d+\)/, ''))!
      found.set(`${kind} ${plain}`, { default: group!.split(' ')[0]!, bounds: `${bounds}${own ?? ''}` })
    }
  }
  return found
}

describe('group settings', () => {
  it('are those of the contract, with its defaults', () => {
    const ours = Object.entries(TABLES).flatMap(([kind, table]) =>
      Object.entries<GroupSetting>(table).map(([name, row]) => [`${kind} ${name}`, row.default.replace('role:', '')]),
    )
    const theirs = [...inContract()].map(([name, row]) => [name, row.default])
    assert.deepEqual(ours.sort(), theirs.sort())
  })

  for (const [name, { bounds }] of inContract()) {
    if (name.startsWith('user group')) continue
    it(`${name}: ${bounds}`, () => {
      const [kind, setting] = name.split(/ (?=\w+$)/) as ['realm' | 'channel', string]
      const row = (TABLES[kind] as Record<string, GroupSetting>)[setting]!
      const only = /Sys: ([\w, ]+)/
        .exec(bounds)?.[1]
        ?.split(', ')
        .map((group) => `role:${group}`)
      assert.deepEqual(row.only, only ?? null)
      assert.equal(row.ownersOnly, bounds.includes('(Own)'))
      if (only !== undefined) return
      assert.equal(row.nobody, /\bN\b/.test(bounds))
      assert.equal(row.everyone, /\bE\b/.test(bounds))
    })
  }

  it('a new organization gets the groups of the defaults, a new channel its creator as administrator', () => {
    const idOf = (name: string) => SYSTEM_GROUPS.indexOf(name as never) + 1
    const realm = defaultValues(REALM_GROUP_SETTINGS, idOf, null)
    assert.equal(realm.can_manage_all_groups, idOf('role:owners'))
    const channel = defaultValues(CHANNEL_GROUP_SETTINGS, idOf, 9)
    assert.deepEqual(channel.can_administer_channel_group, { direct_members: [9], direct_subgroups: [] })
    assert.equal(channel.can_send_message_group, idOf('role:everyone'))
    const ownerless = defaultValues(CHANNEL_GROUP_SETTINGS, idOf, null)
    assert.equal(ownerless.can_administer_channel_group, idOf('role:nobody'))
  })
})

describe('bounds of group settings', () => {
  const nameOf = (id: number) => SYSTEM_GROUPS[id - 1] ?? null
  const idOf = (name: string) => SYSTEM_GROUPS.indexOf(name as never) + 1
  const anonymous = (...direct_subgroups: number[]) => ({ direct_members: [9], direct_subgroups })

  it('let no setting be given to the Internet', () => {
    for (const row of Object.values(TABLES).flatMap((table) => Object.values<GroupSetting>(table))) {
      assert.notEqual(refusal(row, idOf('role:internet'), nameOf), null)
      assert.notEqual(refusal(row, anonymous(idOf('role:internet')), nameOf), null)
    }
  })

  it('need a system group, one of the listed, where the setting lists some', () => {
    const row = REALM_GROUP_SETTINGS.can_create_web_public_channel_group
    assert.equal(refusal(row, 77, nameOf), 'system group required')
    assert.equal(refusal(row, anonymous(idOf('role:owners')), nameOf), 'system group required')
    assert.equal(refusal(row, idOf('role:members'), nameOf), 'not allowed')
    assert.equal(refusal(row, idOf('role:moderators'), nameOf), null)
  })

  it('keep everyone out where there is no room for guests', () => {
    assert.equal(refusal(REALM_GROUP_SETTINGS.can_create_groups, idOf('role:everyone'), nameOf), 'not allowed')
    assert.equal(refusal(REALM_GROUP_SETTINGS.can_resolve_topics_group, idOf('role:everyone'), nameOf), null)
  })

  it('keep nobody out where somebody is needed, however it is said', () => {
    const nobody = { direct_members: [], direct_subgroups: [] }
    for (const value of [idOf('role:nobody'), anonymous(idOf('role:nobody')), nobody]) {
      assert.equal(refusal(REALM_GROUP_SETTINGS.can_manage_all_groups, value, nameOf), 'not allowed')
      assert.equal(refusal(REALM_GROUP_SETTINGS.can_create_groups, value, nameOf), null)
    }
  })

  it('are told to clients, each setting with the seven fields that they read', () => {
    assert.deepEqual(SUPPORTED_PERMISSION_SETTINGS.stream.can_administer_channel_group, {
      require_system_group: false,
      allow_internet_group: false,
      allow_nobody_group: true,
      allow_everyone_group: false,
      default_group_name: 'channel_creator',
      default_for_system_groups: null,
      allowed_system_groups: [],
    })
    assert.deepEqual(SUPPORTED_PERMISSION_SETTINGS.realm.can_access_all_users_group, {
      require_system_group: true,
      allow_internet_group: false,
      allow_nobody_group: false,
      allow_everyone_group: true,
      default_group_name: 'role:everyone',
      default_for_system_groups: null,
      allowed_system_groups: ['role:everyone', 'role:members'],
    })
    assert.equal(SUPPORTED_PERMISSION_SETTINGS.group.can_mention_group.default_for_system_groups, 'role:nobody')
  })
})
