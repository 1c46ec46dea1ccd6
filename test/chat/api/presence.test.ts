/** Presence and status: contract section 3.4, rows E76 to E81, V19 and V59. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

const seconds = () => Math.floor(rig.now() / 1000)
const SIMPLE = { client_capabilities: { notification_settings_null: true, simplified_presence_events: true } }

describe('POST /users/me/presence: reporting presence', () => {
  it('answers by address for old clients, and by id for those that ask for what is newer', async () => {
    const first = await hamlet.post('/users/me/presence', { status: 'active' })
    const at = seconds()
    const website = { client: 'website', status: 'active', timestamp: at, pushable: false }
    assert.deepEqual(first.presences, {
      'hamlet@example.com': { aggregated: { client: 'website', status: 'active', timestamp: at }, website },
    })
    assert.equal(first.server_timestamp, at)
    assert.equal(first.zephyr_mirror_active, false)

    const all = await ophelia.post('/users/me/presence', { status: 'idle', last_update_id: -1 })
    assert.deepEqual(all.presences, {
      [hamlet.user.id]: { active_timestamp: at, idle_timestamp: at },
      [ophelia.user.id]: { idle_timestamp: at },
    })
    const last_update_id = all.presence_last_update_id
    const none = await ophelia.post('/users/me/presence', { status: 'idle', last_update_id })
    assert.deepEqual(none.presences, {})
    assert.equal(none.presence_last_update_id, last_update_id)

    rig.advance(60)
    await hamlet.post('/users/me/presence', { status: 'active', ping_only: true })
    const newer = await ophelia.post('/users/me/presence', { status: 'idle', last_update_id })
    assert.deepEqual(Object.keys(newer.presences).map(Number), [hamlet.user.id, ophelia.user.id])
    assert.ok(newer.presence_last_update_id > last_update_id)
  })

  it('a ping answers without presences, slim presence is by id', async () => {
    const { presences } = await hamlet.post('/users/me/presence', { status: 'active', ping_only: true })
    assert.equal(presences, undefined)
    const slim = await hamlet.post('/users/me/presence', { status: 'active', slim_presence: true })
    assert.ok(String(hamlet.user.id) in slim.presences)
  })

  it('others are told when somebody is back, in the form that their client reads', async () => {
    rig.advance(1000)
    const modern = await ophelia.register({ event_types: ['presence'], ...SIMPLE })
    const legacy = await ophelia.register({ event_types: ['presence'] })
    await hamlet.post('/users/me/presence', { status: 'active' })
    const at = seconds()
    rig.advance(60)
    await hamlet.post('/users/me/presence', { status: 'active' })
    const [event, ...others] = await modern.events()
    assert.deepEqual(event.presences, { [hamlet.user.id]: { active_timestamp: at, idle_timestamp: at } })
    assert.deepEqual(others, [])
    const [old] = await legacy.events()
    assert.equal(old.user_id, hamlet.user.id)
    assert.equal(old.email, 'hamlet@example.com')
    assert.deepEqual(old.presence, { website: { client: 'website', status: 'active', timestamp: at, pushable: false } })
  })

  it('what is too old is left out, bots are never there, and wrong values are refused', async () => {
    rig.advance(3 * 86_400)
    const recent = await ophelia.post('/users/me/presence', {
      status: 'idle',
      last_update_id: -1,
      history_limit_days: 2,
    })
    assert.deepEqual(Object.keys(recent.presences).map(Number), [ophelia.user.id])
    await ophelia.refused('REQUEST_VARIABLE_INVALID', 'POST', '/users/me/presence', { status: 'asleep' })
    await ophelia.refused('REQUEST_VARIABLE_MISSING', 'POST', '/users/me/presence')
    await ophelia.refused('REQUEST_VARIABLE_INVALID', 'POST', '/users/me/presence', {
      status: 'idle',
      last_update_id: -2,
    })
  })

  it('the snapshot has it in the form of the client, and it outlives a stop', async () => {
    await hamlet.post('/users/me/presence', { status: 'active' })
    rig.reopen()
    const { snapshot: old } = await hamlet.register()
    assert.equal(old.presences['hamlet@example.com'].aggregated.status, 'active')
    const { snapshot } = await hamlet.register(SIMPLE)
    assert.equal(snapshot.presences[hamlet.user.id].active_timestamp, seconds())
    assert.equal(snapshot.server_timestamp, seconds())
    const { presences } = await hamlet.post('/users/me/presence', {
      status: 'active',
      last_update_id: snapshot.presence_last_update_id,
    })
    assert.deepEqual(presences, {})
  })
})

describe('GET /users/:user_id/presence, GET /realm/presence: asking for presence', () => {
  it('GET /users/:user_id/presence: of one account, by id and by address', async () => {
    await hamlet.post('/users/me/presence', { status: 'active' })
    for (const who of [hamlet.user.id, 'hamlet@example.com']) {
      const { presence } = await ophelia.get(`/users/${who}/presence`)
      assert.equal(presence.aggregated.status, 'active')
      assert.deepEqual(Object.keys(presence.website), ['status', 'timestamp'])
    }
    await ophelia.refused('BAD_REQUEST', 'GET', `/users/${rig.account('yorick').user.id}/presence`)
    await ophelia.refused('BAD_REQUEST', 'GET', '/users/9999/presence')
  })

  it('GET /realm/presence: of everybody, by address', async () => {
    const { presences, server_timestamp } = await ophelia.get('/realm/presence')
    assert.ok('hamlet@example.com' in presences)
    assert.equal(server_timestamp, seconds())
  })
})

describe('POST /users/me/status, GET /users/:user_id/status, POST /users/:user_id/status: status', () => {
  it('text and emoji are kept, told and cleared', async () => {
    const queue = await ophelia.register({ event_types: ['user_status'] })
    await hamlet.post('/users/me/status', { status_text: ' on vacation ', emoji_name: 'car' })
    const status = {
      status_text: 'on vacation',
      emoji_name: 'car',
      emoji_code: '1f697',
      reaction_type: 'unicode_emoji',
    }
    const [{ id: _, ...event }] = await queue.events()
    assert.deepEqual(event, { type: 'user_status', user_id: hamlet.user.id, ...status })
    assert.deepEqual((await ophelia.get(`/users/${hamlet.user.id}/status`)).status, status)
    assert.deepEqual((await ophelia.register()).snapshot.user_status, { [hamlet.user.id]: status })

    await hamlet.post('/users/me/status', { emoji_name: '' })
    const [cleared] = await queue.events()
    assert.equal(cleared.emoji_name, '')
    assert.equal('status_text' in cleared, false)
    await hamlet.post('/users/me/status', { status_text: '' })
    assert.deepEqual((await ophelia.register()).snapshot.user_status, {})
    assert.deepEqual((await ophelia.get(`/users/${hamlet.user.id}/status`)).status, {})
  })

  it('away of old clients is the presence setting; it hides the last activity', async () => {
    await hamlet.post('/users/me/presence', { status: 'active' })
    const queue = await ophelia.register({ event_types: ['user_status', 'presence', 'user_settings'], ...SIMPLE })
    const own = await hamlet.register({ event_types: ['user_settings'] })
    await hamlet.post('/users/me/status', { away: true })
    const then = seconds() - 205
    const [shown, away, ...others] = await queue.events()
    assert.deepEqual(shown.presences, { [hamlet.user.id]: { active_timestamp: then, idle_timestamp: then } })
    assert.equal(away.away, true)
    assert.deepEqual(others, [])
    const [setting] = await own.events()
    assert.deepEqual([setting.property, setting.value], ['presence_enabled', false])
    assert.deepEqual((await ophelia.register()).snapshot.user_status, { [hamlet.user.id]: { away: true } })

    rig.advance(600)
    await hamlet.post('/users/me/presence', { status: 'active' })
    assert.deepEqual(await queue.events(), [])
    await hamlet.post('/users/me/status', { away: false })
    const [back, here] = await queue.events()
    assert.deepEqual(back.presences, { [hamlet.user.id]: { active_timestamp: seconds(), idle_timestamp: seconds() } })
    assert.equal(here.away, false)
  })

  it('stays for deactivated users, as clients keep it', async () => {
    const user = rig.account('laertes')
    await user.post('/users/me/status', { status_text: 'in France' })
    await rig.owner.delete(`/users/${user.user.id}`)
    assert.ok(String(user.user.id) in (await ophelia.register()).snapshot.user_status)
  })

  it('nothing, too much, and emoji that are none are refused', async () => {
    await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/status')
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/users/me/status', { status_text: 'x'.repeat(61) })
    await hamlet.post('/users/me/status', { status_text: '😀'.repeat(60) })
    await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/status', { emoji_name: 'no_such_emoji' })
    await hamlet.refused('BAD_REQUEST', 'POST', '/users/me/status', { emoji_code: '1f697' })
    await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/users/me/status', {
      emoji_name: 'car',
      reaction_type: 'other',
    })
  })

  it('POST /users/:user_id/status: administrators set that of others, members do not', async () => {
    const admin = rig.account('iago', ROLES.administrator)
    await admin.post(`/users/${ophelia.user.id}/status`, { status_text: 'in a brook' })
    assert.equal((await hamlet.get(`/users/${ophelia.user.id}/status`)).status.status_text, 'in a brook')
    await hamlet.refused('BAD_REQUEST', 'POST', `/users/${ophelia.user.id}/status`, { status_text: 'no' })
    await admin.refused('BAD_REQUEST', 'POST', '/users/9999/status', { status_text: 'no' })
  })
})
