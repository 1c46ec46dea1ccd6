/** Links for a new password: contract rows E156 and E157. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatAuditEvent } from '../../../firmware/chat/link/chat-audit-event.ts'
import type { Client } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const DAY_S = 86_400
const PASSWORD = 'new words of somebody'

const acts: ChatAuditEvent[] = []
const { rig, admin, second } = await chatSuite(
  { admin: 'administrator', second: 'administrator' },
  { record: (act) => void acts.push(act) },
)
const { owner } = rig

let accounts = 0
const newAccount = () => rig.account(`person${accounts++}`)

async function linkFor({ user }: Client, by = admin): Promise<string> {
  const { link } = await by.post(`/users/${user.id}/password_link`)
  const [, key] = /^https:\/\/chat\.example\/password\/#(\w{32})\/$/.exec(link)!
  return key!
}

const set = (key: string, password = PASSWORD) => rig.anonymous('POST', `/password/${key}`, { password })

async function expectGone(key: string): Promise<void> {
  for (const method of ['GET', 'POST']) {
    const { status, body } = await rig.anonymous(
      method,
      `/password/${key}`,
      method === 'GET' ? {} : { password: PASSWORD },
    )
    assert.deepEqual([status, body.msg], [404, 'Link does not exist'], method)
  }
}

async function notices(client: Client): Promise<string[]> {
  const newest = { anchor: 'newest', num_before: 50, num_after: 0, apply_markdown: false }
  const { messages } = await client.get('/messages', newest)
  return messages.map(({ content }: { content: string }) => content)
}

const signsIn = async ({ user }: Client, password = PASSWORD) =>
  (await rig.anonymous('POST', '/fetch_api_key', { username: user.email, password })).status

test('a link sets a password once, ends all keys and queues, and tells the account and all owners', async () => {
  const client = newAccount()
  const queue = await client.register()
  acts.length = 0
  const key = await linkFor(client)
  const isTold = async (who: Client) => (await notices(who)).some((text) => text.includes('can set a new password'))
  assert.deepEqual([await isTold(client), await isTold(owner), await isTold(second)], [true, true, false])
  const { body } = await rig.anonymous('GET', `/password/${key}`)
  assert.equal(body.email, client.user.deliveryEmail)
  assert.equal(typeof body.realm_name, 'string')
  assert.equal((await set(key, 'short')).status, 400)
  const { status, body: answer } = await set(key)
  assert.deepEqual([status, answer.email], [200, client.user.email])
  await client.refused('INVALID_API_KEY', 'GET', '/users/me')
  assert.equal(await signsIn(client), 200)
  assert.ok(queue)
  await expectGone(key)
  assert.deepEqual(
    acts
      .filter(({ path }) => path.includes('password'))
      .map(({ user, method, path, result }) => [user, method, path, result]),
    [
      [admin.user.id, 'POST', '/users/{user_id}/password_link', 200],
      [null, 'POST', '/password/{key}', 400],
      [client.user.id, 'POST', '/password/{key}', 200],
      [null, 'POST', '/password/{key}', 404],
    ],
  )
  assert.ok(!JSON.stringify(acts).includes(key))
})

test('a later link, another password, a day and a deactivation end it', async () => {
  const client = newAccount()
  const first = await linkFor(client)
  const later = await linkFor(client)
  await expectGone(first)
  rig.advance(DAY_S - 1)
  assert.equal((await rig.anonymous('GET', `/password/${later}`)).status, 200)
  rig.advance(1)
  await expectGone(later)
  const third = await linkFor(client)
  await admin.delete(`/users/${client.user.id}`)
  await expectGone(third)
  await admin.refused('BAD_REQUEST', 'POST', `/users/${client.user.id}/password_link`)
  const other = newAccount()
  assert.equal((await set(await linkFor(other))).status, 200)
  const fourth = await linkFor(other)
  await rig.clientOf(other.user).patch('/settings', { old_password: PASSWORD, new_password: 'yet other words' })
  await expectGone(fourth)
  await expectGone('x'.repeat(32))
})

test('a link of before a deactivation, of the account or of its maker, does not come back with it', async () => {
  for (const which of ['account', 'maker']) {
    const [client, maker] = [newAccount(), newAccount()]
    await owner.patch(`/users/${maker.user.id}`, { role: 200 })
    const key = await linkFor(client, maker)
    const { id } = (which === 'account' ? client : maker).user
    await owner.delete(`/users/${id}`)
    await owner.post(`/users/${id}/reactivate`)
    await expectGone(key)
  }
})

test('only owners open the account of an owner, and a link is good while its maker has the right', async () => {
  const client = newAccount()
  await admin.refused('BAD_REQUEST', 'POST', `/users/${owner.user.id}/password_link`)
  const key = await linkFor(client, second)
  await owner.patch(`/users/${client.user.id}`, { role: 100 })
  await expectGone(key)
  await owner.patch(`/users/${client.user.id}`, { role: 400 })
  const again = await linkFor(client, second)
  await owner.patch(`/users/${second.user.id}`, { role: 400 })
  await expectGone(again)
  const { user_id: botId } = await admin.post('/bots', { full_name: 'Robot', short_name: 'robot' })
  await admin.refused('BAD_REQUEST', 'POST', `/users/${botId}/password_link`)
})
