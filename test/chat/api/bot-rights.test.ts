/** A bot has no right that its owner lacks, and a key ends with the reason it was given for. Contract sections 1.2 and 3.5.1. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { ROLES, type Role } from '../../../firmware/chat/realm/model/roles.ts'
import { makeKey } from '../../../firmware/chat/realm/objects/keys.ts'
import type { Client } from '../support/chat.ts'
import { chatForEachTest } from '../support/suite.ts'

const { rig, iago } = chatForEachTest({ iago: 'administrator' })

let made = 0
async function newBot(owner: Client, role: Role = ROLES.member): Promise<Client> {
  const name = `bot${++made}`
  const { user_id, api_key } = await owner.post('/bots', { full_name: name, short_name: name })
  if (role !== ROLES.member) await owner.patch(`/bots/${user_id}`, { role })
  return withKey(owner, user_id, api_key)
}

function withKey(client: Client, userId: number, key: string): Client {
  const user = rig.chat.realm.state.user.get(userId)!
  const authorization = `Basic ${Buffer.from(`${user.email}:${key}`).toString('base64')}`
  const call: Client['call'] = (method, path, values) => client.call(method, path, values, { authorization })
  return { ...client, user, key, call }
}

const roleOf = ({ user }: Client) => rig.chat.realm.state.user.get(user.id)!.role
const status = async (client: Client, method: string, path: string, values = {}) =>
  (await client.call(method, path, values)).status
const works = async (client: Client) => (await status(client, 'GET', '/users/me')) === 200
/** Before level 474 bot objects had keys. */
const BEFORE_474 = { 'x-service-feature-level': '460' }

const shownKey = async (viewer: Client, bot: Client): Promise<string | undefined> =>
  (await viewer.call('POST', '/register', { fetch_event_types: ['realm_bot'] }, BEFORE_474)).body.realm_bots.find(
    ({ user_id }: { user_id: number }) => user_id === bot.user.id,
  )?.api_key

async function keysTold(viewer: Client, act: () => Promise<void>): Promise<string[]> {
  const { body } = await viewer.call('POST', '/register', { event_types: ['realm_bot'] }, BEFORE_474)
  await act()
  const { events } = await viewer.get('/events', { queue_id: body.queue_id, last_event_id: -1, dont_block: true })
  return events.map(({ bot }: { bot: { api_key: string } }) => bot.api_key)
}

describe('the role of a bot', () => {
  it('follows its owner down: a demoted administrator is not promoted again by the bot', async () => {
    const bot = await newBot(iago, ROLES.administrator)
    assert.equal(roleOf(bot), ROLES.administrator)
    await rig.owner.patch(`/users/${iago.user.id}`, { role: ROLES.member })
    assert.equal(roleOf(bot), ROLES.member)
    assert.equal(await status(bot, 'PATCH', `/users/${iago.user.id}`, { role: ROLES.administrator }), 400)
    assert.equal(roleOf(iago), ROLES.member)
    await rig.owner.patch(`/users/${iago.user.id}`, { role: ROLES.guest })
    assert.equal(roleOf(bot), ROLES.guest)
    await rig.owner.patch(`/users/${iago.user.id}`, { role: ROLES.administrator })
    assert.equal(roleOf(bot), ROLES.guest, 'it does not rise with the owner')
  })

  it('also while the bot is deactivated', async () => {
    const bot = await newBot(iago, ROLES.administrator)
    await iago.delete(`/bots/${bot.user.id}`)
    await rig.owner.patch(`/users/${iago.user.id}`, { role: ROLES.member })
    await rig.owner.post(`/users/${bot.user.id}/reactivate`)
    assert.equal(roleOf(bot), ROLES.member)
  })

  it('is set by nobody above that of its owner (E72, E91), and managers are told of each step', async () => {
    const hamlet = rig.account('hamlet')
    const bot = await newBot(hamlet)
    for (const path of [`/users/${bot.user.id}`, `/bots/${bot.user.id}`])
      assert.equal(await status(rig.owner, 'PATCH', path, { role: ROLES.administrator }), 403, path)
    assert.equal(roleOf(bot), ROLES.member)
    await rig.owner.patch(`/users/${hamlet.user.id}`, { role: ROLES.moderator })
    await rig.owner.patch(`/bots/${bot.user.id}`, { role: ROLES.moderator })
    const queue = await rig.owner.register({ event_types: ['realm_user'] })
    await rig.owner.patch(`/users/${hamlet.user.id}`, { role: ROLES.member })
    assert.deepEqual(
      (await queue.events()).map(({ person }) => [person.user_id, person.role]),
      [
        [hamlet.user.id, ROLES.member],
        [bot.user.id, ROLES.member],
      ],
    )
  })

  it('of one stored above its owner, or active without an active owner, is corrected at the next start', async () => {
    const [bot, orphan] = [await newBot(rig.account('hamlet')), await newBot(rig.account('ophelia'))]
    const { realm } = rig.chat
    realm.transaction((turn) => {
      turn.put('user', { ...realm.state.user.get(bot.user.id)!, role: ROLES.owner })
      turn.put('user', { ...realm.state.user.get(orphan.user.bot!.ownerId!)!, isActive: false })
    })
    rig.reopen()
    assert.equal(roleOf(bot), ROLES.member)
    assert.equal(await works(orphan), false)
  })
})

describe('a new owner of a bot', () => {
  it('is named by administrators alone', async () => {
    const [hamlet, ophelia] = [rig.account('hamlet'), rig.account('ophelia')]
    const bot = await newBot(hamlet)
    assert.equal(await status(hamlet, 'PATCH', `/bots/${bot.user.id}`, { bot_owner_id: ophelia.user.id }), 403)
    await iago.patch(`/bots/${bot.user.id}`, { bot_owner_id: ophelia.user.id })
  })

  it('has another key, of which the former one learns nothing: no way back in after deactivation', async () => {
    const second = rig.account('second', ROLES.administrator)
    const bot = await newBot(iago, ROLES.administrator)
    await iago.patch(`/bots/${bot.user.id}`, { bot_owner_id: second.user.id })
    await rig.owner.delete(`/users/${iago.user.id}`)
    assert.equal(await status(bot, 'POST', `/users/${iago.user.id}/reactivate`), 401)
    const key = (await shownKey(second, bot))!
    assert.notEqual(key, bot.key)
    assert.ok(await works(withKey(second, bot.user.id, key)))
  })

  it('gets it with no more than their own role', async () => {
    const hamlet = rig.account('hamlet')
    const bot = await newBot(iago, ROLES.administrator)
    await iago.patch(`/bots/${bot.user.id}`, { bot_owner_id: hamlet.user.id })
    assert.equal(roleOf(bot), ROLES.member)
  })

  it('is given no more bots than they may make', async () => {
    const hamlet = rig.account('hamlet')
    const { realm } = rig.chat
    const bot = await newBot(hamlet)
    realm.transaction((turn) => {
      for (let count = 1; count < 200; count++) {
        const id = turn.nextId('user')
        const email = `filler${count}-bot@coffer.invalid`
        turn.put('user', { ...realm.state.user.get(bot.user.id)!, id, email, deliveryEmail: email, fullName: email })
      }
    })
    const other = await newBot(iago)
    const input = await iago.call('PATCH', `/bots/${other.user.id}`, { bot_owner_id: hamlet.user.id })
    assert.deepEqual([input.status, input.body.msg], [400, 'More than 200 bots'])
  })

  it('is the user who reactivates a bot of a deactivated owner, under the same conditions', async () => {
    const hamlet = rig.account('hamlet')
    const bot = await newBot(hamlet)
    await rig.owner.delete(`/users/${hamlet.user.id}`)
    await iago.post(`/users/${bot.user.id}/reactivate`)
    assert.equal(rig.chat.realm.state.user.get(bot.user.id)!.bot!.ownerId, iago.user.id)
    assert.equal(await works(bot), false, 'the former key is over')
    assert.ok(await works(withKey(iago, bot.user.id, (await shownKey(iago, bot))!)))
  })
})

describe('the key of a bot', () => {
  it('is shown to its owner alone, in the snapshot and in events of before level 474', async () => {
    const hamlet = rig.account('hamlet')
    for (const [viewer, keysOf] of [
      [hamlet, (first: string, second: string) => [first, second]],
      [iago, () => ['']],
    ] as const) {
      let [first, second] = ['', '']
      const told = await keysTold(viewer, async () => {
        const bot = await newBot(hamlet)
        first = bot.key
        second = (await hamlet.post(`/bots/${bot.user.id}/api_key/regenerate`)).api_key
        assert.deepEqual([await shownKey(hamlet, bot), await shownKey(iago, bot)], [second, ''])
      })
      assert.deepEqual(told, keysOf(first, second))
    }
  })

  it("that an administrator has made for another account's bot ends with their right to it", async () => {
    for (const end of ['demoted', 'deactivated']) {
      const bot = await newBot(rig.owner, ROLES.administrator)
      const admin = rig.account(end, ROLES.administrator)
      const { api_key } = await admin.post(`/bots/${bot.user.id}/api_key/regenerate`)
      const own = await withKey(admin, bot.user.id, api_key).call('POST', '/users/me/api_key/regenerate')
      const taken = withKey(admin, bot.user.id, own.body.api_key) // the bot itself has asked for this one
      assert.ok(await works(taken))
      if (end === 'demoted') await rig.owner.patch(`/users/${admin.user.id}`, { role: ROLES.member })
      else await rig.owner.delete(`/users/${admin.user.id}`)
      assert.equal(await works(taken), false, end)
      assert.ok(
        await works(withKey(rig.owner, bot.user.id, (await shownKey(rig.owner, bot))!)),
        'its owner has another',
      )
    }
  })

  it('that its own administrator made stays with the owner when another administrator goes', async () => {
    const bot = await newBot(rig.owner)
    await rig.owner.delete(`/users/${iago.user.id}`)
    assert.ok(await works(bot))
    const { realm } = rig.chat
    const key = realm.transaction((turn) => makeKey(realm, turn, bot.user, 'test'))
    assert.ok(await works(withKey(rig.owner, bot.user.id, key)))
  })
})
