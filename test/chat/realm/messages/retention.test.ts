/** Messages that are too old go: contract sections 2.3 and 2.6 (message_retention_days), V9; levels 452 and 457. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { audienceOf } from '../../../../firmware/chat/realm/messages/access.ts'
import { audiencesOf } from '../../../../firmware/chat/realm/messages/delete.ts'
import { locationOf } from '../../../../firmware/chat/realm/messages/location.ts'
import type { Channel } from '../../../../firmware/chat/realm/model/records.ts'
import { ROLES } from '../../../../firmware/chat/realm/model/roles.ts'
import { organizationOf } from '../../../../firmware/chat/realm/model/state.ts'
import { subscribe, unsubscribe } from '../../../../firmware/chat/realm/organization/channels/subscribe.ts'
import { Random } from '../../model/operations.ts'
import { chatSuite } from '../../support/suite.ts'

const DAY_S = 86_400

const { rig, hamlet, ophelia } = await chatSuite({ hamlet: 'member', ophelia: 'member' })

const send = async (to: number | number[], topic = 't', content = 'x', from = hamlet): Promise<number> => {
  const type = typeof to === 'number' ? 'channel' : 'direct'
  return (await from.post('/messages', { type, to, topic, content })).id
}

function keep(days: number | null, channel?: Channel): void {
  const { realm } = rig.chat
  realm.transaction((turn) => {
    if (channel !== undefined) {
      turn.put('channel', { ...realm.state.channel.get(channel.id)!, messageRetentionDays: days })
      return
    }
    const organization = organizationOf(realm.state)
    const settings = { ...organization.settings, message_retention_days: days ?? -1 }
    turn.put('organization', { ...organization, settings })
  })
}

const isThere = (id: number): boolean => rig.chat.realm.store.messages.get(id) !== undefined
const there = (ids: readonly number[]): number[] => ids.filter(isThere)

describe('messages that are too old', () => {
  it('go by the rule of their channel, else by that of the organization, as direct messages do', async () => {
    const [kept, short, usual] = ['kept', 'short', 'usual'].map((name) => rig.channel(name, [hamlet, ophelia]))
    keep(-1, kept)
    keep(2, short)
    const all = async () => [
      await send(kept!.id),
      await send(short!.id),
      await send(usual!.id),
      await send([ophelia.user.id]),
    ]
    const first = await all()
    rig.advance(DAY_S)
    const second = await all()
    await rig.chat.expireOld()
    assert.deepEqual(there([...first, ...second]), [...first, ...second])
    rig.advance(DAY_S)
    await rig.chat.expireOld()
    assert.deepEqual(there(first), first, 'two days to the second are not more than two')
    rig.advance(1)
    await rig.chat.expireOld()
    assert.deepEqual(there(first), [first[0], first[2], first[3]])
    assert.deepEqual(there(second), second)
    keep(1)
    await rig.chat.expireOld()
    assert.deepEqual(there(first), [first[0]])
    assert.deepEqual(there(second), [second[0], second[1]], 'the channel of two days has its own')
    keep(null)
    rig.advance(100 * DAY_S)
    await rig.chat.expireOld()
    assert.deepEqual(there(second), [second[0]])
  })

  it('are told to those who can see them and to nobody else', async () => {
    const guest = rig.account('polonius', ROLES.guest)
    const channel = rig.channel('secret', [hamlet], { isPrivate: true, historyPublicToSubscribers: false })
    keep(1, channel)
    const early = await send(channel.id)
    rig.chat.realm.transaction((turn) => subscribe(rig.chat.realm, turn, [{ user: ophelia.user, channel }]))
    const late = [await send(channel.id, 't', 'later'), await send(channel.id, 'other')]
    const queues = await Promise.all(
      [hamlet, ophelia, guest, rig.owner].map((client) =>
        client.register({
          event_types: ['delete_message'],
          client_capabilities: { notification_settings_null: true, bulk_message_deletion: true },
        }),
      ),
    )
    const old = await ophelia.register({ event_types: ['delete_message'] })
    rig.advance(DAY_S + 1)
    await rig.chat.expireOld()
    const told = await Promise.all(queues.map((queue) => queue.events()))
    const event = (message_ids: number[], topic: string) => ({
      type: 'delete_message',
      message_type: 'stream',
      stream_id: channel.id,
      topic,
      message_ids,
    })
    assert.deepEqual(
      told.map((events) => events.map(({ id: _, ...body }) => body)),
      [
        [event([early, late[0]!], 't'), event([late[1]!], 'other')],
        [event([late[0]!], 't'), event([late[1]!], 'other')],
        [],
        [],
      ],
    )
    assert.deepEqual(
      (await old.events()).map(({ message_id }) => message_id),
      late,
    )
    assert.equal((await hamlet.get('/users/me/subscriptions')).subscriptions.length > 0, true)
    assert.deepEqual((await hamlet.get(`/users/me/${channel.id}/topics`)).topics, [])
    assert.equal((await hamlet.get(`/streams/${channel.id}`)).stream.first_message_id, null)
  })

  it('take files with them that no other message shows', async () => {
    const channel = rig.channel('files', [hamlet, ophelia])
    keep(1, channel)
    const upload = async (name: string) =>
      (await hamlet.upload('POST', '/user_uploads', Buffer.from(name), {}, name)).body.url as string
    const [gone, shared, unshown] = [await upload('gone.txt'), await upload('shared.txt'), await upload('unshown.txt')]
    await send(channel.id, 't', `[a](${gone}) [b](${shared})`)
    await send([ophelia.user.id], '', `[b](${shared})`)
    const queue = await hamlet.register({ event_types: ['attachment'] })
    rig.advance(DAY_S + 1)
    await rig.chat.expireOld()
    const { attachments } = await hamlet.get('/attachments')
    assert.deepEqual(attachments.map(({ name }: { name: string }) => name).sort(), ['shared.txt', 'unshown.txt'])
    assert.ok((await queue.events()).some(({ op }) => op === 'remove'))
    const read = async (url: string) => (await hamlet.call('GET', url)).status
    assert.deepEqual([await read(gone), await read(shared), await read(unshown)], [404, 200, 200])
    assert.equal(rig.chat.realm.store.files.all().length, 2)
  })

  it('leave the files of texts that their owner is still to send', async () => {
    const channel = rig.channel('unsent files', [hamlet, ophelia])
    keep(2, channel)
    const names = ['scheduled.txt', 'draft.txt', 'snippet.txt', 'gone.txt']
    const urls: string[] = []
    for (const name of names)
      urls.push((await hamlet.upload('POST', '/user_uploads', Buffer.from(name), {}, name)).body.url)
    const [scheduled, draft, snippet, gone] = urls as [string, string, string, string]
    await send(channel.id, 't', urls.map((url) => `[a](${url})`).join(' '))
    const scheduled_delivery_timestamp = Math.floor(rig.now() / 1000) + 3 * DAY_S
    const values = { type: 'channel', to: channel.id, topic: 't', content: `see [a](${scheduled}).` }
    await hamlet.post('/scheduled_messages', { ...values, scheduled_delivery_timestamp })
    await ophelia.post('/drafts', { drafts: [{ type: '', to: [], topic: '', content: `[a](${gone})` }] })
    await hamlet.post('/drafts', { drafts: [{ type: '', to: [], topic: '', content: `[a](${draft})` }] })
    await hamlet.post('/saved_snippets', { title: 'a', content: `[a](https://chat.example${snippet})` })
    rig.advance(2 * DAY_S + 1)
    await rig.chat.expireOld()
    const read = async (url: string) => (await hamlet.call('GET', url)).status
    assert.deepEqual(await Promise.all(urls.map(read)), [200, 200, 200, 404])
    rig.setTime(scheduled_delivery_timestamp * 1000)
    await rig.chat.deliverDue()
    assert.equal((await ophelia.call('GET', scheduled)).status, 200)
    rig.advance(2 * DAY_S + 1)
    await rig.chat.expireOld()
    assert.deepEqual(await Promise.all([scheduled, gone].map(read)), [404, 404])
  })

  it('do not stay behind one that a wrong clock has dated', async () => {
    const channel = rig.channel('clock', [hamlet])
    keep(1, channel)
    const now = rig.now()
    rig.advance(3650 * DAY_S)
    const future = await send(channel.id)
    rig.setTime(now)
    const past = [await send(channel.id), await send(channel.id)]
    rig.advance(DAY_S + 1)
    const young = await send(channel.id)
    await rig.chat.expireOld()
    assert.deepEqual(there([future, ...past, young]), [future, young])
  })

  it('100,000 go in slices, while others go on', async () => {
    const channel = rig.channel('large', [hamlet, ophelia])
    const { realm } = rig.chat
    const { messages, topics } = realm.store
    const first = await send(channel.id)
    const row = messages.get(first)!
    realm.transaction(() => {
      const ids = ['a', 'b', 'c'].map((name) => topics.add(channel.recipientId, name, name))
      for (let count = 1; count < 100_000; count++) {
        const { id: _, ...same } = row
        messages.add({ ...same, topic: ids[count % 3]!, ordinal: messages.nextOrdinal(channel.recipientId) })
      }
    })
    keep(1, channel)
    rig.advance(DAY_S + 1)
    const queue = await ophelia.register({
      event_types: ['delete_message'],
      client_capabilities: { notification_settings_null: true, bulk_message_deletion: true },
    })
    const round = rig.chat.expireOld()
    let isOver = false
    round.finally(() => {
      isOver = true
    })
    const seen = new Set<number>()
    let answers = 0
    const hear = async () => {
      const events = await queue.events()
      if (events.length > 0) answers++
      for (const { message_ids } of events) for (const id of message_ids) seen.add(id)
    }
    while (!isOver) {
      await wait(20)
      await hear()
    }
    await round
    await hear()
    assert.equal(seen.size, 100_000)
    assert.ok(answers > 20, `others were served at ${answers} places of it`)
    assert.deepEqual(messages.idsOf(channel.recipientId), [])
    assert.deepEqual((await hamlet.get(`/users/me/${channel.id}/topics`)).topics, [])
  })
})

it('whom a deletion of many is told are those whom each of them would be told of', async () => {
  const random = new Random(11)
  const people = [hamlet, ophelia, rig.account('guest', ROLES.guest), rig.account('other'), rig.owner]
  const channels = [
    rig.channel('audience', [hamlet]),
    rig.channel('audience private', [hamlet], { isPrivate: true }),
    rig.channel('audience protected', [hamlet], { isPrivate: true, historyPublicToSubscribers: false }),
  ]
  const { realm } = rig.chat
  for (const person of people) await person.register()
  for (let count = 0; count < 120; count++) {
    const channel = random.of(channels)
    const person = random.of(people)
    const chance = random.below(6)
    const pair = [{ user: person.user, channel }]
    if (chance === 0) realm.transaction((turn) => subscribe(realm, turn, pair))
    else if (chance === 1) realm.transaction((turn) => unsubscribe(realm, turn, pair))
    else if (chance === 2) {
      const { messages } = realm.store
      const id = 1 + random.below(messages.maxId())
      await person.call('POST', '/messages/flags', { messages: [id], op: 'add', flag: 'starred' })
      const target = random.of(channels)
      await rig.owner.call('PATCH', `/messages/${id}`, { stream_id: target.id, topic: 'moved' })
      await hamlet.call('PATCH', `/messages/${id}`, { stream_id: target.id, topic: 'moved' })
    } else await person.call('POST', '/messages', { type: 'channel', to: channel.id, topic: 't', content: 'x' })
  }
  for (const { recipientId } of channels) {
    const rows = realm.store.messages.idsOf(recipientId).map((id) => realm.store.messages.get(id)!)
    for (const together of Map.groupBy(rows, ({ topic }) => topic).values()) {
      const expected = new Map<number, number[]>()
      for (const row of together)
        for (const { id } of audienceOf(realm, row)) expected.set(id, [...(expected.get(id) ?? []), row.id])
      const found = new Map(
        [...audiencesOf(realm, locationOf(realm, together[0]!), together)].flatMap(([seen, users]) =>
          users.map((user) => [user, seen.map(({ id }) => id)] as const),
        ),
      )
      assert.deepEqual(new Map([...found].sort()), new Map([...expected].sort()))
    }
  }
})
