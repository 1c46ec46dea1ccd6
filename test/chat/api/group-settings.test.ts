/**
 * Each setting of the organization, of channels and user groups that gives a right to a group, over the wire: contract section 7.2 with the values
 * that it may have, those that it may not, and `old` that is not what is stored.
 */

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  CHANNEL_GROUP_SETTINGS,
  type GroupSetting,
  REALM_GROUP_SETTINGS,
  USER_GROUP_SETTINGS,
} from '../../../firmware/chat/realm/model/group-settings.ts'
import type { GroupValue } from '../../../firmware/chat/realm/model/group-value.ts'
import type { SystemGroupName } from '../../../firmware/chat/realm/model/roles.ts'
import { organizationOf } from '../../../firmware/chat/realm/model/state.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, polonius } = await chatSuite({ hamlet: 'member', polonius: 'guest' })
const create = async (name: string, values = {}): Promise<number> =>
  (await rig.owner.post('/user_groups/create', { name, description: '', members: [], ...values })).group_id
const channelId = rig.channel('verona', [rig.owner]).id
let named: number
let nesting: number
let deactivated: number
let groupId: number
before(async () => {
  named = await create('named', { members: [hamlet.user.id] })
  nesting = await create('nesting', { subgroups: [named] })
  deactivated = await create('deactivated')
  await rig.owner.post(`/user_groups/${deactivated}/deactivate`)
  groupId = await create('governed')
})

const idOf = (name: SystemGroupName): number => rig.chat.realm.state.groupByName.get(name)!.id
const unnamed = (members: number[], subgroups: number[]): GroupValue => ({
  direct_members: members,
  direct_subgroups: subgroups,
})

interface Kind {
  settings: Readonly<Record<string, GroupSetting>>
  path: () => string
  read: () => Promise<Record<string, GroupValue>>
}

const KINDS: Record<string, Kind> = {
  realm: {
    settings: REALM_GROUP_SETTINGS,
    path: () => '/realm',
    read: async () => {
      const { snapshot } = await rig.owner.register({ fetch_event_types: ['realm'], event_types: [] })
      return Object.fromEntries(
        Object.entries<GroupValue>(snapshot).map(([name, value]) => [name.replace(/^realm_/, ''), value]),
      )
    },
  },
  channel: {
    settings: CHANNEL_GROUP_SETTINGS,
    path: () => `/streams/${channelId}`,
    read: async () => (await rig.owner.get(`/streams/${channelId}`)).stream,
  },
  'user group': {
    settings: USER_GROUP_SETTINGS,
    path: () => `/user_groups/${groupId}`,
    read: async () =>
      (await rig.owner.get('/user_groups')).user_groups.find(({ id }: { id: number }) => id === groupId),
  },
}
for (const [kind, { settings, path, read }] of Object.entries(KINDS))
  describe(`7.2: settings of a ${kind}`, () => {
    after(() => resetRealm())
    for (const [name, { only }] of Object.entries(settings)) {
      if (only === null) continue
      it(`${name} takes ${only.join(', ')} alone`, async () => {
        for (const { id, isSystem, name: group } of rig.chat.realm.state.group.all()) {
          if (!isSystem) continue
          const { status } = await rig.owner.call('PATCH', path(), { [name]: { new: id } })
          assert.equal(status, only.includes(group as SystemGroupName) ? 200 : 400, group)
        }
        const [first, second] = only.map(idOf)
        for (const value of [named, unnamed([hamlet.user.id], []), unnamed([hamlet.user.id], [first!])]) {
          const { body } = await rig.owner.refused('SYSTEM_GROUP_REQUIRED', 'PATCH', path(), { [name]: { new: value } })
          assert.equal(body.setting_name, name)
        }
        await rig.owner.patch(path(), { [name]: { new: unnamed([], [first!]) } })
        const change = { new: second, old: idOf('role:internet') }
        await rig.owner.refused('EXPECTATION_MISMATCH', 'PATCH', path(), { [name]: change })
        assert.equal((await read())[name], first)
        await rig.owner.patch(path(), { [name]: { new: second, old: first } })
        await rig.owner.patch(path(), { [name]: { new: first } })
      })
    }

    const others = Object.entries(settings).filter(([, { only }]) => only === null)
    for (const [name, { nobody, everyone }] of others)
      it(`${name} takes groups by id, and people and groups without a name`, async () => {
        const sent: [GroupValue, GroupValue?][] = [
          [idOf('role:moderators')],
          [named],
          [nesting],
          [unnamed([rig.owner.user.id, hamlet.user.id], [])],
          [unnamed([hamlet.user.id], [nesting, idOf('role:owners')])],
          [unnamed([], [named]), named],
          [unnamed([hamlet.user.id, rig.owner.user.id, hamlet.user.id], [nesting, named, named])],
        ]
        for (const [value, stored = value] of sent) {
          await rig.owner.patch(path(), { [name]: { new: value } })
          assert.deepEqual((await read())[name], ordered(stored))
        }
        const allowed = async (value: GroupValue): Promise<boolean> =>
          (await rig.owner.call('PATCH', path(), { [name]: { new: value } })).status === 200
        assert.equal(await allowed(idOf('role:nobody')), nobody)
        assert.equal(await allowed(unnamed([], [])), nobody)
        assert.equal(await allowed(idOf('role:everyone')), everyone)
        assert.equal(await allowed(unnamed([hamlet.user.id], [idOf('role:everyone')])), everyone)
        for (const value of [
          idOf('role:internet'),
          deactivated,
          9999,
          unnamed([9999], []),
          unnamed([], [deactivated, named]),
        ])
          assert.equal(await allowed(value), false, JSON.stringify(value))
        for (const value of ['x', -1, { direct_members: [1] }, null])
          await rig.owner.refused('REQUEST_VARIABLE_INVALID', 'PATCH', path(), { [name]: { new: value } })
      })

    for (const [name] of others)
      it(`${name} stays where \`old\` is not what is stored`, async () => {
        const people = unnamed(
          [hamlet.user.id, rig.owner.user.id].sort((a, b) => a - b),
          [],
        )
        await rig.owner.patch(path(), { [name]: { new: named } })
        for (const old of [nesting, unnamed([hamlet.user.id], []), unnamed([], [named, nesting])]) {
          await rig.owner.refused('EXPECTATION_MISMATCH', 'PATCH', path(), { [name]: { new: people, old } })
          assert.equal((await read())[name], named)
        }
        await rig.owner.patch(path(), { [name]: { new: people, old: unnamed([], [named]) } })
        await rig.owner.refused('EXPECTATION_MISMATCH', 'PATCH', path(), { [name]: { new: named, old: named } })
        await rig.owner.patch(path(), { [name]: { new: named, old: unnamed([rig.owner.user.id, hamlet.user.id], []) } })
        assert.equal((await read())[name], named)
      })
  })

function resetRealm(): void {
  const { realm } = rig.chat
  realm.transaction((turn) => turn.put('organization', { ...organizationOf(realm.state), groupSettings: {} }))
}

/** As it is stored: ascending, each once. */
function ordered(value: GroupValue): GroupValue {
  if (typeof value === 'number') return value
  const ascending = (ids: readonly number[]) => [...new Set(ids)].sort((a, b) => a - b)
  return unnamed(ascending(value.direct_members), ascending(value.direct_subgroups))
}

describe('7.2: who has a right', () => {
  it('follows the groups that a setting names, when they change', async () => {
    const { id } = rig.channel('denmark', [rig.owner, hamlet, polonius])
    const may = async (client: Client): Promise<boolean> => {
      const values = { type: 'stream', to: id, topic: 'x', content: 'x' }
      return (await client.call('POST', '/messages', values)).status === 200
    }
    await rig.owner.patch(`/streams/${id}`, { can_send_message_group: { new: nesting } })
    assert.deepEqual([await may(hamlet), await may(polonius), await may(rig.owner)], [true, false, false])
    await rig.owner.post(`/user_groups/${named}/members`, { add: [polonius.user.id], delete: [hamlet.user.id] })
    assert.deepEqual([await may(hamlet), await may(polonius), await may(rig.owner)], [false, true, false])
    await rig.owner.post(`/user_groups/${nesting}/subgroups`, { add: [idOf('role:owners')], delete: [named] })
    assert.deepEqual([await may(hamlet), await may(polonius), await may(rig.owner)], [false, false, true])
  })
})
