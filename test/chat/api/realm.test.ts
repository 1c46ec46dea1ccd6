/** Settings of the organization: contract rows E103, E104, E119, E124, sections 2.6 and 7.2; V22, V23, V24, V36. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { REALM_GROUP_SETTINGS } from '../../../firmware/chat/realm/model/group-settings.ts'
import { REALM_SETTINGS, type RealmSetting } from '../../../firmware/chat/realm/model/realm-settings.ts'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago: admin } = chatForEachTest({ iago: 'administrator' })

type Json = Record<string, unknown>

const OTHER: Json = {
  name: 'Elsinore',
  description: 'A *castle*',
  org_type: 10,
  default_code_block_language: 'python',
  default_language: 'de',
  message_content_edit_limit_seconds: 'unlimited',
  message_content_delete_limit_seconds: 3600,
  move_messages_within_stream_limit_seconds: 'unlimited',
  move_messages_between_streams_limit_seconds: 60,
  message_edit_history_visibility_policy: 'moves',
  topics_policy: 'disable_empty_topic',
  message_retention_days: 30,
  page_offline_days: 7,
  welcome_message_custom_text: 'Welcome!',
  digest_weekday: 3,
  waiting_period_threshold: 5,
  default_avatar_source: 'G',
  gif_rating_policy: 4,
  video_chat_provider: 3,
  jitsi_server_url: 'https://meet.example.com',
}

const group = (name: string): number => rig.chat.realm.state.groupByName.get(name)!.id
const withoutIds = (events: Json[]) => events.map(({ id: _, ...event }) => event)

describe('PATCH /realm: each setting of 2.6', () => {
  const changeable = Object.entries<RealmSetting>(REALM_SETTINGS).filter(([, { who }]) => who !== null)
  for (const [name, { who, event, default: value }] of changeable)
    it(`${name} is changed by ${who}, answered, told and in the next registration`, async () => {
      const channel = name.endsWith('_stream_id') || name.endsWith('_channel_id')
      const play = (): number =>
        rig.channel('play', [rig.owner, admin], { isPrivate: name.startsWith('moderation') }).id
      const wanted = channel ? play() : name in OTHER ? OTHER[name] : !value
      if (who === 'owners') {
        const { body } = await admin.refused('BAD_REQUEST', 'PATCH', '/realm', { [name]: wanted })
        assert.match(body.msg, /owner/)
      }
      await rig.account('hamlet').refused('BAD_REQUEST', 'PATCH', '/realm', { [name]: wanted })
      const queue = await rig.account('horatio').register({ event_types: ['realm'] })
      const answer = await (who === 'owners' ? rig.owner : admin).patch('/realm', { [name]: wanted })
      const stored = wanted === 'unlimited' ? null : wanted
      const { result: _, msg: __, ...changed } = answer
      assert.deepEqual(changed, { [name]: typeof stored === 'string' ? 'updated' : stored })
      const data = { [name]: stored, ...(name === 'topics_policy' && { mandatory_topics: true }) }
      const html = name === 'description' && { rendered_description: '<p>A <em>castle</em></p>' }
      assert.deepEqual(withoutIds(await queue.events()), [
        event === 'update'
          ? { type: 'realm', op: 'update', property: name, value: stored }
          : { type: 'realm', op: 'update_dict', property: 'default', data: { ...data, ...html } },
      ])
      rig.reopen()
      const { snapshot } = await rig.owner.register({ fetch_event_types: ['realm'] })
      for (const [property, value] of Object.entries(data)) assert.deepEqual(snapshot[`realm_${property}`], value)

      const again = await rig.owner.patch('/realm', { [name]: wanted })
      assert.deepEqual(again, { result: 'success', msg: '' }, 'what is so already is no change')
    })

  it('a value that is none is refused, and nothing of the call is done', async () => {
    const bad: Json = {
      name: ' ',
      message_content_edit_limit_seconds: 0,
      digest_weekday: 7,
      org_type: 11,
      invite_required: 'x',
    }
    for (const [name, value] of Object.entries(bad)) {
      const { body } = await rig.owner.call('PATCH', '/realm', { description: 'changed', [name]: value })
      assert.equal(body.result, 'error', name)
    }
    await rig.owner.refused('BAD_REQUEST', 'PATCH', '/realm', {
      description: 'changed',
      moderation_request_channel_id: 9999,
    })
    assert.equal((await rig.owner.register()).snapshot.realm_description, '')
  })

  it('the policy of edit histories is taken as a number, too (11.4)', async () => {
    assert.deepEqual(
      (await admin.patch('/realm', { message_edit_history_visibility_policy: 3 }))
        .message_edit_history_visibility_policy,
      'updated',
    )
    const { snapshot } = await admin.register()
    assert.equal(snapshot.realm_message_edit_history_visibility_policy, 'none')
    assert.equal(snapshot.realm_allow_edit_history, false)
  })

  it('what no longer is, is reported as ignored; what only others change is refused', async () => {
    const answer = await admin.patch('/realm', { mandatory_topics: true, owner_full_content_access: true })
    assert.deepEqual(answer.ignored_parameters_unsupported, ['mandatory_topics', 'owner_full_content_access'])
    await rig.owner.refused('BAD_REQUEST', 'PATCH', '/realm', { string_id: 'castle' })
    await rig.owner.refused('BAD_REQUEST', 'PATCH', '/realm', { authentication_methods: { Email: false } })
    await rig.owner.refused('BAD_REQUEST', 'PATCH', '/realm', { authentication_methods: { Google: true } })
    await admin.refused('BAD_REQUEST', 'PATCH', '/realm', { authentication_methods: { Email: true } })
    await rig.owner.patch('/realm', { authentication_methods: { Email: true } })
  })

  it('events of several at once: one each, and one for those that go together', async () => {
    const queue = await admin.register({ event_types: ['realm'] })
    await admin.patch('/realm', {
      digest_weekday: 0,
      allow_message_editing: false,
      topics_policy: 'disable_empty_topic',
    })
    const events = await queue.events()
    assert.deepEqual(
      events.map(({ op }) => op),
      ['update', 'update_dict'],
    )
    assert.deepEqual(events[1].data, {
      allow_message_editing: false,
      topics_policy: 'disable_empty_topic',
      mandatory_topics: true,
    })
  })

  it('the longer waiting period takes new members out of the full ones', async () => {
    const queue = await admin.register({ event_types: ['user_group'] })
    const { id } = rig.account('osric').user
    await queue.events()
    await rig.owner.patch('/realm', { waiting_period_threshold: 3 })
    const left = (await queue.events()).filter(({ user_ids }) => user_ids.includes(id))
    assert.deepEqual(
      left.map(({ op, group_id }) => [op, group_id]),
      [['remove_members', group('role:fullmembers')]],
    )
    await rig.owner.patch('/realm', { waiting_period_threshold: 0 })
    assert.deepEqual(
      (await queue.events()).filter(({ user_ids }) => user_ids.includes(id)).map(({ op }) => op),
      ['add_members'],
    )
  })

  it('GET /server_settings: has the name, the description, and whether spectators are allowed', async () => {
    await admin.patch('/realm', { name: 'Elsinore', description: 'A **castle**', enable_spectator_access: true })
    rig.channel('open', [rig.owner], { isWebPublic: true })
    const { body } = await rig.anonymous('GET', '/server_settings')
    assert.equal(body.realm_name, 'Elsinore')
    assert.equal(body.realm_description, '<p>A <strong>castle</strong></p>')
    assert.equal(body.realm_web_public_access_enabled, true)
  })
})

describe('PATCH /realm: each right of 7.2', () => {
  for (const [name, setting] of Object.entries(REALM_GROUP_SETTINGS))
    it(`${name} takes a group, people and groups, or says why not`, async () => {
      const { ownersOnly, only, nobody, everyone } = setting as {
        ownersOnly: boolean
        only: readonly string[] | null
        nobody: boolean
        everyone: boolean
      }
      const set = (client: Client, value: unknown, old?: unknown) =>
        client.call('PATCH', '/realm', { [name]: { new: value, ...(old !== undefined && { old }) } })
      const allowed = only?.find((one) => one !== setting.default) ?? 'role:fullmembers'
      const before = group(setting.default)
      if (ownersOnly) assert.match((await set(admin, group(allowed))).body.msg, /owner/)
      const queue = await admin.register({ event_types: ['realm'] })
      assert.equal((await set(rig.owner, group(allowed), group('role:internet'))).body.code, 'EXPECTATION_MISMATCH')
      assert.deepEqual((await set(rig.owner, group(allowed), before)).body, {
        result: 'success',
        msg: '',
        [name]: group(allowed),
      })
      assert.deepEqual(
        (await queue.events()).map(({ data }) => data),
        [{ [name]: group(allowed) }],
      )
      assert.equal((await admin.register()).snapshot[`realm_${name}`], group(allowed))

      const people = { direct_members: [admin.user.id], direct_subgroups: [group('role:owners')] }
      const answer = await set(rig.owner, people)
      if (only !== null) {
        assert.equal(answer.body.code, 'SYSTEM_GROUP_REQUIRED')
        assert.equal(answer.body.setting_name, name)
      } else {
        assert.deepEqual(answer.body[name], people)
        const { snapshot } = await admin.register()
        assert.deepEqual(snapshot[`realm_${name}`], people)
        for (const [other, isAllowed] of [
          ['role:nobody', nobody],
          ['role:everyone', everyone],
          ['role:internet', false],
        ] as const)
          assert.equal((await set(rig.owner, group(other))).status === 200, isAllowed, other)
      }
      assert.equal((await set(rig.owner, 9999)).status, 400)
    })

  it('a group that is deactivated is refused, and people in groups within groups hold the right', async () => {
    const { realm } = rig.chat
    const [hamlet, horatio] = [rig.account('hamlet'), rig.account('horatio')]
    const make = (name: string, members: number[], subgroups: number[], isDeactivated = false): number =>
      realm.transaction((turn) => {
        const id = turn.nextId('group')
        const made = { description: '', dateCreated: 0, creatorId: null, isSystem: false, groupSettings: {} }
        turn.put('group', { ...made, id, name, members, subgroups, isDeactivated })
        return id
      })
    const inner = make('students', [hamlet.user.id], [])
    const outer = make('friends', [], [inner])
    const gone = make('gone', [horatio.user.id], [], true)
    const set = (value: unknown) => rig.owner.call('PATCH', '/realm', { can_add_custom_emoji_group: { new: value } })
    for (const value of [gone, { direct_members: [hamlet.user.id], direct_subgroups: [gone] }])
      assert.equal((await set(value)).body.code, 'BAD_REQUEST')
    assert.equal((await set(outer)).status, 200)
    // Clients that may ask for the picture do so next.
    assert.match((await hamlet.call('POST', '/realm/emoji/yorick')).body.msg, /exactly one file/)
    assert.equal((await horatio.call('POST', '/realm/emoji/yorick')).status, 403)
    const people = { direct_members: [horatio.user.id], direct_subgroups: [inner] }
    assert.deepEqual((await set(people)).body.can_add_custom_emoji_group, people)
    assert.match((await horatio.call('POST', '/realm/emoji/yorick')).body.msg, /exactly one file/)
    const other = { direct_members: [], direct_subgroups: [inner, outer] }
    const answer = await rig.owner.call('PATCH', '/realm', { can_add_custom_emoji_group: { new: inner, old: other } })
    assert.equal(answer.body.code, 'EXPECTATION_MISMATCH')
    const same = { direct_members: [horatio.user.id, horatio.user.id], direct_subgroups: [inner] }
    await rig.owner.patch('/realm', { can_add_custom_emoji_group: { new: inner, old: same } })
  })

  it('guests whose sight of others changes begin anew', async () => {
    const guest = rig.account('lucianus', ROLES.guest)
    const queue = await guest.register()
    await admin.patch('/realm', { can_access_all_users_group: { new: group('role:members') } })
    await guest.refused('BAD_EVENT_QUEUE_ID', 'GET', '/events', {
      queue_id: queue.snapshot.queue_id,
      last_event_id: -1,
    })
    assert.deepEqual((await guest.get('/users')).members.length, 1)
  })
})

describe('PATCH /realm/user_settings_defaults: settings of accounts to come', () => {
  it('are told, kept, and what new people begin with; bots and those who are there do not', async () => {
    const queue = await admin.register({ event_types: ['realm_user_settings_defaults'] })
    const chosen = {
      color_scheme: 2,
      email_address_visibility: 4,
      notification_sound: 'ding',
      twenty_four_hour_time: true,
    }
    await admin.patch('/realm/user_settings_defaults', chosen)
    const told = (await queue.events()).map(({ op, property, value }) => [op, property, value])
    assert.deepEqual(
      told.sort(),
      Object.entries(chosen)
        .map(([property, value]) => ['update', property, value])
        .sort(),
    )
    rig.reopen()
    const { snapshot } = await admin.register()
    for (const [name, value] of Object.entries(chosen)) assert.equal(snapshot.realm_user_settings_defaults[name], value)
    assert.equal(snapshot.user_settings.color_scheme, 1)
    const { user_id } = await admin.post('/users', {
      email: 'ophelia@example.com',
      password: 'a password of hers',
      full_name: 'Ophelia',
    })
    const ophelia = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
    const own = (await ophelia.register()).snapshot
    for (const [name, value] of Object.entries(chosen)) assert.equal(own.user_settings[name], value)
    assert.equal((await admin.get(`/users/${user_id}`)).user.email, `user${user_id}@coffer.invalid`)
    await admin.patch('/realm/user_settings_defaults', chosen)
    assert.deepEqual(await queue.events(), [])
  })

  it('have the five of followed topics (189), and none of what is personal', async () => {
    const five = [
      'desktop_notifications',
      'email_notifications',
      'push_notifications',
      'audible_notifications',
      'wildcard_mentions_notify',
    ]
    const values = Object.fromEntries(five.map((name) => [`enable_followed_topic_${name}`, false]))
    assert.deepEqual(await admin.patch('/realm/user_settings_defaults', values), { result: 'success', msg: '' })
    const personal = {
      default_language: 'de',
      timezone: 'Europe/Berlin',
      allow_private_data_export: true,
      enable_login_emails: false,
      enable_marketing_emails: false,
    }
    const answer = await admin.patch('/realm/user_settings_defaults', personal)
    assert.deepEqual(answer.ignored_parameters_unsupported, Object.keys(personal).sort())
    await admin.refused('REQUEST_VARIABLE_INVALID', 'PATCH', '/realm/user_settings_defaults', { color_scheme: 9 })
  })
})

describe('POST /realm/test_welcome_bot_custom_message: trying the welcome message', () => {
  it('the Welcome Bot sends it on request', async () => {
    const { message_id } = await admin.post('/realm/test_welcome_bot_custom_message', {
      welcome_message_custom_text: ' Hello, *you* ',
    })
    const { message } = await admin.get(`/messages/${message_id}`)
    assert.equal(message.sender_full_name, 'Welcome Bot')
    assert.equal(message.content, '<p>Hello, <em>you</em></p>')
    for (const bad of ['', ' ', 'x'.repeat(8001)])
      await admin.refused('REQUEST_VARIABLE_INVALID', 'POST', '/realm/test_welcome_bot_custom_message', {
        welcome_message_custom_text: bad,
      })
  })
})

describe('POST /users: a new user', () => {
  const come = (name: string) =>
    admin.post('/users', { email: `${name}@example.com`, password: 'a long password', full_name: `${name} Test` })

  it('gets the welcome message of the organization, and is announced if it wants that', async () => {
    const channel = rig.channel('lobby', [admin])
    const queue = await admin.register({ event_types: ['message'] })
    await come('osric')
    assert.deepEqual(await queue.events(), [], 'nothing is said unless it is set')
    await admin.patch('/realm', {
      welcome_message_custom_text: 'Mind the *arras*',
      signup_announcements_stream_id: channel.id,
    })
    const { user_id } = await come('ophelia')
    const [{ message }] = await queue.events()
    assert.deepEqual(
      [message.subject, message.sender_full_name, message.content],
      ['signups', 'Notification Bot', `@_**ophelia Test|${user_id}** joined this organization.`],
    )
    const ophelia = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
    const { messages } = await ophelia.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0 })
    const direct = messages.filter(({ type }: { type: string }) => type === 'private')
    assert.deepEqual(
      direct.map((one: { sender_full_name: string; content: string }) => [one.sender_full_name, one.content]),
      [['Welcome Bot', '<p>Mind the <em>arras</em></p>']],
    )
    assert.deepEqual((await ophelia.register()).snapshot.unread_msgs.pms[0].unread_message_ids, [direct[0].id])
  })
})

describe('POST /realm/deactivate: deactivating the organization', () => {
  it('ends waiting polls and refuses every request, until the administrator of the server reactivates it', async () => {
    const queue = await admin.register()
    const waiting = admin.call('GET', '/events', { queue_id: queue.snapshot.queue_id, last_event_id: -1 })
    await new Promise(setImmediate)
    await admin.refused('BAD_REQUEST', 'POST', '/realm/deactivate')
    await rig.owner.refused('BAD_REQUEST', 'POST', '/realm/deactivate', { deletion_delay_days: 14 })
    await rig.owner.post('/realm/deactivate', { deletion_delay_days: null })
    const { body } = await waiting
    assert.deepEqual(withoutIds(body.events), [{ type: 'realm', op: 'deactivated', realm_id: 2 }])
    await admin.refused('REALM_DEACTIVATED', 'GET', '/users/me')
    await rig.owner.refused('REALM_DEACTIVATED', 'PATCH', '/realm', { name: 'Mine' })
    await rig.chat.recoverOwner('olivia@example.com', 'another password of hers')
    await admin.get('/users/me')
  })
})
