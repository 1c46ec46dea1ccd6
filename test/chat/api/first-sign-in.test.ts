/** Accounts that an administrator made join at their first sign-in: contract V34, row E71; level 475. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chatSuite } from '../support/suite.ts'

let nowMs = 0
const { rig, hamlet } = await chatSuite({ hamlet: 'member' }, { nowMs: () => nowMs })

const PASSWORD = 'correct horse battery'

test('date_joined is when the account was made until its first sign-in, and then that time for good', async () => {
  await rig.owner.patch('/realm', { waiting_period_threshold: 2 })
  const made = { email: 'new@example.com', password: PASSWORD, full_name: 'New Person' }
  const { user_id } = await rig.owner.post('/users', made)
  const joined = async () => (await hamlet.get(`/users/${user_id}`)).user.date_joined
  const first = await joined()
  const { events } = await hamlet.register({ event_types: ['realm_user'] })
  rig.advance(3 * 86_400)
  assert.equal(await joined(), first)
  const signIn = async () => {
    const { status } = await rig.anonymous('POST', '/fetch_api_key', { username: made.email, password: PASSWORD })
    assert.equal(status, 200)
  }
  const wrong = { username: made.email, password: 'wrong horse battery' }
  await rig.anonymous('POST', '/fetch_api_key', wrong)
  assert.deepEqual(await events(), [], 'a wrong password is no sign-in')
  nowMs += 10_000 // past the limit of wrong ones
  rig.advance(10)
  await signIn()
  const now = `${new Date(rig.now()).toISOString().slice(0, 19)}+00:00`
  assert.equal(await joined(), now)
  assert.deepEqual(await events(), [{ type: 'realm_user', op: 'update', person: { user_id, date_joined: now }, id: 0 }])
  rig.reopen()
  rig.advance(60)
  await signIn()
  assert.deepEqual(await events(), [])
  assert.equal(await joined(), now)
})

test('an account that made itself joins when it is made', async () => {
  const { events } = await hamlet.register({ event_types: ['realm_user'] })
  rig.advance(60)
  const before = (await hamlet.get('/users/me')).date_joined
  rig.clientOf(hamlet.user)
  assert.equal((await hamlet.get('/users/me')).date_joined, before)
  assert.deepEqual(await events(), [])
})
