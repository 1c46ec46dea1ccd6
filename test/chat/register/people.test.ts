/** Register sections of the organization and its users: contract sections 2.6, 4.2 and 4.2.2. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import { contractTable } from '../support/contract.ts'
import { chatSuite } from '../support/suite.ts'

const { rig } = await chatSuite()

const names = (cell: string): string[] =>
  cell
    .replaceAll(/\([^)]*\)/g, '')
    .split(/[,/]/)
    .map((name) => name.trim())
    .filter((name) => /^[a-z0-9_]+$/.test(name))

describe('the block realm', () => {
  it('has every setting of the contract', async () => {
    const { snapshot } = await rig.owner.register({ fetch_event_types: ['realm'] })
    const rows = contractTable('2.6').slice(1)
    const settings = rows.flatMap(([cell]) => names(cell!)).filter((name) => name !== 'string_id')
    assert.ok(settings.length > 60)
    for (const name of settings) assert.ok(`realm_${name}` in snapshot, name)
    const groups = contractTable('7.2')
    const channels = groups.findIndex(([cell]) => cell === 'Channel setting')
    for (const name of groups.slice(1, channels).flatMap(([cell]) => names(cell!))) {
      assert.equal(typeof snapshot[`realm_${name}`], 'number', name)
    }
  })

  it('has every row of the server', async () => {
    const { snapshot } = await rig.owner.register({ fetch_event_types: ['realm'] })
    const rows = contractTable('4.2.2').slice(1)
    const sent = rows
      .filter(([, , , level]) => !/removed/.test(level ?? ''))
      .filter(([cell, , value]) => !/not sent|demo/.test(`${cell} ${value}`))
    const fields = sent
      .flatMap(([cell]) => names(cell!))
      .filter((name) => name !== 'demo_organization_scheduled_deletion_date')
    assert.ok(fields.length > 45)
    for (const name of fields) assert.ok(name in snapshot, name)
    assert.ok(!('realm_is_zephyr_mirror_realm' in snapshot))
    assert.equal(snapshot.realm_wildcard_mention_policy, 5)
    assert.equal(snapshot.realm_create_public_stream_policy, 1)
    assert.equal(snapshot.realm_create_web_public_stream_policy, 7)
    assert.equal(snapshot.realm_owner_full_content_access, false)
    assert.equal(snapshot.realm_name, 'Testing')
    assert.equal(snapshot.realm_url, 'https://chat.example')
    assert.equal(
      snapshot.server_supported_permission_settings.realm.can_create_groups.default_group_name,
      'role:members',
    )
  })
})

describe('the block realm_user', () => {
  it('has everybody, oneself among them, and the bots of the service apart', async () => {
    const { snapshot } = await rig.owner.register()
    const own = snapshot.realm_users.find(({ user_id }: { user_id: number }) => user_id === snapshot.user_id)
    assert.equal(own.full_name, 'Olivia Owner')
    assert.ok(!('is_active' in own))
    assert.deepEqual(own.profile_data, {})
    assert.ok(snapshot.cross_realm_bots.every(({ is_system_bot }: { is_system_bot: boolean }) => is_system_bot))
    assert.ok(snapshot.cross_realm_bots.length > 0)
    assert.deepEqual(snapshot.realm_non_active_users, [])
    assert.match(snapshot.avatar_url_medium, /-medium\.png\?version=1$/)
  })

  // Flags of each role: owner, administrator, moderator, guest; may create public and web-public channels, subscribe, invite.
  const FLAGS: [role: keyof typeof ROLES, flags: boolean[], rights: boolean[]][] = [
    ['owner', [true, true, true, false], [true, true, true, true]],
    ['administrator', [false, true, true, false], [true, false, true, true]],
    ['moderator', [false, false, true, false], [true, false, true, true]],
    ['member', [false, false, false, false], [true, false, true, true]],
    ['guest', [false, false, false, true], [false, false, false, false]],
  ]
  for (const [role, flags, rights] of FLAGS) {
    it(`has the role and the rights of ${role}`, async () => {
      const { snapshot: s } = await rig.account(`some-${role}`, ROLES[role]).register()
      assert.deepEqual([s.is_owner, s.is_admin, s.is_moderator, s.is_guest], flags)
      const may = [s.can_create_public_streams, s.can_create_web_public_streams, s.can_subscribe_other_users]
      assert.deepEqual([...may, s.can_invite_others_to_realm], rights)
      assert.equal(s.can_create_streams, s.can_create_public_streams)
      assert.equal(s.can_create_private_streams, s.can_create_public_streams)
    })
  }
})

describe('other blocks of people', () => {
  it('each is there by its name alone', async () => {
    const members: Record<string, string[]> = {
      alert_words: ['alert_words'],
      custom_profile_fields: ['custom_profile_fields', 'custom_profile_field_types'],
      giphy: ['giphy_api_key'],
      tenor: ['tenor_api_key'],
      muted_users: ['muted_users'],
      onboarding_steps: ['onboarding_steps', 'navigation_tour_video_url'],
      presence: ['presences', 'presence_last_update_id', 'server_timestamp'],
      push_device: ['push_devices'],
      realm_billing: ['realm_billing'],
      realm_bot: ['realm_bots'],
      realm_domains: ['realm_domains'],
      realm_embedded_bots: ['realm_embedded_bots'],
      realm_emoji: ['realm_emoji'],
      realm_filters: ['realm_filters'],
      realm_incoming_webhook_bots: ['realm_incoming_webhook_bots'],
      realm_linkifiers: ['realm_linkifiers'],
      realm_playgrounds: ['realm_playgrounds'],
      realm_user_groups: ['realm_user_groups'],
      realm_user_settings_defaults: ['realm_user_settings_defaults'],
      user_settings: ['user_settings'],
      user_status: ['user_status'],
      video_calls: ['has_zoom_token', 'has_webex_token'],
      drafts: ['drafts'],
      device: ['devices'],
      navigation_views: ['navigation_views'],
      reminders: ['reminders'],
      saved_snippets: ['saved_snippets'],
      scheduled_messages: ['scheduled_messages'],
      stop_words: ['stop_words'],
    }
    const { snapshot: none } = await rig.owner.register({ fetch_event_types: [] })
    for (const [block, fields] of Object.entries(members)) {
      const { snapshot } = await rig.owner.register({ fetch_event_types: [block] })
      assert.deepEqual(
        Object.keys(snapshot).filter((name) => !(name in none)),
        fields,
        block,
      )
    }
  })

  it('the defaults of the organization leave out personal settings', async () => {
    const { realm_user_settings_defaults } = (await rig.owner.register()).snapshot
    assert.equal(realm_user_settings_defaults.color_scheme, 1)
    for (const name of ['timezone', 'default_language', 'allow_private_data_export', 'enable_login_emails']) {
      assert.ok(!(name in realm_user_settings_defaults), name)
    }
  })

  it('system groups are there with their direct members and subgroups, for all but guests', async () => {
    const { snapshot } = await rig.owner.register()
    const group = (name: string) => snapshot.realm_user_groups.find((one: { name: string }) => one.name === name)
    assert.ok(group('role:owners').members.includes(rig.owner.user.id))
    assert.deepEqual(group('role:administrators').direct_subgroup_ids, [group('role:owners').id])
    assert.deepEqual(group('role:nobody').members, [])
    assert.equal(group('role:members').is_system_group, true)
    assert.equal(group('role:members').can_mention_group, group('role:nobody').id)
    assert.deepEqual((await rig.account('a-guest', ROLES.guest).register()).snapshot.realm_user_groups, [])
  })
})
