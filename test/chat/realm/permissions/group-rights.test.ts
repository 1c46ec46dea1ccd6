/** Rights over the organization and over channels as a table: contract section 7.2, each with every kind of caller. */

import assert from 'node:assert/strict'
import { before, describe, it } from 'node:test'
import type { ChannelGroupSetting, RealmGroupSetting } from '../../../../firmware/chat/realm/model/group-settings.ts'
import type { GroupValue } from '../../../../firmware/chat/realm/model/group-value.ts'
import type { Channel, User } from '../../../../firmware/chat/realm/model/records.ts'
import { ROLES, type SystemGroupName } from '../../../../firmware/chat/realm/model/roles.ts'
import {
  channelGroupValues,
  mayInChannel,
  mayInRealm,
  realmGroupValues,
} from '../../../../firmware/chat/realm/permissions/group-rights.ts'
import { chatSuite } from '../../support/suite.ts'

const DAY = 86_400
const WAITING_DAYS = 3

const CALLERS = ['guest', 'new member', 'full member', 'moderator', 'administrator', 'owner'] as const
type Caller = (typeof CALLERS)[number]

const callers = {} as Record<Caller, User>
const { rig } = await chatSuite()
const realm = rig.chat.realm
const roles = { guest: 600, 'full member': 400, moderator: 300, administrator: 200 } as const
for (const [name, role] of Object.entries(roles))
  callers[name as Caller] = rig.account(name.replace(' ', '-'), role).user
callers.owner = rig.owner.user
rig.advance(WAITING_DAYS * DAY)
callers['new member'] = rig.account('new-member', ROLES.member).user
const organization = realm.state.organization.get(2)!
realm.transaction((turn) =>
  turn.put('organization', { ...organization, settings: { waiting_period_threshold: WAITING_DAYS } }),
)

const idOf = (name: SystemGroupName): number => realm.state.groupByName.get(name)!.id

const IN: Record<string, Caller[]> = {
  everyone: ['guest', 'new member', 'full member', 'moderator', 'administrator', 'owner'],
  members: ['new member', 'full member', 'moderator', 'administrator', 'owner'],
  fullmembers: ['full member', 'moderator', 'administrator', 'owner'],
  moderators: ['moderator', 'administrator', 'owner'],
  administrators: ['administrator', 'owner'],
  owners: ['owner'],
  nobody: [],
}

// Setting, who holds it by default, and whether guests may hold it at all: contract section 7.2, E.
const REALM: [RealmGroupSetting, keyof typeof IN, guests: boolean][] = [
  ['can_access_all_users_group', 'everyone', true],
  ['can_add_custom_emoji_group', 'members', false],
  ['can_add_subscribers_group', 'members', false],
  ['can_create_bots_group', 'members', false],
  ['can_create_groups', 'members', false],
  ['can_create_private_channel_group', 'members', false],
  ['can_create_public_channel_group', 'members', false],
  ['can_create_web_public_channel_group', 'owners', false],
  ['can_create_write_only_bots_group', 'members', false],
  ['can_delete_any_message_group', 'administrators', false],
  ['can_delete_own_message_group', 'everyone', true],
  ['can_invite_users_group', 'members', false],
  ['can_manage_all_groups', 'owners', false],
  ['can_manage_billing_group', 'administrators', false],
  ['can_mention_many_users_group', 'administrators', true],
  ['can_move_messages_between_channels_group', 'members', false],
  ['can_move_messages_between_topics_group', 'everyone', true],
  ['can_resolve_topics_group', 'everyone', true],
  ['can_set_delete_message_policy_group', 'moderators', false],
  ['can_set_topics_policy_group', 'members', true],
  ['can_summarize_topics_group', 'everyone', true],
  ['create_multiuse_invite_group', 'administrators', false],
  ['direct_message_initiator_group', 'everyone', true],
  ['direct_message_permission_group', 'everyone', true],
]

const CHANNEL: [ChannelGroupSetting, keyof typeof IN | 'creator', guests: boolean][] = [
  ['can_add_subscribers_group', 'nobody', false],
  ['can_administer_channel_group', 'creator', false],
  ['can_create_topic_group', 'everyone', true],
  ['can_delete_any_message_group', 'nobody', true],
  ['can_delete_own_message_group', 'nobody', true],
  ['can_move_messages_out_of_channel_group', 'nobody', true],
  ['can_move_messages_within_channel_group', 'nobody', true],
  ['can_remove_subscribers_group', 'administrators', true],
  ['can_resolve_topics_group', 'nobody', true],
  ['can_send_message_group', 'everyone', true],
  ['can_subscribe_group', 'nobody', false],
]

/** Values of every form, with who is meant; guests are left out where they may not hold the right. */
const VALUES: [name: string, value: () => GroupValue, meant: Caller[]][] = [
  ...Object.entries(IN).map(([name, meant]): [string, () => GroupValue, Caller[]] => [
    name,
    () => idOf(`role:${name}` as SystemGroupName),
    meant,
  ]),
  ['a group of a guest and owners', () => mixedGroup(), ['guest', 'owner']],
  ['a group that has that one', () => outerGroup(), ['guest', 'moderator', 'administrator', 'owner']],
  [
    'a member and moderators',
    () => ({ direct_members: [callers['new member'].id], direct_subgroups: [idOf('role:moderators')] }),
    ['new member', 'moderator', 'administrator', 'owner'],
  ],
  ['a guest', () => ({ direct_members: [callers.guest.id], direct_subgroups: [] }), ['guest']],
]

const GROUP = {
  description: '',
  dateCreated: null,
  creatorId: null,
  isSystem: false,
  isDeactivated: false,
  groupSettings: {},
}
const groupNamed = (name: string, members: number[], subgroups: number[]): number => {
  const known = realm.state.groupByName.get(name)
  if (known !== undefined) return known.id
  return realm.transaction((turn) => {
    const id = turn.nextId('group')
    turn.put('group', { id, name, members, subgroups, ...GROUP })
    return id
  })
}
const mixedGroup = () => groupNamed('mixed', [callers.guest.id], [idOf('role:owners')])
const outerGroup = () => groupNamed('outer', [], [mixedGroup(), idOf('role:moderators')])

const holders = (may: (user: User) => boolean): Caller[] => CALLERS.filter((name) => may(callers[name]))
const allowed = (meant: Caller[], guests: boolean): Caller[] => meant.filter((name) => guests || name !== 'guest')

describe('rights over the organization', () => {
  for (const [setting, byDefault, guests] of REALM) {
    it(`${setting}: ${byDefault} by default, ${guests ? 'guests too' : 'never guests'}, and whom any value names`, () => {
      assert.deepEqual(
        holders((user) => mayInRealm(realm, setting, user)),
        IN[byDefault],
      )
      const organization = realm.state.organization.get(2)!
      for (const [name, value, meant] of VALUES) {
        const chosen = value()
        realm.transaction((turn) => turn.put('organization', { ...organization, groupSettings: { [setting]: chosen } }))
        assert.deepEqual(realmGroupValues(realm)[setting], chosen)
        assert.deepEqual(
          holders((user) => mayInRealm(realm, setting, user)),
          allowed(meant, guests),
          name,
        )
      }
      realm.transaction((turn) => turn.put('organization', organization))
    })
  }
})

describe('rights in a channel', () => {
  let channel: Channel
  before(() => {
    channel = { ...rig.channel('denmark', []), creatorId: callers['full member'].id, groupSettings: {} }
  })

  for (const [setting, byDefault, guests] of CHANNEL) {
    it(`${setting}: ${byDefault} by default, ${guests ? 'guests too' : 'never guests'}, and whom any value names`, () => {
      const expected = byDefault === 'creator' ? (['full member'] as Caller[]) : IN[byDefault]
      assert.deepEqual(
        holders((user) => mayInChannel(realm, channel, setting, user)),
        expected,
      )
      for (const [name, value, meant] of VALUES) {
        const changed = { ...channel, groupSettings: { [setting]: value() } }
        assert.deepEqual(channelGroupValues(realm, changed)[setting], value())
        assert.deepEqual(
          holders((user) => mayInChannel(realm, changed, setting, user)),
          allowed(meant, guests),
          name,
        )
      }
    })
  }
})
