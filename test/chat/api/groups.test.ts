// @test short slow
/** User groups: contract rows E95 to E102, V54 to V57, section 7.2. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES, type SystemGroupName } from '../../../firmware/chat/realm/model/roles.ts'
import { organizationOf } from '../../../firmware/chat/realm/model/state.ts'
import { Random } from '../model/operations.ts'
import { type Client, openTestChat } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

let count = 0
const { rig, hamlet, cordelia, polonius } = await chatSuite({ hamlet: 'member', cordelia: 'member', polonius: 'guest' })

const idOf = (name: SystemGroupName): number => rig.chat.realm.state.groupByName.get(name)!.id
const people = (...clients: Client[]) => ({ direct_members: clients.map(({ user }) => user.id), direct_subgroups: [] })

async function create(values: Record<string, unknown> = {}, me: Client = hamlet): Promise<number> {
  const named = { name: `group ${count++}`, description: '', members: [] }
  return (await me.post('/user_groups/create', { ...named, ...values })).group_id
}

// biome-ignore lint/suspicious/noExplicitAny: events of any kind
const withoutIds = (events: any[]) => events.map(({ id: _, ...event }) => event)
const refused = async (status: number, client: Client, method: string, path: string, values = {}): Promise<string> => {
  const answer = await client.refused('BAD_REQUEST', method, path, values)
  assert.equal(answer.status, status, answer.body.msg)
  return answer.body.msg
}
const members = async (id: number, direct = false): Promise<number[]> =>
  (await hamlet.get(`/user_groups/${id}/members`, { direct_member_only: direct })).members

describe('User groups', () => {
  it('are mentioned by those alone who may, however it is sent; silently by all (7.2)', async () => {
    const id = await create({ name: 'board', members: [hamlet.user.id], can_mention_group: people(hamlet) })
    const channel = rig.channel('mentions', [hamlet, cordelia])
    const later = { scheduled_delivery_timestamp: Math.floor(rig.now() / 1000) + 100 }
    const message = (content: string) => ({ type: 'channel', to: channel.id, topic: 'boards', content })
    const direct = (content: string) => ({ type: 'direct', to: [hamlet.user.id], content })
    const refuse = async (method: string, path: string, values: object, name = 'board'): Promise<void> =>
      assert.equal(
        await refused(400, cordelia, method, path, values),
        `You are not allowed to mention user group '${name}'.`,
      )
    await refuse('POST', '/messages', message('@*board* and more'))
    await refuse('POST', '/messages', direct('@*board*'))
    await refuse('POST', '/scheduled_messages', { ...message('@*board*'), ...later })
    await refuse('POST', '/scheduled_messages', { ...direct('@*board*'), ...later })
    const { id: sent } = await cordelia.post('/messages', message('@_*board*'))
    await refuse('PATCH', `/messages/${sent}`, { content: '@*board*' })
    await refuse('POST', '/messages', message('@*role:everyone*'), 'role:everyone')

    const { id: allowed } = await hamlet.post('/messages', message('@*board*'))
    assert.deepEqual((await hamlet.get(`/messages/${allowed}`)).message.flags, ['mentioned'])
    await hamlet.patch(`/user_groups/${id}`, { can_mention_group: { new: idOf('role:everyone') } })
    await cordelia.patch(`/messages/${sent}`, { content: '@*board*' })
  })

  it('are made with members, subgroups and rights, and members are told (E95, E96, V54)', async () => {
    const queue = await cordelia.register({ event_types: ['user_group'] })
    const guest = await polonius.register({ event_types: ['user_group'] })
    const inner = await create()
    const group_id = await create({
      name: ' Players ',
      description: 'who *play*',
      members: [polonius.user.id, cordelia.user.id],
      subgroups: [inner, idOf('role:moderators')],
      can_mention_group: people(cordelia),
    })
    const nobody = idOf('role:nobody')
    const group = {
      id: group_id,
      name: 'Players',
      description: 'who *play*',
      date_created: Math.floor(rig.now() / 1000),
      creator_id: hamlet.user.id,
      members: [cordelia.user.id, polonius.user.id],
      direct_subgroup_ids: [idOf('role:moderators'), inner].sort((a, b) => a - b),
      is_system_group: false,
      deactivated: false,
      can_add_members_group: people(hamlet),
      can_join_group: nobody,
      can_leave_group: idOf('role:everyone'),
      can_manage_group: people(hamlet),
      can_mention_group: people(cordelia),
      can_remove_members_group: nobody,
    }
    const [, told] = withoutIds(await queue.events())
    assert.deepEqual(told, { type: 'user_group', op: 'add', group })
    assert.deepEqual(await guest.events(), [])
    rig.reopen()
    const { user_groups } = await cordelia.get('/user_groups')
    assert.deepEqual(user_groups.at(-1), group)
    assert.deepEqual((await cordelia.register()).snapshot.realm_user_groups.at(-1), group)
  })

  it('have names of their own, and nothing in them that there is not (E96)', async () => {
    await create({ name: 'Actors' })
    const refuse = (values: Record<string, unknown>) =>
      refused(400, hamlet, 'POST', '/user_groups/create', { name: 'new', description: '', members: [], ...values })
    for (const name of ['ACTORS', '', ' ', 'x'.repeat(101), '@x', 'role:x', 'user:x', 'stream:x', 'channel:x'])
      await refuse({ name })
    const system = rig.chat.realm.state.userByEmail.get('notification-bot@coffer.invalid')!
    for (const id of [9999, system.id]) await refuse({ members: [id] })
    for (const id of [9999, idOf('role:internet')]) await refuse({ subgroups: [id] })
    await refuse({ can_manage_group: idOf('role:everyone') })
    await refuse({ can_manage_group: 9999 })
    await refuse({ description: 'x'.repeat(1025) })
    await hamlet.refused('REQUEST_VARIABLE_MISSING', 'POST', '/user_groups/create', { name: 'new', description: '' })
    const organization = organizationOf(rig.chat.realm.state)
    rig.chat.realm.transaction((turn) =>
      turn.put('organization', { ...organization, groupSettings: { can_create_groups: idOf('role:moderators') } }),
    )
    const values = { name: 'new', description: '', members: [] }
    await refused(403, hamlet, 'POST', '/user_groups/create', values)
    rig.chat.realm.transaction((turn) => turn.put('organization', organization))
  })

  it('can be changed by their managers (E97, V55)', async () => {
    const id = await create({ can_manage_group: people(hamlet, polonius) })
    const queue = await cordelia.register({ event_types: ['user_group'] })
    await hamlet.patch(`/user_groups/${id}`, { name: 'Lords', description: 'and ladies' })
    await rig.owner.patch(`/user_groups/${id}`, { can_join_group: { new: idOf('role:members') } })
    await hamlet.patch(`/user_groups/${id}`, { name: 'Lords', can_join_group: { new: idOf('role:members') } })
    await hamlet.patch(`/user_groups/${id}`, { can_mention_group: { new: id } })
    const update = (data: Record<string, unknown>) => ({ type: 'user_group', op: 'update', group_id: id, data })
    assert.deepEqual(withoutIds(await queue.events()), [
      update({ name: 'Lords', description: 'and ladies' }),
      update({ can_join_group: idOf('role:members') }),
      update({ can_mention_group: id }),
    ])
    await refused(403, cordelia, 'PATCH', `/user_groups/${id}`, { name: 'Mine' })
    await refused(403, polonius, 'PATCH', `/user_groups/${id}`, { name: 'Mine' }) // a guest, and no setting has room for one
    await refused(400, hamlet, 'PATCH', `/user_groups/${id}`)
    await refused(400, hamlet, 'PATCH', '/user_groups/9999', { name: 'Mine' })
    await refused(400, rig.owner, 'PATCH', `/user_groups/${idOf('role:members')}`, { name: 'Mine' })
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'PATCH', `/user_groups/${id}`, { deactivated: true })
  })

  const RIGHTS: [settings: string[], own: [add: boolean, remove: boolean], others: [add: boolean, remove: boolean]][] =
    [
      [[], [false, false], [false, false]],
      [['can_join_group'], [true, false], [false, false]],
      [['can_leave_group'], [false, true], [false, false]],
      [['can_add_members_group'], [true, false], [true, false]],
      [['can_remove_members_group'], [false, true], [false, true]],
      [['can_manage_group'], [true, true], [true, true]],
      [['can_mention_group'], [false, false], [false, false]],
    ]
  for (const [settings, own, others] of RIGHTS)
    it(`with ${settings.join() || 'no right'}: others join and leave by it alone (E98)`, async () => {
      const nobody = { can_leave_group: idOf('role:nobody') }
      const input = Object.fromEntries(settings.map((name) => [name, people(cordelia)]))
      const may = async (op: 'add' | 'delete', client: Client): Promise<boolean> => {
        const there = op === 'delete' ? [client.user.id] : []
        const id = await create({ ...nobody, ...input, members: there })
        const { status } = await cordelia.call('POST', `/user_groups/${id}/members`, { [op]: [client.user.id] })
        assert.ok(status === 200 || status === 403)
        assert.equal((await members(id)).includes(client.user.id), (status === 200) === (op === 'add'))
        return status === 200
      }
      assert.deepEqual([await may('add', cordelia), await may('delete', cordelia)], own)
      assert.deepEqual([await may('add', polonius), await may('delete', polonius)], others)
    })

  it('gain and lose members and subgroups, which members are told (E98, E99, V56)', async () => {
    const [id, inner] = [await create(), await create({ members: [polonius.user.id] })]
    const queue = await cordelia.register({ event_types: ['user_group'] })
    const path = `/user_groups/${id}/members`
    await hamlet.post(path, { add: [hamlet.user.id, cordelia.user.id], add_subgroups: [inner] })
    assert.deepEqual(await members(id), [hamlet.user.id, cordelia.user.id, polonius.user.id])
    assert.deepEqual(await members(id, true), [hamlet.user.id, cordelia.user.id])
    await hamlet.post(path, { delete: [cordelia.user.id], delete_subgroups: [inner] })
    await hamlet.post(`/user_groups/${id}/subgroups`, { add: [idOf('role:owners'), inner] })
    assert.deepEqual(await members(id), [rig.owner.user.id, hamlet.user.id, polonius.user.id])
    const event = (op: string, more: Record<string, unknown>) => ({ type: 'user_group', op, group_id: id, ...more })
    assert.deepEqual(withoutIds(await queue.events()), [
      event('add_members', { user_ids: [hamlet.user.id, cordelia.user.id] }),
      event('add_subgroups', { direct_subgroup_ids: [inner] }),
      event('remove_members', { user_ids: [cordelia.user.id] }),
      event('remove_subgroups', { direct_subgroup_ids: [inner] }),
      event('add_subgroups', { direct_subgroup_ids: [idOf('role:owners'), inner] }),
    ])
    const refuse = (values: Record<string, unknown>) => refused(400, hamlet, 'POST', path, values)
    await refuse({})
    await refuse({ add: [hamlet.user.id] })
    await refuse({ delete: [cordelia.user.id] })
    await refuse({ add: [9999] })
    await refuse({ add_subgroups: [inner] })
    await refuse({ delete_subgroups: [idOf('role:members')] })
    await refused(400, rig.owner, 'POST', `/user_groups/${idOf('role:members')}/members`, { add: [polonius.user.id] })
  })

  it('are never in themselves (E99)', async () => {
    const [a, b, c] = [await create(), await create(), await create()]
    await hamlet.post(`/user_groups/${a}/subgroups`, { add: [b] })
    await hamlet.post(`/user_groups/${b}/subgroups`, { add: [c] })
    assert.deepEqual((await hamlet.get(`/user_groups/${a}/subgroups`)).subgroups, [b, c])
    assert.deepEqual((await hamlet.get(`/user_groups/${a}/subgroups`, { direct_subgroup_only: true })).subgroups, [b])
    for (const id of [a, b, c]) await refused(400, hamlet, 'POST', `/user_groups/${c}/subgroups`, { add: [id] })
  })

  it('tell whether somebody is in them (E100)', async () => {
    const inner = await create({ members: [cordelia.user.id] })
    const id = await create({ subgroups: [inner] })
    const isIn = async (group: number, who: Client, direct = false): Promise<boolean> =>
      (await polonius.get(`/user_groups/${group}/members/${who.user.id}`, { direct_member_only: direct }))
        .is_user_group_member
    assert.equal(await isIn(id, cordelia), true)
    assert.equal(await isIn(id, cordelia, true), false)
    assert.equal(await isIn(id, hamlet), false)
    assert.equal(await isIn(idOf('role:everyone'), hamlet), true)
    assert.equal(await isIn(idOf('role:everyone'), hamlet, true), false)
    await refused(400, polonius, 'GET', `/user_groups/9999/members/${hamlet.user.id}`)
    await refused(400, polonius, 'GET', `/user_groups/${id}/members/9999`)
  })

  it('are deactivated and used again: one event or the other, by what a client knows (E97, E101, E102, V57)', async () => {
    const id = await create({ members: [cordelia.user.id] })
    const capabilities = { notification_settings_null: true, include_deactivated_groups: true }
    const knowing = await cordelia.register({ event_types: ['user_group'], client_capabilities: capabilities })
    const old = await cordelia.register({ event_types: ['user_group'] })
    await refused(403, cordelia, 'POST', `/user_groups/${id}/deactivate`)
    await refused(400, rig.owner, 'POST', `/user_groups/${idOf('role:members')}/deactivate`)
    await hamlet.post(`/user_groups/${id}/deactivate`)
    await refused(400, hamlet, 'DELETE', `/user_groups/${id}`)
    const listed = async (all: boolean): Promise<boolean> =>
      (await cordelia.get('/user_groups', { include_deactivated_groups: all })).user_groups.some(
        (group: { id: number }) => group.id === id,
      )
    assert.deepEqual([await listed(false), await listed(true)], [false, true])
    await refused(400, hamlet, 'POST', `/user_groups/${id}/members`, { add: [hamlet.user.id] })
    await refused(400, hamlet, 'PATCH', `/user_groups/${id}`, { description: 'gone' })
    await refused(400, hamlet, 'POST', '/user_groups/create', {
      name: 'over it',
      description: '',
      members: [],
      subgroups: [id],
    })
    await hamlet.patch(`/user_groups/${id}`, { name: 'Ghosts' })
    await hamlet.patch(`/user_groups/${id}`, { deactivated: false, description: 'back' })
    await rig.owner.delete(`/user_groups/${id}`)
    const event = (op: string, more = {}) => ({ type: 'user_group', op, group_id: id, ...more })
    const update = (data: Record<string, unknown>) => event('update', { data })
    assert.deepEqual(withoutIds(await knowing.events()), [
      update({ deactivated: true }),
      update({ name: 'Ghosts' }),
      update({ deactivated: false }),
      update({ description: 'back' }),
      update({ deactivated: true }),
    ])
    const [removed, added, ...rest] = withoutIds(await old.events())
    assert.deepEqual(removed, event('remove'))
    assert.deepEqual([added.op, added.group.name, added.group.members], ['add', 'Ghosts', [cordelia.user.id]])
    assert.deepEqual(rest, [update({ description: 'back' }), event('remove')])
  })

  it('are not deactivated while a setting or a group names them (E101)', async () => {
    const id = await create()
    const above = await create({ subgroups: [id], can_join_group: id })
    const channel = rig.channel('verona', [hamlet], { groupSettings: { can_send_message_group: id } })
    const organization = organizationOf(rig.chat.realm.state)
    const value = { direct_members: [hamlet.user.id], direct_subgroups: [id] }
    rig.chat.realm.transaction((turn) =>
      turn.put('organization', { ...organization, groupSettings: { can_create_groups: value } }),
    )
    await hamlet.patch(`/user_groups/${id}`, { can_mention_group: { new: id } })
    const { body } = await hamlet.refused('CANNOT_DEACTIVATE_GROUP_IN_USE', 'POST', `/user_groups/${id}/deactivate`)
    assert.deepEqual(body.objections, [
      { type: 'subgroup', supergroup_ids: [above] },
      { type: 'realm', settings: ['can_create_groups'] },
      { type: 'channel', channel_id: channel.id, settings: ['can_send_message_group'] },
      { type: 'user_group', group_id: above, settings: ['can_join_group'] },
    ])
    rig.chat.realm.transaction((turn) => turn.put('organization', organization))
    await rig.owner.patch(`/streams/${channel.id}`, { can_send_message_group: { new: idOf('role:members') } })
    await hamlet.post(`/user_groups/${above}/deactivate`)
    await hamlet.post(`/user_groups/${id}/deactivate`)
  })

  it('show private channels to new members, and hide them from former ones (V41, V42)', async () => {
    const inner = await create()
    const id = await create({ subgroups: [inner] })
    rig.channel('secret', [hamlet], { isPrivate: true, groupSettings: { can_subscribe_group: id } })
    const queue = await cordelia.register({ event_types: ['stream'] })
    await hamlet.post(`/user_groups/${inner}/members`, { add: [cordelia.user.id] })
    await hamlet.post(`/user_groups/${id}/subgroups`, { delete: [inner] })
    await hamlet.post(`/user_groups/${id}/subgroups`, { add: [inner] })
    await hamlet.post(`/user_groups/${inner}/members`, { delete: [cordelia.user.id] })
    assert.deepEqual(
      (await queue.events()).map(({ op }) => op),
      ['create', 'delete', 'create', 'delete'],
    )
  })

  it('hold whom plain recursion finds, after any change of groups, roles and accounts', async () => {
    const random = new Random(Number(process.env.COFFER_SEED ?? 7))
    const chat = await openTestChat()
    try {
      const clients = [chat.owner, ...['a', 'b', 'c'].map((name) => chat.account(`some-${name}`))]
      clients.push(chat.account('visitor', ROLES.guest))
      const ids = clients.map(({ user }) => user.id)
      const { state } = chat.chat.realm
      const groups: { id: number; members: Set<number>; subgroups: Set<number> }[] = []
      const systems = [...state.group.all()].filter(({ name }) => name !== 'role:internet').map(({ id }) => id)
      const holds = (id: number, user: number): boolean => {
        const own = groups.find((group) => group.id === id)
        if (own !== undefined)
          return (
            state.user.get(user)!.isActive &&
            (own.members.has(user) || [...own.subgroups].some((inner) => holds(inner, user)))
          )
        const { role, isActive } = state.user.get(user)!
        const least = {
          members: 400,
          fullmembers: 400,
          moderators: 300,
          administrators: 200,
          owners: 100,
          everyone: 600,
        }
        const name = state.group.get(id)!.name.replace('role:', '') as keyof typeof least
        return isActive && name in least && role <= least[name]
      }
      const reaches = (from: number, to: number): boolean =>
        from === to || [...(groups.find(({ id }) => id === from)?.subgroups ?? [])].some((inner) => reaches(inner, to))
      const rounds = process.env.COFFER_SLOW === undefined ? 150 : 1500
      for (let round = 0; round < rounds; round++) {
        if (groups.length < 7 && random.chance(0.2)) {
          const members = random.some(ids).filter((id) => state.user.get(id)!.isActive)
          const subgroups = random.some(groups).map(({ id }) => id)
          const values = { name: `group ${round}`, description: '', members, subgroups }
          const { group_id } = await chat.owner.post('/user_groups/create', values)
          groups.push({ id: group_id, members: new Set(members), subgroups: new Set(subgroups) })
        } else if (random.chance(0.2)) {
          const user = random.of(ids.slice(1))
          const change = random.chance(0.5)
            ? chat.owner.call('PATCH', `/users/${user}`, { role: random.of([100, 200, 300, 400, 600]) })
            : state.user.get(user)!.isActive
              ? chat.owner.call('DELETE', `/users/${user}`)
              : chat.owner.call('POST', `/users/${user}/reactivate`)
          assert.equal((await change).status, 200)
        } else if (groups.length > 0) {
          const group = random.of(groups)
          if (random.chance(0.5)) {
            const user = random.of(ids)
            const op = group.members.has(user) ? 'delete' : 'add'
            const isAllowed = op === 'delete' || state.user.get(user)!.isActive
            const { status } = await chat.owner.call('POST', `/user_groups/${group.id}/members`, { [op]: [user] })
            assert.equal(status, isAllowed ? 200 : 400)
            if (isAllowed) op === 'add' ? group.members.add(user) : group.members.delete(user)
          } else {
            const inner = random.of([...groups.map(({ id }) => id), ...systems])
            const op = group.subgroups.has(inner) ? 'delete' : 'add'
            const isAllowed = op === 'delete' || !reaches(inner, group.id)
            const { status } = await chat.owner.call('POST', `/user_groups/${group.id}/subgroups`, { [op]: [inner] })
            assert.equal(status, isAllowed ? 200 : 400, `${op} ${inner} in ${group.id}`)
            if (isAllowed) op === 'add' ? group.subgroups.add(inner) : group.subgroups.delete(inner)
          }
        }
        const asked = groups.length === 0 ? [] : [random.of(groups)]
        for (const { id } of asked) {
          const { members } = await chat.owner.get(`/user_groups/${id}/members`)
          assert.deepEqual(
            members.filter((user: number) => ids.includes(user)),
            ids.filter((user) => holds(id, user)),
          )
          const user = random.of(ids)
          const { is_user_group_member } = await chat.owner.get(`/user_groups/${id}/members/${user}`)
          assert.equal(is_user_group_member, holds(id, user))
        }
      }
      assert.ok(groups.length > 3)
    } finally {
      chat.close()
    }
  })
})
