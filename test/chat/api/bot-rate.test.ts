/** Bots spend the calls of their owner: contract section 1.5. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_LIMITS } from '../support/chat.ts'
import { chatSuite } from '../support/suite.ts'

const CALLS = 10

const { rig, hamlet, ophelia } = await chatSuite(
  { hamlet: 'member', ophelia: 'member' },
  { rateLimits: { ...NO_LIMITS, account: { calls: CALLS, withinMs: 3_600_000 } } },
)

test('an account and all its bots together have the calls of one account', async () => {
  const bots = []
  for (const name of ['one', 'two', 'three']) {
    const { user_id: id } = await hamlet.post('/bots', { full_name: `Bot ${name}`, short_name: name })
    bots.push(rig.clientOf(rig.chat.realm.state.user.get(id)!))
  }
  const callers = [hamlet, ...bots]
  for (let call = bots.length; call < CALLS; call++) await callers[call % callers.length]!.get('/users/me')
  for (const caller of callers) {
    const { status, headers } = await caller.call('GET', '/users/me')
    assert.deepEqual([status, headers.get('x-ratelimit-remaining')], [429, '0'])
  }
  assert.equal((await ophelia.call('GET', '/users/me')).headers.get('x-ratelimit-remaining'), String(CALLS - 1))
})
