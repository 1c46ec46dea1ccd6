/** Keys of an account are seen and revoked one by one: contract section 3.1, rows E141 and E142. */

import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { chatSuite } from '../support/suite.ts'

const DAY_S = 86_400
const MIDNIGHT_MS = Date.parse('2027-03-01T00:00:00Z')

const { rig } = await chatSuite()
rig.setTime(MIDNIGHT_MS)

describe('GET /users/me/api_keys: the list of keys', () => {
  it('has each with its client and days, oldest first, and neither keys nor hashes', async () => {
    rig.advance(3600)
    const phone = rig.account('hamlet')
    rig.advance(DAY_S)
    const computer = rig.clientOf(phone.user)
    rig.account('ophelia')
    rig.advance(DAY_S)
    const { api_keys } = await phone.get('/users/me/api_keys')
    const midnight = MIDNIGHT_MS / 1000
    const made = midnight + 3600
    assert.deepEqual(
      api_keys.map(({ id, ...rest }: { id: number }) => rest),
      [
        { client: 'test', device: null, is_current: true, date_created: made, last_used: midnight + 2 * DAY_S },
        {
          client: 'test',
          device: null,
          is_current: false,
          date_created: made + DAY_S,
          last_used: midnight + DAY_S,
        },
      ],
    )
    const hashes = [...rig.chat.realm.state.keysOf.get(phone.user.id).values()].map(({ hash }) => hash)
    for (const secret of [phone.key, computer.key, ...hashes])
      assert.ok(!JSON.stringify(api_keys).includes(secret), 'a secret is on the list')
  })
})

describe('DELETE /users/me/api_keys/:key_id: revoking a key', () => {
  it('ends that one, its waiting poll too, and leaves the others and their queues, also after a restart', async () => {
    const phone = rig.account('horatio')
    const computer = rig.clientOf(phone.user)
    const queue = await computer.register()
    const lost = await phone.register()
    const poll = phone.call('GET', '/events', { queue_id: lost.snapshot.queue_id, last_event_id: -1 })
    const [first, second] = (await computer.get('/users/me/api_keys')).api_keys
    await computer.delete(`/users/me/api_keys/${first.id}`)
    const { status, body } = await poll
    assert.deepEqual([status, body.code], [401, 'INVALID_API_KEY'])
    rig.reopen()
    await phone.refused('INVALID_API_KEY', 'GET', '/users/me')
    assert.deepEqual((await computer.get('/users/me/api_keys')).api_keys, [second])
    await queue.events()
  })

  it('is for the key that asks for it, too', async () => {
    const phone = rig.account('marcellus')
    const [{ id }] = (await phone.get('/users/me/api_keys')).api_keys
    await phone.delete(`/users/me/api_keys/${id}`)
    await phone.refused('INVALID_API_KEY', 'GET', '/users/me/api_keys')
  })

  it("answers the same for somebody else's key, for one that is gone, and for what is no number", async () => {
    const mine = rig.account('laertes')
    const other = rig.account('claudius')
    const [theirs] = (await other.get('/users/me/api_keys')).api_keys
    const refusal = async (id: unknown) => {
      const { status, body } = await mine.call('DELETE', `/users/me/api_keys/${id}`)
      return [status, body.code]
    }
    assert.deepEqual(await refusal(theirs.id), [404, 'BAD_REQUEST'])
    assert.deepEqual(await refusal(theirs.id + 1000), [404, 'BAD_REQUEST'])
    assert.equal((await refusal('first'))[0], 404)
    await other.get('/users/me')
  })
})
