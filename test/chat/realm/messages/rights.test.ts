/** Who may edit, resolve, move and delete messages, and which topics a channel takes: contract sections 7.3 to 7.5, as tables. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeMessages } from '../../../../firmware/chat/realm/messages/delete.ts'
import type { Channel, Organization } from '../../../../firmware/chat/realm/model/records.ts'
import type { SystemGroupName } from '../../../../firmware/chat/realm/model/roles.ts'
import type { Client } from '../../support/chat.ts'
import { chatSuite } from '../../support/suite.ts'

const CALLERS = ['guest', 'member', 'sender', 'moderator', 'administrator', 'owner'] as const
type Caller = (typeof CALLERS)[number]

const MEMBERS: Caller[] = ['member', 'sender', 'moderator', 'administrator', 'owner']
const MODERATORS: Caller[] = ['moderator', 'administrator', 'owner']
const ADMINISTRATORS: Caller[] = ['administrator', 'owner']

type Groups = Record<string, SystemGroupName>

interface Row {
  act: (caller: Client, id: number) => Promise<{ status: number }>
  realm?: Groups
  channel?: Groups
  settings?: Organization['settings']
  ageSeconds?: number
  may: Caller[]
}

const edit: Row['act'] = (caller, id) => caller.call('PATCH', `/messages/${id}`, { content: 'other words' })
const resolve: Row['act'] = (caller, id) => caller.call('PATCH', `/messages/${id}`, { topic: '✔ matter' })
const move: Row['act'] = (caller, id) => caller.call('PATCH', `/messages/${id}`, { topic: 'another matter' })
const remove: Row['act'] = (caller, id) => caller.call('DELETE', `/messages/${id}`)
const moveAway: Row['act'] = (caller, id) => caller.call('PATCH', `/messages/${id}`, { stream_id: target.id })

const NOBODY = 'role:nobody'
const WEEK_S = 604_800
const TABLE: Record<string, Row> = {
  'edit: only the author': { act: edit, may: ['sender'] },
  'edit: nobody where it is switched off': { act: edit, settings: { allow_message_editing: false }, may: [] },
  'edit: within the limit and its leeway': { act: edit, ageSeconds: 620, may: ['sender'] },
  'edit: not later': { act: edit, ageSeconds: 621, may: [] },

  'resolve: everybody': { act: resolve, may: [...CALLERS] },
  'resolve: those of the realm': {
    act: resolve,
    realm: { can_resolve_topics_group: 'role:moderators' },
    may: MODERATORS,
  },
  'resolve: those of the channel too': {
    act: resolve,
    realm: { can_resolve_topics_group: NOBODY },
    channel: { can_resolve_topics_group: 'role:administrators' },
    may: ADMINISTRATORS,
  },
  'resolve: at any age': { act: resolve, ageSeconds: 2 * WEEK_S, may: [...CALLERS] },

  'move within: everybody': { act: move, may: [...CALLERS] },
  'move within: administrators always': {
    act: move,
    realm: { can_move_messages_between_topics_group: NOBODY },
    may: ADMINISTRATORS,
  },
  'move within: those of the channel too': {
    act: move,
    realm: { can_move_messages_between_topics_group: NOBODY },
    channel: { can_move_messages_within_channel_group: 'role:moderators' },
    may: MODERATORS,
  },
  'move within: administrators of the channel too': {
    act: move,
    realm: { can_move_messages_between_topics_group: NOBODY },
    channel: { can_administer_channel_group: 'role:members' },
    may: MEMBERS,
  },
  'move within: moderators later, too': { act: move, ageSeconds: WEEK_S + 21, may: MODERATORS },

  'move between: members': { act: moveAway, may: MEMBERS },
  'move between: those of the channel too': {
    act: moveAway,
    realm: { can_move_messages_between_channels_group: NOBODY },
    channel: { can_move_messages_out_of_channel_group: 'role:moderators' },
    may: MODERATORS,
  },
  'move between: moderators later, too': { act: moveAway, ageSeconds: WEEK_S + 21, may: MODERATORS },

  'delete: the author and administrators': { act: remove, may: ['sender', ...ADMINISTRATORS] },
  'delete: those of the realm may delete any': {
    act: remove,
    realm: { can_delete_any_message_group: 'role:members' },
    may: MEMBERS,
  },
  'delete: those of the channel too': {
    act: remove,
    channel: { can_delete_any_message_group: 'role:moderators' },
    may: ['sender', ...MODERATORS],
  },
  'delete: not even the own': { act: remove, realm: { can_delete_own_message_group: NOBODY }, may: ADMINISTRATORS },
  'delete: the own by the right of the channel': {
    act: remove,
    realm: { can_delete_own_message_group: NOBODY },
    channel: { can_delete_own_message_group: 'role:members' },
    may: ['sender', ...ADMINISTRATORS],
  },
  'delete: the own within the limit and its leeway': {
    act: remove,
    ageSeconds: 620,
    may: ['sender', ...ADMINISTRATORS],
  },
  'delete: the own not later': { act: remove, ageSeconds: 621, may: ADMINISTRATORS },
}

const { rig, ...accounts } = await chatSuite({
  guest: 'guest',
  member: 'member',
  sender: 'member',
  moderator: 'moderator',
  administrator: 'administrator',
})
const callers: Record<Caller, Client> = { ...accounts, owner: rig.owner }
const channel = rig.channel('denmark', Object.values(callers))
const target = rig.channel('norway', Object.values(callers))

async function withSettings({ realm = {}, channel: own = {}, settings = {} }: Partial<Row>, act: () => Promise<void>) {
  const { state } = rig.chat.realm
  const organization = state.organization.get(2)!
  const kept = state.channel.get(channel.id)!
  const ids = (groups: Groups) =>
    Object.fromEntries(Object.entries(groups).map(([setting, name]) => [setting, state.groupByName.get(name)!.id]))
  rig.chat.realm.transaction((turn) => {
    turn.put('organization', { ...organization, settings, groupSettings: ids(realm) })
    turn.put('channel', { ...kept, groupSettings: ids(own) })
  })
  try {
    await act()
  } finally {
    const now = state.channel.get(channel.id)!
    rig.chat.realm.transaction((turn) => {
      turn.put('organization', organization)
      turn.put('channel', { ...now, groupSettings: kept.groupSettings })
    })
  }
}

for (const [name, row] of Object.entries(TABLE))
  test(`7.3, 7.4: ${name}`, () =>
    withSettings(row, async () => {
      const could: Caller[] = []
      for (const caller of CALLERS) {
        const to = { type: 'channel', to: channel.id, topic: 'matter', content: 'words' }
        const { id } = await callers.sender.post('/messages', to)
        rig.advance(row.ageSeconds ?? 0)
        const { status } = await row.act(callers[caller], id)
        assert.ok(status === 200 || status === 400, `${caller}: ${status}`)
        if (status === 200) could.push(caller)
        // Each caller finds one message in the topic.
        rig.chat.realm.transaction((turn) => {
          for (const left of rig.chat.realm.store.messages.idsOf(channel.recipientId))
            removeMessages(rig.chat.realm, turn, [rig.chat.realm.store.messages.get(left)!])
        })
      }
      assert.deepEqual(could.toSorted(), row.may.toSorted())
    }))

test('7.4: the rights of the organization decide about direct messages, and those of the owner about a bot', async () => {
  await withSettings({ channel: { can_delete_any_message_group: 'role:everyone' } }, async () => {
    const { id } = await callers.sender.post('/messages', {
      type: 'direct',
      to: [callers.member.user.id, callers.administrator.user.id],
      content: 'psst',
    })
    await callers.member.refused('BAD_REQUEST', 'DELETE', `/messages/${id}`)
    await callers.moderator.refused('BAD_REQUEST', 'DELETE', `/messages/${id}`)
    await callers.administrator.delete(`/messages/${id}`)
  })
  const { user_id } = await callers.sender.post('/bots', { full_name: 'Ghost', short_name: 'ghost' })
  const bot = rig.clientOf(rig.chat.realm.state.user.get(user_id)!)
  const { id } = await bot.post('/messages', { type: 'channel', to: channel.id, topic: 'matter', content: 'boo' })
  await callers.member.refused('BAD_REQUEST', 'DELETE', `/messages/${id}`)
  await callers.sender.delete(`/messages/${id}`)
})

const TOPICS: [realm: string, channel: Channel['topicsPolicy'], empty: boolean, named: boolean][] = [
  ['allow_empty_topic', 'inherit', true, true],
  ['disable_empty_topic', 'inherit', false, true],
  ['disable_empty_topic', 'allow_empty_topic', true, true],
  ['allow_empty_topic', 'disable_empty_topic', false, true],
  ['allow_empty_topic', 'empty_topic_only', true, false],
  ['disable_empty_topic', 'empty_topic_only', true, false],
]

for (const [ofRealm, ofChannel, empty, named] of TOPICS)
  test(`7.5: ${ofChannel} in a channel where the organization has ${ofRealm}, in sending and moving`, () =>
    withSettings({ settings: { topics_policy: ofRealm } }, async () => {
      const policed = rig.channel(`${ofRealm} ${ofChannel}`, Object.values(callers), { topicsPolicy: ofChannel })
      for (const [topic, isTaken] of [
        ['', empty],
        ['matter', named],
      ] as const) {
        const sent = await callers.member.call('POST', '/messages', {
          ...{ type: 'channel', to: policed.id, content: 'words', topic },
        })
        assert.equal(sent.status, isTaken ? 200 : 400, `sending to '${topic}'`)
        const elsewhere = { type: 'channel', to: target.id, topic: 'elsewhere', content: 'words' }
        const { id } = await callers.member.post('/messages', elsewhere)
        const moved = await callers.member.call('PATCH', `/messages/${id}`, { stream_id: policed.id, topic })
        assert.equal(moved.status, isTaken ? 200 : 400, `moving to '${topic}'`)
      }
    }))
