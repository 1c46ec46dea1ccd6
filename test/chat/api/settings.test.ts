/** Settings of users: contract sections 2.7 and 3.4.2, rows E84 and E88. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Setting } from '../../../firmware/chat/realm/model/setting.ts'
import {
  NOT_IN_BULK,
  USER_SETTINGS,
  type UserSetting,
  userSettingDefaults,
} from '../../../firmware/chat/realm/model/user-settings.ts'
import { type Client, OWNER_PASSWORD } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

let nowMs = 0
const {
  rig,
  iago: admin,
  hamlet,
} = await chatSuite({ iago: 'administrator', hamlet: 'member' }, { nowMs: () => nowMs })

function otherValue(name: string): unknown {
  const { schema, default: now } = USER_SETTINGS[name as UserSetting] as Setting
  const candidates = [true, false, 1, 2, 3, 20, 150, 'always', 'text', 'recent', 'ding', 'de', 'Europe/Berlin']
  return candidates.find((value) => value !== now && schema.safeParse(value).success)
}

const settingsOf = async (client: Client) => (await client.register()).snapshot.user_settings

describe("PATCH /settings: one's own settings", () => {
  it('every one is changed, told to its owner and to nobody else, and in the next snapshot', async () => {
    const user = rig.account('gertrude')
    const own = await user.register({ event_types: ['user_settings'] })
    const other = await hamlet.register({ event_types: ['user_settings'] })
    const { email_address_visibility: _, ...names } = USER_SETTINGS
    const chosen = Object.fromEntries(Object.keys(names).map((name) => [name, otherValue(name)]))
    for (const [name, value] of Object.entries(chosen)) {
      await user.patch('/settings', { [name]: value })
      const [event, ...rest] = await own.events()
      assert.deepEqual([event.op, event.property, event.value, rest], ['update', name, value, []])
      if (name === 'default_language') assert.equal(event.language_name, 'Deutsch')
    }
    const { available_notification_sounds, emojiset_choices, ...after } = await settingsOf(user)
    assert.deepEqual(after, { ...userSettingDefaults(), ...chosen })
    assert.deepEqual(available_notification_sounds, ['ding', 'zulip'])
    assert.equal(emojiset_choices.length, 4)
    assert.deepEqual(await other.events(), [])
  })

  it('sizes that clients set are taken, others not', async () => {
    for (const web_font_size_px of [8, 11, 24]) await hamlet.patch('/settings', { web_font_size_px })
    for (const web_font_size_px of [0, 7, 25, 1e9])
      await hamlet.refused('REQUEST_VARIABLE_INVALID', 'PATCH', '/settings', { web_font_size_px })
    await hamlet.patch('/settings', { web_font_size_px: 16 })
  })

  it('several at once, of which unchanged ones are no news', async () => {
    const queue = await hamlet.register({ event_types: ['user_settings'] })
    await hamlet.patch('/settings', { enter_sends: true, starred_message_counts: true, color_scheme: 2 })
    const events = await queue.events()
    assert.deepEqual(
      events.map(({ property }: { property: string }) => property),
      ['color_scheme', 'enter_sends'].sort(
        (a, b) => Object.keys(USER_SETTINGS).indexOf(a) - Object.keys(USER_SETTINGS).indexOf(b),
      ),
    )
  })

  it('a wrong value is named, and nothing of the request is done', async () => {
    for (const [name, bad] of Object.entries({
      color_scheme: 9,
      enter_sends: 'yes',
      emojiset: 'apple',
      timezone: 'Mars',
    })) {
      const { body } = await hamlet.call('PATCH', '/settings', { fluid_layout_width: true, [name]: bad })
      assert.match(body.code, /^(REQUEST_VARIABLE_INVALID|INVALID_JSON)$/, name)
      assert.equal(body.var_name, name)
    }
    assert.equal((await settingsOf(hamlet)).fluid_layout_width, false)
    const { ignored_parameters_unsupported } = await hamlet.patch('/settings', { dense_mode: true })
    assert.deepEqual(ignored_parameters_unsupported, ['dense_mode'])
  })

  it('others are told of a time zone', async () => {
    const queue = await admin.register({ event_types: ['realm_user'] })
    await hamlet.patch('/settings', { timezone: 'Europe/Copenhagen' })
    const [{ person }] = await queue.events()
    assert.deepEqual(person, { user_id: hamlet.user.id, email: 'hamlet@example.com', timezone: 'Europe/Copenhagen' })
    assert.equal((await admin.get(`/users/${hamlet.user.id}`)).user.timezone, 'Europe/Copenhagen')
  })

  it('clients that know no inheriting are told of each channel without a setting of its own', async () => {
    const user = rig.account('osric')
    const [follows, own] = [rig.channel('follows', [user]), rig.channel('own', [user])]
    await user.post('/users/me/subscriptions/properties', {
      subscription_data: [{ stream_id: own.id, property: 'audible_notifications', value: false }],
    })
    const old = await user.register({ event_types: ['subscription'] })
    const capable = { client_capabilities: { notification_settings_null: true } }
    const modern = await user.register({ event_types: ['subscription'], ...capable })
    await user.patch('/settings', { enable_stream_audible_notifications: true })
    const told = (await old.events()).map(({ op, stream_id, property, value }) => [op, stream_id, property, value])
    assert.deepEqual(told, [['update', follows.id, 'audible_notifications', true]])
    assert.deepEqual(await modern.events(), [])
  })

  it('old clients read copies at the top, new ones do not', async () => {
    const { snapshot } = await hamlet.register()
    assert.equal(snapshot.color_scheme, 2)
    assert.equal(snapshot.wildcard_mentions_notify, true)
    assert.deepEqual(snapshot.available_notification_sounds, ['ding', 'zulip'])
    const capable = { client_capabilities: { notification_settings_null: true, user_settings_object: true } }
    const { snapshot: modern } = await hamlet.register(capable)
    assert.equal(modern.color_scheme, undefined)
    assert.equal(modern.user_settings.color_scheme, 2)
  })

  it('/settings: the two paths of old clients change the same', async () => {
    await hamlet.patch('/settings/display', { left_side_userlist: true })
    await hamlet.patch('/settings/notifications', { enable_sounds: false })
    const settings = await settingsOf(hamlet)
    assert.equal(settings.left_side_userlist, true)
    assert.equal(settings.enable_sounds, false)
  })
})

describe('PATCH /settings: name, address, password', () => {
  it('a name is changed and told to all', async () => {
    const user = rig.account('marcellus')
    const queue = await hamlet.register({ event_types: ['realm_user'] })
    await user.patch('/settings', { full_name: 'Marcellus the Watch' })
    const [{ person }] = await queue.events()
    assert.deepEqual(person, { user_id: user.user.id, full_name: 'Marcellus the Watch' })
    await user.refused('REQUEST_VARIABLE_INVALID', 'PATCH', '/settings', { full_name: 'M' })
  })

  it('an address is changed at once, twice an hour and five times a day', async () => {
    const user = rig.account('barnardo')
    const change = (email: string) =>
      rig.clientOf(rig.chat.realm.state.user.get(user.user.id)!).call('PATCH', '/settings', { email })
    assert.equal((await change('hamlet@example.com')).body.code, 'BAD_REQUEST')
    assert.equal((await change('b1@example.com')).status, 200)
    await user.refused('INVALID_API_KEY', 'GET', '/users/me') // a client names itself by the address
    assert.equal((await change('b2@example.com')).status, 200)
    const third = await change('b3@example.com')
    assert.equal(third.body.code, 'RATE_LIMIT_HIT')
    assert.equal(third.body['retry-after'], 3600)
    for (const email of ['b3@example.com', 'b4@example.com', 'b5@example.com']) {
      rig.advance(3600)
      assert.equal((await change(email)).status, 200)
    }
    rig.advance(3600)
    assert.equal((await change('b6@example.com')).body.code, 'RATE_LIMIT_HIT')
  })

  it('a password needs the old one', async () => {
    const change = (values: object) => rig.owner.call('PATCH', '/settings', values as Record<string, unknown>)
    const wanted = 'a better battery staple'
    assert.equal((await change({ new_password: wanted })).body.code, 'BAD_REQUEST')
    assert.equal((await change({ new_password: wanted, old_password: 'wrong' })).body.code, 'BAD_REQUEST')
    nowMs += 1000 // a wrong password is followed by a pause
    const short = await change({ new_password: 'short', old_password: OWNER_PASSWORD })
    assert.deepEqual([short.body.code, short.body.var_name], ['REQUEST_VARIABLE_INVALID', 'new_password'])
    assert.equal((await change({ new_password: wanted, old_password: OWNER_PASSWORD })).status, 200)
    const username = rig.owner.user.email
    const old = await rig.anonymous('POST', '/fetch_api_key', { username, password: OWNER_PASSWORD })
    assert.equal(old.body.code, 'AUTHENTICATION_FAILED')
    nowMs += 1000
    assert.equal((await rig.anonymous('POST', '/fetch_api_key', { username, password: wanted })).status, 200)
  })

  it('only administrators may change what the organization does not allow', async () => {
    const { realm } = rig.chat
    const organization = realm.state.organization.get(2)!
    const settings = { name_changes_disabled: true, email_changes_disabled: true, require_unique_names: true }
    realm.transaction((turn) => turn.put('organization', { ...organization, settings }))
    await hamlet.refused('BAD_REQUEST', 'PATCH', '/settings', { full_name: 'Prince Hamlet' })
    await hamlet.refused('BAD_REQUEST', 'PATCH', '/settings', { email: 'prince@example.com' })
    await hamlet.patch('/settings', { full_name: 'Hamlet Test', color_scheme: 3 }) // as it is
    await admin.patch('/settings', { full_name: 'Honest Iago' })
    await admin.refused('BAD_REQUEST', 'PATCH', '/settings', { full_name: 'hamlet test' })
    realm.transaction((turn) => turn.put('organization', organization))
  })
})

describe('PATCH /settings: settings of many (level 444)', () => {
  it('administrators set what users have not set themselves', async () => {
    const [chooses, leaves] = [rig.account('lucio'), rig.account('angelo')]
    await chooses.patch('/settings', { starred_message_counts: false })
    await chooses.patch('/settings', { starred_message_counts: true })
    const queue = await leaves.register({ event_types: ['user_settings'] })
    const target_users = { user_ids: [chooses.user.id, leaves.user.id], skip_if_already_edited: true }
    await admin.patch('/settings', { target_users, starred_message_counts: false, web_font_size_px: 18 })
    assert.deepEqual(
      [await settingsOf(chooses), await settingsOf(leaves)].map(({ starred_message_counts, web_font_size_px }) => [
        starred_message_counts,
        web_font_size_px,
      ]),
      [
        [true, 18],
        [false, 18],
      ],
    )
    assert.equal((await queue.events()).length, 2)
    // What an administrator sets is no choice of the user's.
    await admin.patch('/settings', { target_users, starred_message_counts: true })
    assert.equal((await settingsOf(leaves)).starred_message_counts, true)
  })

  it('groups name their members of every depth, people who are deactivated too, and no bots', async () => {
    const { realm } = rig.chat
    const gone = rig.account('claudio')
    await admin.delete(`/users/${gone.user.id}`)
    const guest = rig.account('barnardine', ROLES.guest)
    const members = realm.state.groupByName.get('role:members')!.id
    await admin.patch('/settings', { target_users: { group_ids: [members] }, user_list_style: 1 })
    const styles = [gone, hamlet, rig.owner, guest].map(
      ({ user }) => realm.state.user.get(user.id)!.settings.user_list_style,
    )
    assert.deepEqual(styles, [1, 1, 1, undefined])
    const system = [...realm.state.user.all()].filter(({ isSystemBot }) => isSystemBot)
    assert.ok(system.length > 0 && system.every(({ settings }) => Object.keys(settings).length === 0))
  })

  for (const name of [...NOT_IN_BULK, 'full_name', 'email', 'old_password', 'new_password']) {
    it(`${name} is nobody else's to set`, async () => {
      const value = name in USER_SETTINGS ? otherValue(name) : 'some text'
      const values = { target_users: { user_ids: [hamlet.user.id] }, [name]: value, color_scheme: 1 }
      const { body } = await admin.refused('BAD_REQUEST', 'PATCH', '/settings', values)
      assert.deepEqual(body.parameters, ['target_users', name])
    })
  }

  it("members set nobody's, and unknown users and groups are refused", async () => {
    const target = (target_users: object) => ({ target_users, color_scheme: 1 })
    await hamlet.refused('BAD_REQUEST', 'PATCH', '/settings', target({ user_ids: [hamlet.user.id] }))
    await admin.refused('BAD_REQUEST', 'PATCH', '/settings', target({ user_ids: [9999] }))
    await admin.refused('BAD_REQUEST', 'PATCH', '/settings', target({ group_ids: [9999] }))
    await admin.refused('REQUEST_VARIABLE_INVALID', 'PATCH', '/settings', target({ skip_if_already_edited: true }))
  })
})
