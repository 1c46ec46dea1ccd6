/** The appliance's administrator changes the organization's settings and lets owners in again. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROLES } from '../../../../../firmware/chat/realm/model/roles.ts'
import { changeOperatorSettings } from '../../../../../firmware/chat/realm/organization/operator/operator.ts'
import { chatForEachTest } from '../../../support/suite.ts'

const { rig } = chatForEachTest()

test('every owner, and nobody else, is told by the Notification Bot that an owner has a new password', async () => {
  const second = rig.account('second', ROLES.owner)
  const others = [rig.account('admin', ROLES.administrator), rig.account('member')]
  const [ofSecond, ofOthers] = [await second.register(), await Promise.all(others.map((one) => one.register()))]
  await rig.chat.recoverOwner('olivia@example.com', 'another password of hers')
  await rig.owner.refused('INVALID_API_KEY', 'GET', '/users/me')

  const recovered = rig.clientOf(rig.owner.user)
  for (const owner of [recovered, second]) {
    const { messages } = await owner.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0 })
    assert.deepEqual(
      messages.map(({ sender_full_name, type }: { sender_full_name: string; type: string }) => [
        sender_full_name,
        type,
      ]),
      [['Notification Bot', 'private']],
    )
    assert.match(messages[0].content, /has set a new password for .*Olivia Owner/)
  }
  const messages = (events: { type: string }[]) => events.filter(({ type }) => type === 'message').length
  assert.equal(messages(await ofSecond.events()), 1)
  for (const queue of ofOthers) assert.equal(messages(await queue.events()), 0)
})

test('without such an owner nothing is changed, and nobody is told', async () => {
  const admin = rig.account('admin', ROLES.administrator)
  for (const email of [admin.user.deliveryEmail, 'nobody@example.com'])
    await assert.rejects(rig.chat.recoverOwner(email, 'another password'), { code: 'notFound' })
  assert.deepEqual((await rig.owner.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0 })).messages, [])
  await admin.get('/users/me')
})

test('everybody is told that owners read private channels, and that they do no longer; what stays is not told', async () => {
  const { realm } = rig.chat
  const people = [rig.owner, rig.account('member'), rig.account('guest', ROLES.guest)]
  const queues = await Promise.all(people.map((one) => one.register({ event_types: ['realm', 'message'] })))
  const told = () =>
    Promise.all(
      queues.map(async (queue) =>
        (await queue.events()).map((event) =>
          event.type === 'message' ? `${event.message.sender_full_name}: ${event.message.content}` : event.value,
        ),
      ),
    )
  const hidden = rig.channel('hidden', [people[1]!], { isPrivate: true })
  await people[1]!.post('/messages', { type: 'stream', to: hidden.id, topic: 'x', content: 'Between us' })
  await told()
  const reads = async () => {
    const narrow = [{ operator: 'channel', operand: hidden.id }]
    return (await rig.owner.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0, narrow })).messages.length
  }
  assert.equal(await reads(), 0)

  changeOperatorSettings(realm, { ownerFullContentAccess: true })
  assert.equal(await reads(), 1)
  for (const [value, words, ...rest] of await told()) {
    assert.deepEqual([value, rest], [true, []])
    assert.match(words, /^Notification Bot: .* has let the owners of this organization read all of its channels/)
  }
  changeOperatorSettings(realm, { ownerFullContentAccess: true, uploadQuotaMib: null })
  for (const events of await told()) assert.deepEqual(events, [])
  changeOperatorSettings(realm, { ownerFullContentAccess: false })
  assert.equal(await reads(), 0)
  for (const [value, words] of await told()) {
    assert.equal(value, false)
    assert.match(words, /read no private channels that they are not in/)
  }
})

test('clients hear of another share of the disk for uploads', async () => {
  const queue = await rig.account('member').register({ event_types: ['realm'] })
  changeOperatorSettings(rig.chat.realm, { uploadQuotaMib: 250 })
  changeOperatorSettings(rig.chat.realm, { uploadQuotaMib: 250 })
  const events = (await queue.events()).map(({ id: _, ...event }) => event)
  assert.deepEqual(events, [{ type: 'realm', op: 'update_dict', property: 'default', data: { upload_quota_mib: 250 } }])
  assert.equal((await rig.owner.register()).snapshot.realm_upload_quota_mib, 250)
})

test('with another address all clients begin anew, and without a change none does', async () => {
  const member = rig.account('member')
  const { queue_id } = (await member.register()).snapshot
  const polled = { queue_id, last_event_id: -1, dont_block: true }
  changeOperatorSettings(rig.chat.realm, { url: '' })
  await member.get('/events', polled)
  changeOperatorSettings(rig.chat.realm, { url: 'https://chat.example.org' })
  await member.refused('BAD_EVENT_QUEUE_ID', 'GET', '/events', polled)
  assert.equal((await member.register()).snapshot.realm_url, 'https://chat.example.org')
})

test('everybody is told that somebody else signs people in, with another key again, and that it is over', async () => {
  const { realm } = rig.chat
  const queues = await Promise.all([rig.owner, rig.account('member')].map((one) => one.register()))
  const told = () =>
    Promise.all(
      queues.map(async (queue) =>
        (await queue.events()).filter(({ type }) => type === 'message').map(({ message }) => message.content),
      ),
    )
  const key = (byte: number) => ({ algorithm: 'HS256' as const, key: Buffer.alloc(32, byte) })
  changeOperatorSettings(realm, { jwt: null })
  for (const contents of await told()) assert.deepEqual(contents, [])
  for (const byte of [1, 2]) {
    changeOperatorSettings(realm, { jwt: key(byte) })
    for (const [content, ...rest] of await told()) {
      assert.match(content, /sign in as anybody in this organization/)
      assert.deepEqual(rest, [])
    }
  }
  changeOperatorSettings(realm, { jwt: null, uploadQuotaMib: null })
  for (const [content] of await told()) assert.match(content, /tokens sign nobody in any more/)
})
