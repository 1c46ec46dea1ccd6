/**
 * Contract section 7.1 over the wire: what each kind of caller can do about each kind of channel, by every endpoint that would
 * show or change something there. A channel that the caller may not see is answered like one that does not exist.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Channel, Organization } from '../../../firmware/chat/realm/model/records.ts'
import { ROLES, type Role } from '../../../firmware/chat/realm/model/roles.ts'
import { subscribe } from '../../../firmware/chat/realm/organization/channels/subscribe.ts'
import type { Answer, Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const KINDS = {
  webPublic: { isWebPublic: true },
  public: {},
  private: { isPrivate: true },
  protected: { isPrivate: true, historyPublicToSubscribers: false },
} satisfies Record<string, Partial<Channel>>
type Kind = keyof typeof KINDS

/** Beside a channel: subscribed, formerly so, in one of its groups, or the operator has opened it to owners. */
type Beside =
  | 'nothing'
  | 'subscribed'
  | 'formerly subscribed'
  | 'can_administer_channel_group'
  | 'can_add_subscribers_group'
  | 'can_subscribe_group'
  | 'owner_full_content_access'

/** m(etadata), c(ontent from before the caller came), s(ubscribing oneself); in the order of KINDS. */
const TABLE: readonly [role: Role, beside: Beside, ...granted: [string, string, string, string]][] = [
  [ROLES.guest, 'nothing', 'mcs', '', '', ''],
  [ROLES.guest, 'subscribed', 'mc', 'mc', 'mc', 'mc'],
  [ROLES.guest, 'formerly subscribed', 'mcs', '', '', ''],
  [ROLES.guest, 'can_administer_channel_group', 'mcs', '', '', ''],
  [ROLES.guest, 'can_add_subscribers_group', 'mcs', '', '', ''],
  [ROLES.guest, 'can_subscribe_group', 'mcs', '', '', ''],
  [ROLES.member, 'nothing', 'mcs', 'mcs', '', ''],
  [ROLES.member, 'subscribed', 'mc', 'mc', 'mc', 'mc'],
  [ROLES.member, 'formerly subscribed', 'mcs', 'mcs', '', ''],
  [ROLES.member, 'can_administer_channel_group', 'mcs', 'mcs', 'm', 'm'],
  [ROLES.member, 'can_add_subscribers_group', 'mcs', 'mcs', 'mcs', 'ms'],
  [ROLES.member, 'can_subscribe_group', 'mcs', 'mcs', 'mcs', 'ms'],
  [ROLES.moderator, 'nothing', 'mcs', 'mcs', '', ''],
  [ROLES.moderator, 'subscribed', 'mc', 'mc', 'mc', 'mc'],
  [ROLES.administrator, 'nothing', 'mcs', 'mcs', 'm', 'm'],
  [ROLES.administrator, 'subscribed', 'mc', 'mc', 'mc', 'mc'],
  [ROLES.administrator, 'formerly subscribed', 'mcs', 'mcs', 'm', 'm'],
  [ROLES.administrator, 'owner_full_content_access', 'mcs', 'mcs', 'm', 'm'],
  [ROLES.owner, 'nothing', 'mcs', 'mcs', 'm', 'm'],
  [ROLES.owner, 'can_subscribe_group', 'mcs', 'mcs', 'mcs', 'ms'],
  [ROLES.owner, 'owner_full_content_access', 'mcs', 'mcs', 'mc', 'm'],
]

interface Place {
  channelId: number
  name: string
  messageId: number
}

const NOWHERE: Place = { channelId: 987_654, name: 'nowhere', messageId: 987_654 }

type Attempt = (caller: Client, place: Place) => Promise<Answer>

const METADATA: Record<string, Attempt> = {
  'GET /streams/:stream_id': (caller, { channelId }) => caller.call('GET', `/streams/${channelId}`),
  'GET /streams/:stream_id/members': (caller, { channelId }) => caller.call('GET', `/streams/${channelId}/members`),
  'GET /get_stream_id': (caller, { name }) => caller.call('GET', '/get_stream_id', { stream: name }),
}

const CONTENT: Record<string, Attempt> = {
  'GET /messages/:message_id': (caller, { messageId }) => caller.call('GET', `/messages/${messageId}`),
  'GET /messages/:message_id/history': (caller, { messageId }) => caller.call('GET', `/messages/${messageId}/history`),
  'GET /messages/:message_id/read_receipts': (caller, { messageId }) =>
    caller.call('GET', `/messages/${messageId}/read_receipts`),
  'POST /messages/:message_id/reactions': (caller, { messageId }) =>
    caller.call('POST', `/messages/${messageId}/reactions`, { emoji_name: 'smile' }),
  'DELETE /messages/:message_id/reactions': (caller, { messageId }) =>
    caller.call('DELETE', `/messages/${messageId}/reactions`, { emoji_name: 'smile' }),
  'POST /messages/flags': (caller, { messageId }) =>
    caller.call('POST', '/messages/flags', { messages: [messageId], op: 'add', flag: 'starred' }),
}

/** Requests for the content of the channel as a whole. They are granted, and empty, if no message reached the caller. */
const AT_LARGE: Record<string, Attempt> = {
  'POST /messages': (caller, { channelId }) =>
    caller.call('POST', '/messages', { type: 'channel', to: channelId, topic: 'other', content: 'hello' }),
  'POST /typing': (caller, { channelId }) =>
    caller.call('POST', '/typing', { type: 'channel', op: 'start', stream_id: channelId, topic: 'other' }),
  'POST /mark_stream_as_read': (caller, { channelId }) =>
    caller.call('POST', '/mark_stream_as_read', { stream_id: channelId }),
  'GET /streams/:stream_id/email_address': (caller, { channelId }) =>
    caller.call('GET', `/streams/${channelId}/email_address`),
  'GET /users/me/:stream_id/topics': (caller, { channelId }) => caller.call('GET', `/users/me/${channelId}/topics`),
}

const SETTINGS = { enable_read_receipts: true }

const { rig, author } = await chatSuite({ author: 'member' })

function changeOrganization(changes: Partial<Organization>): void {
  const { realm } = rig.chat
  realm.transaction((turn) => turn.put('organization', { ...realm.state.organization.get(2)!, ...changes }))
}

async function placeFor(caller: Client, kind: Kind, beside: Beside, name: string): Promise<Place> {
  const group = { direct_members: [caller.user.id], direct_subgroups: [] }
  const groupSettings = beside.startsWith('can_') ? { [beside]: group } : {}
  const isThere = beside === 'subscribed' || beside === 'formerly subscribed'
  const channel = rig.channel(name, isThere ? [author, caller] : [author], { ...KINDS[kind], groupSettings })
  if (beside === 'formerly subscribed') await caller.delete('/users/me/subscriptions', { subscriptions: [name] })
  const { id } = await author.post('/messages', { type: 'channel', to: channel.id, topic: 'matter', content: 'words' })
  return { channelId: channel.id, name, messageId: id }
}

/** Expects all attempts to be granted, or all refused. Unless the caller knows the channel, a refusal equals that of a missing one. */
async function isGranted(
  attempts: Record<string, Attempt>,
  caller: Client,
  place: Place,
  isKnown = false,
): Promise<boolean> {
  const granted: string[] = []
  for (const [name, attempt] of Object.entries(attempts)) {
    const { status, body } = await attempt(caller, place)
    if (status === 200) granted.push(name)
    else if (!isKnown)
      assert.deepEqual(shape({ status, body }, place), shape(await attempt(caller, NOWHERE), NOWHERE), name)
  }
  assert.ok(granted.length === 0 || granted.length === Object.keys(attempts).length, `only ${granted}`)
  return granted.length > 0
}

const shape = ({ status, body }: Pick<Answer, 'status' | 'body'>, { channelId, name, messageId }: Place) =>
  JSON.stringify({ status, body })
    .replaceAll(name, 'NAME')
    .replace(new RegExp(`\\b(?:${channelId}|${messageId})\\b`, 'g'), 'ID')

TABLE.forEach(([role, beside, ...granted], at) => {
  test(`7.1: role ${role}, ${beside}`, async () => {
    changeOrganization({
      settings: SETTINGS,
      operator: { ownerFullContentAccess: beside === 'owner_full_content_access', uploadQuotaMib: null },
    })
    const caller = rig.account(`caller${at}`, role)
    for (const [index, kind] of (Object.keys(KINDS) as Kind[]).entries()) {
      const name = `place ${at} ${kind}`
      const place = await placeFor(caller, kind, beside, name)
      const listed = async () => (await caller.get('/streams', { include_all: true })).streams as { name: string }[]
      let found = ''
      if (await isGranted(METADATA, caller, place)) found += 'm'
      assert.equal(
        (await listed()).some((channel) => channel.name === name),
        found === 'm',
        'GET /streams lists what GET /streams/:stream_id shows',
      )
      const isRead = await isGranted(CONTENT, caller, place)
      if (isRead) found += 'c'
      const mayRead = isRead || (kind === 'protected' && /^can_(add|sub)/.test(beside) && role !== ROLES.guest)
      const isOpen = mayRead || (kind === 'protected' && beside === 'owner_full_content_access' && role === ROLES.owner)
      assert.equal(await isGranted(AT_LARGE, caller, place, found.startsWith('m')), isOpen, `${kind}: rows at large`)
      const { body } = await narrowed(caller, place)
      assert.equal(
        body.messages?.some(({ id }: { id: number }) => id === place.messageId) ?? false,
        isRead,
        'GET /messages',
      )
      if (beside !== 'subscribed') {
        const { status } = await caller.call('POST', '/users/me/subscriptions', { subscriptions: [{ name }] })
        if (status === 200) found += 's'
      }
      assert.equal(found, granted[index], kind)
    }
  })
})

const narrowed = (caller: Client, { channelId }: Place) =>
  caller.call('GET', '/messages', {
    anchor: 'newest',
    num_before: 10,
    num_after: 0,
    narrow: [{ operator: 'channel', operand: channelId }],
  })

test('7.1: spectators read web-public channels if the organization allows it, and no others', async () => {
  const caller = rig.account('bystander')
  const places = new Map<Kind, Place>()
  for (const kind of Object.keys(KINDS) as Kind[])
    places.set(kind, await placeFor(caller, kind, 'nothing', `seen ${kind}`))
  for (const isOpen of [true, false]) {
    changeOrganization({ settings: { enable_spectator_access: isOpen } })
    for (const [kind, { channelId, messageId }] of places) {
      const narrow = [
        { operator: 'channels', operand: 'web-public' },
        { operator: 'channel', operand: channelId },
      ]
      const { status, body } = await rig.anonymous('GET', '/messages', {
        anchor: 'newest',
        num_before: 10,
        num_after: 0,
        narrow,
      })
      const isRead = status === 200 && body.messages.some(({ id }: { id: number }) => id === messageId)
      assert.equal(isRead, isOpen && kind === 'webPublic', `${kind}, ${isOpen ? 'open' : 'shut'}`)
    }
  }
})

test('7.1: a subscriber of a channel with protected history reads messages from after their subscription', async () => {
  changeOrganization({ settings: SETTINGS })
  const late = rig.account('latecomer')
  const place = await placeFor(late, 'protected', 'nothing', 'guarded')
  const { realm } = rig.chat
  const channel = realm.state.channel.get(place.channelId)!
  realm.transaction((turn) => subscribe(realm, turn, [{ user: late.user, channel }]))
  assert.equal(await isGranted(CONTENT, late, place), false)
  const to = { type: 'channel', to: place.channelId, topic: 'matter', content: 'more' }
  const { id } = await author.post('/messages', to)
  assert.equal(await isGranted(CONTENT, late, { ...place, messageId: id }), true)
  assert.deepEqual(
    (await narrowed(late, place)).body.messages.map(({ id }: { id: number }) => id),
    [id],
  )
})
