/** Headers of answers that a rate limit refuses: contract section 1.5. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openTestChat } from '../support/chat.ts'

const WITHIN_MS = 60_000
const PICTURE = '/user_avatars/2/1-00000000000000000000000000000000.png'

const headersOf = ({ headers }: { headers: Headers }) =>
  ['limit', 'remaining', 'reset'].map((name) => headers.get(`x-ratelimit-${name}`))

test('a refusal tells the limit that was hit, that nothing of it is left, and when it begins anew', async () => {
  const limits = {
    account: { calls: 3, withinMs: WITHIN_MS },
    address: { calls: 2, withinMs: WITHIN_MS },
    media: { calls: 4, withinMs: WITHIN_MS },
  }
  const rig = await openTestChat({ rateLimits: limits, nowMs: () => 0 })
  try {
    const reset = String(rig.chat.realm.clock.now() / 1000 + WITHIN_MS / 1000)
    for (let call = 0; call < 3; call++) await rig.owner.get('/users/me')
    for (let call = 0; call < 2; call++) await rig.anonymous('GET', '/server_settings')
    for (let call = 0; call < 4; call++) await rig.anonymous('GET', PICTURE)
    const refused = {
      3: await rig.owner.call('GET', '/users/me'),
      2: await rig.anonymous('GET', '/server_settings'),
      4: await rig.anonymous('GET', PICTURE),
    }
    for (const [limit, answer] of Object.entries(refused)) {
      assert.equal(answer.status, 429)
      assert.deepEqual(headersOf(answer), [limit, '0', reset])
      assert.equal(answer.headers.get('retry-after'), '60')
    }
  } finally {
    rig.close()
  }
})

test('a refusal by the limit of changes tells of that one, and not of the limit of calls', async () => {
  const rig = await openTestChat({
    rateLimits: {
      account: { calls: 50, withinMs: WITHIN_MS },
      address: { calls: 50, withinMs: WITHIN_MS },
      media: { calls: 50, withinMs: WITHIN_MS },
      changes: { calls: 1, withinMs: WITHIN_MS },
    },
    nowMs: () => 0,
  })
  try {
    const hamlet = rig.account('hamlet')
    const ask = () => hamlet.call('POST', '/users/me/api_key/regenerate')
    assert.deepEqual(headersOf(await ask())[0], '50')
    const again = rig.clientOf(hamlet.user)
    const refused = await again.call('POST', '/users/me/api_key/regenerate')
    assert.equal(refused.status, 429)
    assert.deepEqual(headersOf(refused).slice(0, 2), ['1', '0'])
  } finally {
    rig.close()
  }
})
