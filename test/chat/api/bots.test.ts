/** Bots, their storage, user groups and emoji: contract sections 3.5 to 3.7, rows E89 to E95 and E114. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { DECLARATIONS, OTHER_DECLARATIONS } from '../../../firmware/chat/api/declarations.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const {
  rig,
  iago: admin,
  hamlet,
  ophelia,
} = await chatSuite({ iago: 'administrator', hamlet: 'member', ophelia: 'member' })

const newBot = async (name: string, owner = hamlet) =>
  owner.post('/bots', { full_name: `${name} the Bot`, short_name: name })

const botClient = (id: number) => rig.clientOf(rig.chat.realm.state.user.get(id)!)

describe('POST /bots: making a bot', () => {
  it('it has an address, a key that works, and is known to everybody', async () => {
    const [mine, other, chief] = await Promise.all(
      [hamlet, ophelia, admin].map((client) => client.register({ event_types: ['realm_user', 'realm_bot'] })),
    )
    const answer = await newBot('yorick')
    assert.match(answer.api_key, /^[a-zA-Z0-9]{32}$/)
    assert.match(answer.avatar_url, /^\/user_avatars\//)
    assert.equal(answer.default_sending_stream, null)
    assert.equal(answer.default_all_public_streams, false)

    const [person] = await other!.events()
    assert.equal(person.person.email, 'yorick-bot@coffer.invalid')
    assert.equal(person.person.is_bot, true)
    assert.equal(person.person.bot_owner_id, hamlet.user.id)
    assert.equal(person.person.delivery_email, 'yorick-bot@coffer.invalid')
    assert.ok(!('profile_data' in person.person))
    const added = (await mine!.events()).filter(({ type }) => type === 'realm_bot')
    const bot = {
      user_id: answer.user_id,
      email: 'yorick-bot@coffer.invalid',
      full_name: 'yorick the Bot',
      bot_type: 1,
      is_active: true,
      avatar_url: answer.avatar_url,
      owner_id: hamlet.user.id,
      default_sending_stream: null,
      default_events_register_stream: null,
      default_all_public_streams: false,
      services: [],
    }
    assert.deepEqual(
      added.map(({ op, bot }) => ({ op, bot })),
      [{ op: 'add', bot }],
    )
    assert.equal((await chief!.events()).filter(({ type }) => type === 'realm_bot').length, 1)
    assert.deepEqual((await hamlet.register()).snapshot.realm_bots, [bot])
    assert.deepEqual((await ophelia.register()).snapshot.realm_bots, [])

    const authorization = `Basic ${Buffer.from(`yorick-bot@coffer.invalid:${answer.api_key}`).toString('base64')}`
    const { body } = await hamlet.call('GET', '/users/me', {}, { authorization })
    assert.equal(body.user_id, answer.user_id)
    assert.equal(body.bot_type, 1)
  })

  it('GET /bots: a key is shown again to its owner, also after a stop', async () => {
    const { api_key } = await newBot('shown')
    rig.reopen()
    const { bots } = await hamlet.get('/bots')
    const bot = bots.find(({ username }: { username: string }) => username === 'shown-bot@coffer.invalid')
    assert.equal(bot.api_key, api_key)
    assert.deepEqual((await ophelia.get('/bots')).bots, [])
  })

  it('refuses names that are taken or none, other kinds, and callers without the right', async () => {
    await newBot('taken')
    const good = { full_name: 'Good Bot', short_name: 'good' }
    const refuse = (code: string, values: object, who = hamlet) =>
      who.refused(code, 'POST', '/bots', { ...good, ...values })
    await refuse('BAD_REQUEST', { short_name: 'taken' })
    await refuse('BAD_REQUEST', { full_name: 'taken the Bot' })
    await refuse('REQUEST_VARIABLE_INVALID', { short_name: 'a b' })
    await refuse('REQUEST_VARIABLE_INVALID', { full_name: '' })
    await refuse('REQUEST_VARIABLE_INVALID', { bot_type: 0 })
    await refuse('STREAM_DOES_NOT_EXIST', { default_sending_stream: 'nowhere' })
    await refuse('BAD_REQUEST', {}, rig.account('polonius', ROLES.guest))
    await refuse('BAD_REQUEST', {}, botClient((await newBot('parent')).user_id))
  })

  it('type 2 sends and can do nothing else', async () => {
    rig.channel('alarms', [hamlet])
    const { user_id, api_key } = await hamlet.post('/bots', { full_name: 'Alarm', short_name: 'alarm', bot_type: 2 })
    const { realm_bots } = (await hamlet.register()).snapshot
    const shown = realm_bots.find((bot: { user_id: number }) => bot.user_id === user_id)
    assert.deepEqual([shown.bot_type, shown.services], [2, []])
    assert.equal((await hamlet.get(`/bots/${user_id}/api_key`)).api_key, api_key)
    const bot = botClient(user_id)
    await bot.post('/messages', { type: 'channel', to: 'alarms', topic: 'fire', content: 'It burns' })
    const headers = { authorization: `Basic ${Buffer.from(`${bot.user.email}:${bot.key}`).toString('base64')}` }
    const all = [...DECLARATIONS.map((one) => ({ ...one, path: `/api/v1${one.path}` })), ...OTHER_DECLARATIONS]
    for (const { method, path, who } of all) {
      if (who === 'nobody' || who === 'webhook' || path === '/api/v1/messages') continue
      const url = `http://chat.example${path.replaceAll(/:\w+/g, '1')}`
      const answer = await rig.chat.api.request(url, { method, headers })
      const { code } = (await answer.json()) as { code: string }
      assert.deepEqual([answer.status, code], [401, 'UNAUTHORIZED'], `${method} ${path}`)
    }
  })

  it('is for the members of can_create_bots_group, those that only send also for a group of their own', async () => {
    const { realm } = rig.chat
    const organization = realm.state.organization.get(2)!
    const administrators = realm.state.groupByName.get('role:administrators')!.id
    realm.transaction((turn) =>
      turn.put('organization', { ...organization, groupSettings: { can_create_bots_group: administrators } }),
    )
    await hamlet.refused('BAD_REQUEST', 'POST', '/bots', { full_name: 'Mine', short_name: 'mine' })
    await newBot('of-admin', admin)
    const sending = { full_name: 'Sending', short_name: 'sending', bot_type: 2 }
    await hamlet.post('/bots', sending)
    const both = { can_create_bots_group: administrators, can_create_write_only_bots_group: administrators }
    realm.transaction((turn) => turn.put('organization', { ...organization, groupSettings: both }))
    await hamlet.refused('BAD_REQUEST', 'POST', '/bots', { ...sending, full_name: 'Other', short_name: 'other' })
    await admin.post('/bots', { ...sending, full_name: 'Other', short_name: 'other' })
    realm.transaction((turn) => turn.put('organization', organization))
  })
})

describe('PATCH /bots/:bot_id: changing a bot', () => {
  it('names, told to those who manage it and to all', async () => {
    const { user_id } = await newBot('changing')
    const mine = await hamlet.register({ event_types: ['realm_bot', 'realm_user'] })
    const answer = await hamlet.patch(`/bots/${user_id}`, {
      full_name: 'Changed',
      short_name: 'changed',
      default_all_public_streams: true,
    })
    assert.equal(answer.full_name, 'Changed')
    assert.equal(answer.email, 'changed-bot@coffer.invalid')
    assert.equal(answer.default_all_public_streams, true)
    const events = (await mine.events()).map(({ person, bot }) => person ?? bot)
    assert.deepEqual(events, [
      { user_id, full_name: 'Changed' },
      { user_id, full_name: 'Changed' },
      { user_id, new_email: 'changed-bot@coffer.invalid' },
      { user_id, email: 'changed-bot@coffer.invalid' },
      { user_id, delivery_email: 'changed-bot@coffer.invalid' },
      { user_id, default_all_public_streams: true },
    ])
    await hamlet.refused('BAD_REQUEST', 'PATCH', `/bots/${user_id}`, { short_name: 'taken' })
  })

  it('a new owner: the old one is told that it is gone, the new one gets it', async () => {
    const { user_id } = await newBot('sold')
    const queues = await Promise.all(
      [hamlet, ophelia, admin].map((client) => client.register({ event_types: ['realm_bot', 'realm_user'] })),
    )
    const { bot_owner } = await admin.patch(`/bots/${user_id}`, { bot_owner_id: ophelia.user.id })
    assert.equal(bot_owner, 'ophelia@example.com')
    const heard = await Promise.all(
      queues.map(async (queue) => (await queue.events()).map(({ type, op }) => `${type} ${op}`)),
    )
    assert.deepEqual(heard, [
      ['realm_bot delete', 'realm_user update'],
      ['realm_bot add', 'realm_user update'],
      ['realm_bot update', 'realm_user update'],
    ])
    await hamlet.refused('BAD_REQUEST', 'PATCH', `/bots/${user_id}`, { full_name: 'Still Mine' })
    const bot = botClient(user_id).user.id
    for (const bot_owner_id of [9999, bot]) {
      await admin.refused('BAD_REQUEST', 'PATCH', `/bots/${user_id}`, { bot_owner_id })
    }
  })

  it('a role is for administrators to give', async () => {
    const owner = rig.account('promoter', ROLES.moderator)
    const { user_id } = await newBot('promoted', owner)
    await owner.refused('BAD_REQUEST', 'PATCH', `/bots/${user_id}`, { role: 300 })
    await admin.patch(`/bots/${user_id}`, { role: 300 })
    assert.equal((await hamlet.get(`/users/${user_id}`)).user.role, 300)
    await admin.refused('BAD_REQUEST', 'PATCH', `/bots/${user_id}`, { role: 100 })
  })

  // Who may change, renew the key of and deactivate a bot of Hamlet's.
  const CALLERS: [name: string, client: () => Client, allowed: boolean][] = [
    ['its owner', () => hamlet, true],
    ['an administrator', () => admin, true],
    ['an owner of the organization', () => rig.owner, true],
    ['another member', () => ophelia, false],
    ['a moderator', () => rig.account('moderator', ROLES.moderator), false],
    ['a guest', () => rig.account('a-guest', ROLES.guest), false],
  ]
  for (const [index, [name, client, allowed]] of CALLERS.entries()) {
    it(`${name} ${allowed ? 'manages' : 'does not manage'} it (E91, E92, E93)`, async () => {
      const { user_id, api_key } = await newBot(`managed${index}`)
      const caller = client()
      const calls = [
        await caller.call('PATCH', `/bots/${user_id}`, { full_name: `Managed ${index}` }),
        await caller.call('POST', `/bots/${user_id}/api_key/regenerate`),
        await caller.call('DELETE', `/bots/${user_id}`),
      ]
      assert.deepEqual(
        calls.map(({ status }) => status),
        allowed ? [200, 200, 200] : [400, 400, 400],
      )
      if (!allowed) for (const { body } of calls) assert.equal(body.msg, 'No such bot')
      else assert.notEqual(calls[1]!.body.api_key, api_key)
    })
  }

  it('nobody manages people, bots of the service, or what there is not', async () => {
    const system = [...rig.chat.realm.state.user.all()].find(({ isSystemBot }) => isSystemBot)!
    for (const id of [ophelia.user.id, system.id, 9999]) {
      await rig.owner.refused('BAD_REQUEST', 'PATCH', `/bots/${id}`, { full_name: 'Mine' })
      await rig.owner.refused('BAD_REQUEST', 'DELETE', `/bots/${id}`)
    }
  })
})

describe('DELETE /bots/:bot_id, POST /users/:user_id/reactivate: a bot goes and comes back', () => {
  it('with its owner, and by itself', async () => {
    const owner = rig.account('claudius')
    const { user_id } = await newBot('servant', owner)
    const bot = botClient(user_id)
    const queue = await admin.register({ event_types: ['realm_bot'] })
    await admin.delete(`/users/${owner.user.id}`)
    await bot.refused('USER_DEACTIVATED', 'GET', '/users/me')
    const told = (await queue.events()).map(({ op, bot }) => [op, bot])
    assert.deepEqual(told, [['update', { user_id, is_active: false }]])
    await admin.post(`/users/${owner.user.id}/reactivate`)
    await bot.refused('USER_DEACTIVATED', 'GET', '/users/me')
    await admin.post(`/users/${user_id}/reactivate`)
    await bot.get('/users/me')
    assert.deepEqual(
      (await queue.events()).map(({ bot }) => bot.is_active),
      [true],
    )
    await owner.delete(`/bots/${user_id}`)
    await bot.refused('USER_DEACTIVATED', 'GET', '/users/me')
    assert.deepEqual((await owner.get('/bots')).bots, [])
    await owner.post('/bots', { full_name: 'servant the Bot', short_name: 'successor' })
    await admin.refused('BAD_REQUEST', 'POST', `/users/${user_id}/reactivate`)
  })
})

describe('/bot_storage: what a bot keeps', () => {
  it('is put, read and taken away by name, and outlives a stop', async () => {
    const bot = botClient((await newBot('keeper')).user_id)
    await bot.put('/bot_storage', { storage: { count: '1', name: 'élan', 'a:b': 'x' } })
    await bot.put('/bot_storage', { storage: { count: '2' } })
    rig.reopen()
    assert.deepEqual((await bot.get('/bot_storage')).storage, { count: '2', name: 'élan', 'a:b': 'x' })
    assert.deepEqual((await bot.get('/bot_storage', { keys: ['count'] })).storage, { count: '2' })
    await bot.refused('BAD_REQUEST', 'GET', '/bot_storage', { keys: ['count', 'unknown'] })
    await bot.refused('BAD_REQUEST', 'DELETE', '/bot_storage', { keys: ['count', 'unknown'] })
    await bot.delete('/bot_storage', { keys: ['count', 'count'] })
    assert.deepEqual((await bot.get('/bot_storage')).storage, { name: 'élan', 'a:b': 'x' })
    await bot.delete('/bot_storage')
    assert.deepEqual((await bot.get('/bot_storage')).storage, {})
  })

  it("is nobody else's, and text", async () => {
    const [one, two] = [botClient((await newBot('one')).user_id), botClient((await newBot('two')).user_id)]
    await one.put('/bot_storage', { storage: { secret: 'x' } })
    assert.deepEqual((await two.get('/bot_storage')).storage, {})
    await hamlet.refused('BAD_REQUEST', 'GET', '/bot_storage')
    await two.refused('REQUEST_VARIABLE_INVALID', 'PUT', '/bot_storage', { storage: { count: 1 } })
  })

  it('has at most 10 MB, and nothing is kept of what is too much', async () => {
    const bot = botClient((await newBot('hoarder')).user_id)
    const piece = 'x'.repeat(999_996)
    for (let index = 0; index < 10; index++) await bot.put('/bot_storage', { storage: { [`key${index}`]: piece } })
    await bot.refused('BAD_REQUEST', 'PUT', '/bot_storage', { storage: { k: 'v' } })
    await bot.refused('BAD_REQUEST', 'GET', '/bot_storage', { keys: ['k'] })
    await bot.put('/bot_storage', { storage: { key0: 'small' } })
    await bot.put('/bot_storage', { storage: { k: 'v' } })
  })
})

describe('GET /user_groups, GET /realm/emoji: groups and emoji', () => {
  it('GET /user_groups: members read all groups, guests none', async () => {
    const { user_groups } = await hamlet.get('/user_groups')
    assert.equal(user_groups.length, 8)
    const { user_groups: withGone } = await hamlet.get('/user_groups', { include_deactivated_groups: true })
    assert.deepEqual(withGone, user_groups)
    const moderators = user_groups.find(({ name }: { name: string }) => name === 'role:moderators')
    assert.equal(moderators.is_system_group, true)
    assert.deepEqual(user_groups, (await hamlet.register()).snapshot.realm_user_groups)
    await rig.account('other-guest', ROLES.guest).refused('BAD_REQUEST', 'GET', '/user_groups')
  })

  it('GET /realm/emoji: lists custom emoji by id, also deactivated ones', async () => {
    assert.deepEqual((await hamlet.get('/realm/emoji')).emoji, {})
    const emoji = {
      id: 7,
      name: 'skull',
      authorId: hamlet.user.id,
      sourceUrl: '/user_avatars/2/emoji/skull.png',
      stillUrl: null,
    }
    rig.chat.realm.transaction((turn) => turn.put('realmEmoji', { ...emoji, isDeactivated: true }))
    const expected = {
      7: {
        id: '7',
        name: 'skull',
        source_url: emoji.sourceUrl,
        still_url: null,
        deactivated: true,
        author_id: hamlet.user.id,
      },
    }
    assert.deepEqual((await hamlet.get('/realm/emoji')).emoji, expected)
    assert.deepEqual((await hamlet.register()).snapshot.realm_emoji, expected)
  })
})
