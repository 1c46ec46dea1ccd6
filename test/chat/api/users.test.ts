/** Accounts: contract section 3.4, rows E67 to E75, V33 and V34. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { type Client, openTestChat } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const {
  rig,
  iago: admin,
  hamlet,
  polonius: guest,
} = await chatSuite({ iago: 'administrator', hamlet: 'member', polonius: 'guest' })

const PASSWORD = 'to be or not to be'
const NOTHING_UNREAD = { count: 0, pms: [], streams: [], huddles: [], mentions: [], old_unreads_missing: false }

describe('GET /users, GET /users/:user_id, GET /users/me: reading accounts', () => {
  it('GET /users: everybody is listed with the fields of the contract, the service itself is not', async () => {
    const { members } = await hamlet.get('/users')
    assert.deepEqual(
      members.map(({ email }: { email: string }) => email),
      ['olivia@example.com', 'iago@example.com', 'hamlet@example.com', 'polonius@example.com'],
    )
    const { avatar_url, ...owner } = members[0]
    assert.match(avatar_url, /^\/user_avatars\/2\/\d+-[0-9a-f]{32}\.png\?version=1$/)
    assert.deepEqual(owner, {
      user_id: rig.owner.user.id,
      email: 'olivia@example.com',
      delivery_email: 'olivia@example.com',
      full_name: 'Olivia Owner',
      role: 100,
      is_owner: true,
      is_admin: true,
      is_guest: false,
      is_bot: false,
      is_active: true,
      date_joined: '2026-11-24T12:00:00+00:00',
      timezone: '',
      avatar_version: 1,
      bot_type: null,
      bot_owner_id: null,
    })
  })

  it('GET /users: ids choose accounts, and people have profile data where they are asked for', async () => {
    const values = { user_ids: [hamlet.user.id, 9999], include_custom_profile_fields: true }
    const { members } = await guest.get('/users', values)
    assert.equal(members.length, 1)
    assert.deepEqual(members[0].profile_data, {})
  })

  it('GET /users/:user_id: returns one account by id or address; an unknown one does not exist', async () => {
    for (const who of [hamlet.user.id, 'hamlet@example.com', 'HAMLET@example.com']) {
      assert.equal((await guest.get(`/users/${who}`)).user.full_name, 'Hamlet Test')
    }
    for (const who of [9999, 'nobody@example.com', 'x']) await guest.refused('BAD_REQUEST', 'GET', `/users/${who}`)
  })

  it('GET /users/me: oneself, at the top of the answer', async () => {
    const me = await hamlet.get('/users/me')
    assert.equal(me.user_id, hamlet.user.id)
    assert.equal(me.role, 400)
    assert.deepEqual(me.profile_data, {})
    assert.equal(typeof me.max_message_id, 'number')
  })
})

describe('who sees an address', () => {
  const VISIBILITY = { everyone: 1, members: 2, moderators: 5, administrators: 3, nobody: 4 }
  const SEEING: Record<string, string[]> = {
    everyone: ['guest', 'member', 'moderator', 'administrator', 'owner'],
    members: ['member', 'moderator', 'administrator', 'owner'],
    moderators: ['moderator', 'administrator', 'owner'],
    administrators: ['administrator', 'owner'],
    nobody: [],
  }

  for (const [who, seeing] of Object.entries(SEEING)) {
    it(`shown to ${who}: ${seeing.join(', ') || 'to oneself alone'}`, async () => {
      const shy = rig.account(`shy-${who}`)
      await shy.patch('/settings', { email_address_visibility: VISIBILITY[who as keyof typeof VISIBILITY] })
      const viewers: Record<string, Client> = {
        guest,
        member: hamlet,
        moderator: rig.account(`moderator-${who}`, ROLES.moderator),
        administrator: admin,
        owner: rig.owner,
      }
      for (const [role, viewer] of Object.entries(viewers)) {
        const { user } = await viewer.get(`/users/${shy.user.id}`)
        const sees = seeing.includes(role)
        assert.equal(user.delivery_email, sees ? shy.user.deliveryEmail : null, role)
        const isPublic = who === 'everyone'
        assert.equal(user.email, isPublic ? shy.user.deliveryEmail : `user${shy.user.id}@coffer.invalid`, role)
        const byAddress = await viewer.call('GET', `/users/${shy.user.deliveryEmail}`)
        assert.equal(byAddress.status, sees ? 200 : 400, role)
      }
    })
  }

  it('gaining and losing an address is told to exactly those who do (level 163)', async () => {
    const shy = rig.account('ophelia')
    const queues = await Promise.all(
      [admin, hamlet, guest].map((client) => client.register({ event_types: ['realm_user'] })),
    )
    const heard = async () =>
      Promise.all(queues.map(async (queue) => (await queue.events()).map(({ person }: { person: object }) => person)))
    await shy.patch('/settings', { email_address_visibility: 3 })
    const id = shy.user.id
    const address = { user_id: id, new_email: `user${id}@coffer.invalid` }
    const lost = { user_id: id, delivery_email: null }
    assert.deepEqual(await heard(), [[address], [address, lost], [address, lost]])
    const renamed = rig.clientOf(rig.chat.realm.state.user.get(id)!)
    await shy.get('/users/me') // the client was set up with the real address
    await renamed.patch('/settings', { email_address_visibility: 2 })
    assert.deepEqual(await heard(), [[], [{ user_id: id, delivery_email: 'ophelia@example.com' }], []])
  })
})

describe('POST /users: making an account', () => {
  it('it can sign in at once, and everybody hears of it', async () => {
    const queue = await hamlet.register({ event_types: ['realm_user', 'user_group'] })
    const { user_id } = await admin.post('/users', {
      email: 'Yorick@example.com',
      password: PASSWORD,
      full_name: 'Yorick',
    })
    const { body } = await rig.anonymous('POST', '/fetch_api_key', {
      username: 'yorick@example.com',
      password: PASSWORD,
    })
    assert.equal(body.user_id, user_id)
    const events = await queue.events()
    const [added, ...groups] = events.filter(({ op }) => op !== 'update')
    assert.equal(added.op, 'add')
    assert.equal(added.person.email, 'Yorick@example.com')
    assert.equal(events.at(-1).person.date_joined, added.person.date_joined, 'it joins when it signs in')
    assert.deepEqual(
      added.person,
      (await hamlet.get('/users', { user_ids: [user_id], include_custom_profile_fields: true })).members[0],
    )
    const entered = groups.map(({ op, user_ids }: { op: string; user_ids: number[] }) => [op, user_ids])
    assert.deepEqual(entered, [
      ['add_members', [user_id]],
      ['add_members', [user_id]],
    ])
  })

  it('it is in the channels that are for all, and those who see them hear of it', async () => {
    const common = rig.channel('common', [hamlet], { isDefault: true })
    rig.channel('other', [hamlet])
    const queue = await hamlet.register({ event_types: ['subscription'] })
    const values = { email: 'cornelius@example.com', password: PASSWORD, full_name: 'Cornelius' }
    const { user_id } = await admin.post('/users', values)
    const events = (await queue.events()).map(({ op, stream_ids, user_ids }) => [op, stream_ids, user_ids])
    assert.deepEqual(events, [['peer_add', [common.id], [user_id]]])
    const { subscriptions } = await rig.clientOf(rig.chat.realm.state.user.get(user_id)!).get('/users/me/subscriptions')
    assert.deepEqual(
      subscriptions.map(({ name }: { name: string }) => name),
      ['common'],
    )
  })

  it('refuses addresses that are taken or none, short passwords, and names that are none', async () => {
    const good = { email: 'new@example.com', password: PASSWORD, full_name: 'New One' }
    await admin.refused('BAD_REQUEST', 'POST', '/users', { ...good, email: 'HAMLET@example.com' })
    await admin.refused('REQUEST_VARIABLE_INVALID', 'POST', '/users', { ...good, email: 'nowhere' })
    await admin.refused('REQUEST_VARIABLE_INVALID', 'POST', '/users', { ...good, password: 'short' })
    await admin.refused('REQUEST_VARIABLE_INVALID', 'POST', '/users', { ...good, full_name: 'X' })
    await admin.refused('REQUEST_VARIABLE_MISSING', 'POST', '/users', { email: 'new@example.com' })
    await hamlet.refused('BAD_REQUEST', 'POST', '/users', good)
  })
})

describe('PATCH /users/:user_id: changing an account', () => {
  it('a name and an address, told to all', async () => {
    const user = rig.account('gertrude')
    const queue = await guest.register({ event_types: ['realm_user'] })
    await admin.patch(`/users/${user.user.id}`, { full_name: ' Queen Gertrude ', new_email: 'queen@example.com' })
    const people = (await queue.events()).map(({ person }: { person: object }) => person)
    assert.deepEqual(people, [
      { user_id: user.user.id, new_email: 'queen@example.com' },
      { user_id: user.user.id, delivery_email: 'queen@example.com' },
      { user_id: user.user.id, full_name: 'Queen Gertrude' },
    ])
    await admin.patch('/users/queen@example.com', { full_name: 'Gertrude' }) // level 313
    await admin.refused('REQUEST_VARIABLE_INVALID', 'PATCH', `/users/${user.user.id}`, { full_name: 'a*b' })
    await admin.refused('BAD_REQUEST', 'PATCH', `/users/${user.user.id}`, { new_email: 'hamlet@example.com' })
  })

  it('a refused part leaves the rest as it was', async () => {
    const user = rig.account('osric')
    await admin.refused('BAD_REQUEST', 'PATCH', `/users/${user.user.id}`, {
      new_email: 'osric2@example.com',
      full_name: 'Osric the Second',
      role: 100,
    })
    const { user: after } = await admin.get(`/users/${user.user.id}`)
    assert.equal(after.full_name, 'Osric Test')
    assert.equal(after.email, 'osric@example.com')
  })

  it('a role moves its holder from group to group', async () => {
    const user = rig.account('horatio')
    const groups = (await rig.owner.register()).snapshot.realm_user_groups
    const idOf = (name: string) => groups.find((group: { name: string }) => group.name === name).id
    const queue = await hamlet.register({ event_types: ['realm_user', 'user_group'] })
    await admin.patch(`/users/${user.user.id}`, { role: 300 })
    const events = await queue.events()
    assert.deepEqual(events[0].person, { user_id: user.user.id, role: 300 })
    assert.deepEqual(
      events.slice(1).map(({ op, group_id }: { op: string; group_id: number }) => [op, group_id]),
      [
        ['remove_members', idOf('role:members')],
        ['remove_members', idOf('role:fullmembers')],
        ['add_members', idOf('role:moderators')],
      ],
    )
  })

  it('a promoted user sees more at once, and clients of a new guest register again', async () => {
    const { realm } = rig.chat
    const user = rig.account('voltemand', ROLES.guest)
    const shy = rig.account('cornelia')
    await shy.patch('/settings', { email_address_visibility: 3 })
    await shy.post('/bots', { full_name: 'Cornelia Bot', short_name: 'cornelia' })
    const common = rig.channel('rising', [])
    const queue = await user.register({ event_types: ['realm_user', 'user_group', 'realm_bot', 'stream'] })
    const heard = async () =>
      (await queue.events()).map(({ type, op, person }) => `${type} ${op}${person?.delivery_email ? ' address' : ''}`)
    await admin.patch(`/users/${user.user.id}`, { role: 400 })
    const risen = await heard()
    assert.ok(risen.includes('stream create'))
    assert.equal(risen.filter((event) => event === 'user_group add').length, realm.state.group.size)
    assert.deepEqual((await user.register()).snapshot.realm_user_groups.length, realm.state.group.size)
    await admin.patch(`/users/${user.user.id}`, { role: 200 })
    const chief = await heard()
    assert.ok(chief.includes('realm_bot add'))
    assert.ok(chief.includes('realm_user update address'))
    await rig.owner.patch(`/users/${user.user.id}`, { role: 400 })
    assert.ok((await heard()).includes('realm_bot delete'))
    await admin.patch(`/users/${user.user.id}`, { role: 600 })
    const values = { queue_id: queue.snapshot.queue_id, last_event_id: -1 }
    await user.refused('BAD_EVENT_QUEUE_ID', 'GET', '/events', values)
    const { streams } = (await user.register()).snapshot
    assert.ok(!streams.some(({ stream_id }: { stream_id: number }) => stream_id === common.id))
  })

  it('a mention that goes out of sight with a role is not unread again when it comes back', async () => {
    const { user_id } = await hamlet.post('/bots', { full_name: 'Errand Bot', short_name: 'errand' })
    const bot = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
    const channel = rig.channel('errands', [hamlet, admin])
    const content = `@**|${user_id}** go`
    const { id } = await hamlet.post('/messages', { type: 'channel', to: channel.id, topic: 'to do', content })
    const unread = async () => (await bot.register()).snapshot.unread_msgs
    assert.deepEqual((await unread()).mentions, [id])
    await admin.patch(`/users/${user_id}`, { role: ROLES.guest })
    assert.deepEqual((await unread()).mentions, [])
    await hamlet.post('/users/me/subscriptions', { subscriptions: [{ name: 'errands' }], principals: [user_id] })
    const { messages } = await bot.get('/messages', { anchor: 'newest', num_before: 1, num_after: 0 })
    assert.equal(messages[0].id, id)
    assert.deepEqual({ ...(await unread()), old_unreads_missing: false }, NOTHING_UNREAD)
  })

  it('deactivation removes subscribers from channels, and reactivation returns them', async () => {
    const user = rig.account('francisco')
    const channel = rig.channel('watch', [hamlet, user])
    const queue = await hamlet.register({ event_types: ['subscription'] })
    await admin.delete(`/users/${user.user.id}`)
    await admin.post(`/users/${user.user.id}/reactivate`)
    const told = (await queue.events()).map(({ op, stream_ids, user_ids }) => [op, stream_ids, user_ids])
    assert.deepEqual(told, [
      ['peer_remove', [channel.id], [user.user.id]],
      ['peer_add', [channel.id], [user.user.id]],
    ])
  })

  // Who may give which role to whom: the caller, the role before, the role after, and whether it is allowed.
  const ROLE_CHANGES: [caller: 'owner' | 'admin' | 'member', from: number, to: number, allowed: boolean][] = [
    ['owner', 400, 100, true],
    ['owner', 100, 400, true],
    ['owner', 200, 600, true],
    ['admin', 400, 200, true],
    ['admin', 200, 600, true],
    ['admin', 600, 300, true],
    ['admin', 400, 100, false],
    ['admin', 100, 200, false],
    ['admin', 400, 150, false],
    ['member', 600, 400, false],
  ]
  for (const [index, [caller, from, to, allowed]] of ROLE_CHANGES.entries()) {
    it(`${caller} ${allowed ? 'makes' : 'does not make'} a ${to} of a ${from}`, async () => {
      const user = rig.account(`changing${index}`, from as 400)
      const who = { owner: rig.owner, admin, member: hamlet }[caller]
      const { status } = await who.call('PATCH', `/users/${user.user.id}`, { role: to })
      assert.equal(status === 200, allowed)
      assert.equal(rig.chat.realm.state.user.get(user.user.id)!.role, allowed ? to : from)
    })
  }

  it('the only owner stays one', async () => {
    const only = await openTestChat()
    const { body } = await only.owner.refused('BAD_REQUEST', 'PATCH', `/users/${only.owner.user.id}`, { role: 400 })
    assert.match(body.msg, /only organization owner/)
    only.close()
  })

  it('bots of the service and unknown accounts are not there', async () => {
    const system = [...rig.chat.realm.state.user.all()].find(({ isSystemBot }) => isSystemBot)!
    await admin.refused('BAD_REQUEST', 'PATCH', `/users/${system.id}`, { full_name: 'Mine' })
    await admin.refused('BAD_REQUEST', 'PATCH', '/users/9999', { full_name: 'Mine' })
    await admin.refused('BAD_REQUEST', 'PATCH', `/users/${hamlet.user.id}`, { profile_data: [{ id: 1, value: 'x' }] })
  })
})

describe('DELETE /users/:user_id, DELETE /users/me, POST /users/:user_id/reactivate: deactivating and reactivating', () => {
  it('a deactivated user gets an error for it, loses their queues, and returns with their key', async () => {
    const user = rig.account('laertes')
    const queue = await hamlet.register({ event_types: ['realm_user', 'user_group'] })
    const own = await user.register()
    await admin.delete(`/users/${user.user.id}`, { deactivation_notification_comment: 'Farewell' })
    assert.equal((await user.refused('USER_DEACTIVATED', 'GET', '/users/me')).status, 401)
    const left = await queue.events()
    assert.deepEqual(left[0].person, { user_id: user.user.id, is_active: false })
    assert.deepEqual(new Set(left.slice(1).map(({ op }: { op: string }) => op)), new Set(['remove_members']))
    const { snapshot } = await hamlet.register()
    const ids = (list: { user_id: number }[]) => list.map(({ user_id }) => user_id)
    assert.ok(!ids(snapshot.realm_users).includes(user.user.id))
    assert.ok(ids(snapshot.realm_non_active_users).includes(user.user.id))

    await admin.post(`/users/${user.user.id}/reactivate`)
    assert.deepEqual((await queue.events())[0].person, { user_id: user.user.id, is_active: true })
    await user.refused('BAD_EVENT_QUEUE_ID', 'GET', '/events', { queue_id: own.snapshot.queue_id, last_event_id: -1 })
    await user.get('/users/me')
  })

  it('DELETE /users/:user_id: an active user is no longer present', async () => {
    const user = rig.account('marcellus')
    await user.post('/users/me/presence', { status: 'active' })
    const capable = { client_capabilities: { notification_settings_null: true, simplified_presence_events: true } }
    const queue = await hamlet.register({ event_types: ['presence'], ...capable })
    await admin.delete(`/users/${user.user.id}`)
    const then = Math.floor(rig.now() / 1000) - 205
    assert.deepEqual(
      (await queue.events()).map(({ presences }) => presences),
      [{ [user.user.id]: { active_timestamp: then, idle_timestamp: then } }],
    )
  })

  it('POST /users/:user_id/reactivate: messages sent to their channels meanwhile did not reach the user, and later ones do', async () => {
    const user = rig.account('reynaldo')
    const shut = { isPrivate: true, historyPublicToSubscribers: false }
    const channels = [rig.channel('hall', [rig.owner, user]), rig.channel('closet', [rig.owner, user], shut)]
    const send = async (to: number): Promise<number> =>
      (await rig.owner.post('/messages', { type: 'channel', to, topic: 'play', content: 'words' })).id
    const sent = () => Promise.all(channels.map(({ id }) => send(id)))
    const before = await sent()
    for (const _ of [1, 2]) {
      await admin.delete(`/users/${user.user.id}`)
      await sent()
      await admin.post(`/users/${user.user.id}/reactivate`)
    }
    await admin.delete(`/users/${user.user.id}`)
    const [inHall, inCloset] = await sent()
    await admin.post(`/users/${user.user.id}/reactivate`)
    assert.deepEqual((await user.get(`/messages/${inHall}`)).message.flags, ['read', 'historical'])
    await user.refused('BAD_REQUEST', 'GET', `/messages/${inCloset}`)
    const queue = await user.register({ event_types: ['message'] })
    const afterwards = await sent()
    assert.deepEqual(
      (await queue.events()).map(({ message, flags }) => [message.id, flags]),
      afterwards.map((id) => [id, []]),
    )
    const { snapshot } = await user.register()
    const unread = snapshot.unread_msgs.streams.flatMap(
      ({ unread_message_ids }: { unread_message_ids: number[] }) => unread_message_ids,
    )
    assert.deepEqual(unread.sort(), [...before, ...afterwards].sort())
    assert.equal(snapshot.subscriptions.length, 2)
  })

  it('repeating either changes nothing', async () => {
    const user = rig.account('guildenstern')
    await admin.delete(`/users/${user.user.id}`)
    const queue = await hamlet.register({ event_types: ['realm_user'] })
    await admin.delete(`/users/${user.user.id}`)
    await admin.post(`/users/${user.user.id}/reactivate`)
    await admin.post(`/users/${user.user.id}/reactivate`)
    assert.equal((await queue.events()).length, 1)
  })

  it('owners are for owners to deactivate, and the last one is for nobody', async () => {
    const second = rig.account('fortinbras', ROLES.owner)
    await admin.refused('BAD_REQUEST', 'DELETE', `/users/${second.user.id}`)
    await rig.owner.delete(`/users/${second.user.id}`)
    await admin.refused('BAD_REQUEST', 'POST', `/users/${second.user.id}/reactivate`)
    const only = await openTestChat()
    const { body } = await only.owner.refused('CANNOT_DEACTIVATE_LAST_USER', 'DELETE', '/users/me')
    assert.equal(body.is_last_owner, true)
    assert.equal(body.entity, 'organization owner')
    await only.owner.refused('CANNOT_DEACTIVATE_LAST_USER', 'DELETE', `/users/${only.owner.user.id}`)
    only.close()
  })

  it('DELETE /users/me: people go by themselves; members deactivate nobody else', async () => {
    const user = rig.account('rosencrantz')
    await user.refused('BAD_REQUEST', 'DELETE', `/users/${hamlet.user.id}`)
    await user.delete('/users/me')
    await user.refused('USER_DEACTIVATED', 'GET', '/users/me')
  })
})

describe('guests who see only whom they meet (contract 7.7)', () => {
  it('others are not there; clients that need one for each id get a placeholder', async () => {
    const own = await openTestChat()
    const { realm } = own.chat
    const limited = own.account('lucianus', ROLES.guest)
    const member = own.account('player')
    const members = realm.state.groupByName.get('role:members')!.id
    const organization = realm.state.organization.get(2)!
    realm.transaction((turn) =>
      turn.put('organization', { ...organization, groupSettings: { can_access_all_users_group: members } }),
    )
    const { members: seen } = await limited.get('/users')
    assert.deepEqual(
      seen.map(({ user_id }: { user_id: number }) => user_id),
      [limited.user.id],
    )
    await limited.refused('BAD_REQUEST', 'GET', `/users/${member.user.id}`)

    const { snapshot } = await limited.register()
    const stub = snapshot.realm_users.find(({ user_id }: { user_id: number }) => user_id === member.user.id)
    assert.equal(stub.full_name, 'Unknown user')
    assert.equal(stub.email, `user${member.user.id}@coffer.invalid`)
    assert.equal(stub.delivery_email, null)
    const capable = { client_capabilities: { notification_settings_null: true, user_list_incomplete: true } }
    const queue = await limited.register(capable)
    assert.equal(queue.snapshot.realm_users.length, 1)
    await own.owner.patch(`/users/${member.user.id}`, { full_name: 'First Player' })
    own.account('second')
    assert.deepEqual(await queue.events(), [])
    own.close()
  })

  it('neither typing nor the narrow of a queue tells of the address of others', async () => {
    const own = await openTestChat()
    try {
      const members = own.chat.realm.state.groupByName.get('role:members')!.id
      await own.owner.patch('/realm', { can_access_all_users_group: { new: members } })
      const guest = own.account('lucianus', ROLES.guest)
      const [player, king] = [own.account('player'), own.account('king')]
      const channel = own.channel('theatre', [guest, player])
      const typing = { event_types: ['typing'] }
      const [his, kings] = [await guest.register(typing), await king.register(typing)]
      await player.post('/typing', { op: 'start', to: [guest.user.id, king.user.id] })
      assert.deepEqual([(await his.events()).length, (await kings.events()).length], [0, 1])
      await player.post('/typing', { op: 'start', to: [guest.user.id] })
      assert.equal((await his.events()).length, 1)

      const heard = async (client: Client, sender: string): Promise<number> => {
        const queue = await guest.register({ event_types: ['message'], narrow: [['sender', sender]] })
        await client.post('/messages', { type: 'channel', to: channel.id, topic: 'mousetrap', content: 'words' })
        return (await queue.events()).length
      }
      const stub = `user${king.user.id}@coffer.invalid`
      assert.deepEqual([await heard(king, king.user.email), await heard(king, stub)], [0, 1])
      assert.equal(await heard(player, player.user.email.toUpperCase()), 1)
    } finally {
      own.close()
    }
  })

  it('V33, V35: who comes into their sight and leaves it is told to them alone', async () => {
    const own = await openTestChat()
    try {
      const { realm } = own.chat
      const members = realm.state.groupByName.get('role:members')!.id
      await own.owner.patch('/realm', { can_access_all_users_group: { new: members } })
      const guest = own.account('lucianus', ROLES.guest)
      const [player, king] = [own.account('player'), own.account('king')]
      const channel = own.channel('theatre', [guest])
      const open = (can: boolean) =>
        guest.register({
          event_types: ['realm_user', 'subscription', 'message'],
          client_capabilities: { notification_settings_null: true, user_list_incomplete: can },
        })
      const [capable, old, other] = [await open(true), await open(false), await king.register()]
      await player.post('/users/me/subscriptions', { subscriptions: [{ name: 'theatre' }] })
      const met = await capable.events()
      assert.deepEqual(
        met.map(({ type, op }) => `${type} ${op}`),
        ['realm_user add', 'subscription peer_add'],
        'who is told of is known by then',
      )
      assert.deepEqual([met[0].person.user_id, met[0].person.full_name], [player.user.id, 'Player Test'])
      await player.delete('/users/me/subscriptions', { subscriptions: ['theatre'] })
      const lost = await capable.events()
      assert.deepEqual(lost.at(-1).person, { user_id: player.user.id, full_name: 'Unknown user' })
      assert.deepEqual([lost.at(-1).op, lost.length], ['remove', 2])
      const placeholder = (await old.events()).at(-1)
      assert.deepEqual([placeholder.op, placeholder.person.full_name], ['add', 'Unknown user'])

      await king.post('/messages', { type: 'direct', to: [guest.user.id], content: 'lights!' })
      const [known, said] = await capable.events()
      assert.deepEqual([known.op, known.person.user_id, said.type], ['add', king.user.id, 'message'])
      const heard = (await other.events()).filter(({ type }) => type === 'realm_user')
      assert.deepEqual(heard, [])
      assert.equal(channel.name, 'theatre')
    } finally {
      own.close()
    }
  })
})
