/** Keys of bots: asked for (E144), in no snapshot and no event (level 474). Contract sections 3.5 and 3.5.1. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/model/roles.ts'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, hamlet, iago, ophelia } = chatForEachTest({ hamlet: 'member', iago: 'administrator', ophelia: 'member' })

let made = 0
async function newBot(owner: Client): Promise<{ id: number; key: string; bot: Client }> {
  const short_name = `robot${++made}`
  const { user_id: id, api_key: key } = await owner.post('/bots', { full_name: `Robot ${made}`, short_name })
  return { id, key, bot: { ...rig.clientOf(rig.chat.realm.state.user.get(id)!), key } }
}

const keyOf = async (client: Client, id: number): Promise<string> => (await client.get(`/bots/${id}/api_key`)).api_key

async function isTaken(key: string, id: number): Promise<boolean> {
  const { email } = rig.chat.realm.state.user.get(id)!
  const authorization = `Basic ${Buffer.from(`${email}:${key}`).toString('base64')}`
  const { status } = await hamlet.call('GET', '/users/me', {}, { authorization })
  return status === 200
}

test('the owner and administrators are answered the key of a bot, others are not', async () => {
  const short_name = `robot${++made}`
  const { user_id: id, api_key } = await hamlet.post('/bots', { full_name: 'Only One', short_name })
  assert.equal(await keyOf(hamlet, id), api_key)
  assert.equal(await keyOf(iago, id), api_key)
  const refused = await ophelia.call('GET', `/bots/${id}/api_key`)
  assert.deepEqual([refused.status, refused.body.code, 'api_key' in refused.body], [403, 'BAD_REQUEST', false])
  for (const [client, other] of [
    [hamlet, 9999],
    [hamlet, ophelia.user.id],
    [rig.owner, 1],
  ] as const) {
    const { status, body } = await client.call('GET', `/bots/${other}/api_key`)
    assert.deepEqual([status, body.code], [404, 'BAD_REQUEST'], String(other))
  }
  const { key: _, bot } = await newBot(hamlet)
  assert.equal((await bot.call('GET', `/bots/${id}/api_key`)).body.result, 'error', 'bots ask for none')
})

test("a bot above an administrator is the owners' to manage", async () => {
  const { id } = await newBot(rig.owner)
  await rig.owner.patch(`/bots/${id}`, { role: ROLES.owner })
  assert.equal((await iago.call('GET', `/bots/${id}/api_key`)).status, 403)
})

test('no register answer and no event has a key', async () => {
  const queues = await Promise.all([hamlet, iago].map((client) => client.register({})))
  const { id, key } = await newBot(hamlet)
  const { api_key: second } = await hamlet.post(`/bots/${id}/api_key/regenerate`)
  const { api_key: third } = await iago.post(`/bots/${id}/api_key/regenerate`)
  await iago.patch(`/bots/${id}`, { bot_owner_id: ophelia.user.id })
  const fourth = await keyOf(ophelia, id)
  assert.equal(new Set([key, second, third, fourth]).size, 4)
  const told = [
    ...(await Promise.all(queues.map(({ events }) => events()))),
    ...(await Promise.all([hamlet, iago, ophelia].map(async (client) => (await client.register()).snapshot))),
  ]
  const text = JSON.stringify(told)
  for (const secret of [key, second, third, fourth]) assert.ok(!text.includes(secret))
  assert.ok(!text.includes('"api_key"'))
  assert.ok(text.includes('"realm_bots":[{"user_id"'))
})

test('a key that an administrator has asked for ends when that administrator may no longer manage the bot', async () => {
  const julia = rig.account('julia', ROLES.administrator)
  const { id, key } = await newBot(hamlet)
  rig.chat.realm.transaction((tx) => {
    for (const one of [...rig.chat.realm.state.keysOf.get(id).values()].slice(1)) tx.remove('apiKey', one.hash)
  })
  for (const client of [iago, julia, iago]) assert.equal(await keyOf(client, id), key)
  await rig.owner.patch(`/users/${julia.user.id}`, { role: ROLES.member })
  assert.equal(await isTaken(key, id), false)
  const second = await keyOf(hamlet, id)
  assert.notEqual(second, key)
  assert.equal(await keyOf(iago, id), second)
  rig.reopen()
  await rig.owner.delete(`/users/${iago.user.id}`)
  assert.equal(await isTaken(second, id), false)
  const third = await keyOf(hamlet, id)
  assert.ok(third !== second && (await isTaken(third, id)))
  await rig.owner.delete(`/users/${julia.user.id}`)
  assert.equal(await keyOf(hamlet, id), third, 'nobody else has been told it')
})

test('so does one that was given before the bot rose above that administrator', async () => {
  const { id } = await newBot(rig.owner)
  await keyOf(iago, id)
  const { api_key: second } = await iago.post(`/bots/${id}/api_key/regenerate`)
  await rig.owner.patch(`/bots/${id}`, { role: ROLES.owner })
  assert.equal(await isTaken(second, id), false)
  assert.ok(await isTaken(await keyOf(rig.owner, id), id))
})

test('a key that an older version noted for one administrator is still replaced', async () => {
  const { id, key } = await newBot(hamlet)
  rig.chat.realm.transaction((tx) => {
    for (const one of rig.chat.realm.state.keysOf.get(id).values()) tx.put('apiKey', { ...one, givenTo: iago.user.id })
  })
  rig.reopen()
  await rig.owner.patch(`/users/${iago.user.id}`, { role: ROLES.member })
  assert.equal(await isTaken(key, id), false)
})

test('a new e-mail address of a bot is reported to its managers', async () => {
  const { id } = await newBot(hamlet)
  const queues = await Promise.all(
    [hamlet, iago, ophelia].map((client) => client.register({ event_types: ['realm_bot'] })),
  )
  await hamlet.patch(`/bots/${id}`, { short_name: 'renamed' })
  const { email } = rig.chat.realm.state.user.get(id)!
  assert.match(email, /^renamed-bot@/)
  const update = { type: 'realm_bot', op: 'update', bot: { user_id: id, email }, id: 0 }
  assert.deepEqual(await Promise.all(queues.map(({ events }) => events())), [[update], [update], []])
})
