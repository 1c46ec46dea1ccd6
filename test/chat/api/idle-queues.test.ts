/** How long a client may leave its event queue alone: contract sections 4.1 and 4.3, levels 481 and before. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { chatForEachTest } from '../support/suite.ts'

let nowMs = 0
beforeEach(() => {
  nowMs = 0
})
const { rig, hamlet } = chatForEachTest({ hamlet: 'member' }, { nowMs: () => nowMs })

const QUEUES_OF_USER_MAX = 64

const register = (values: Record<string, unknown>) => hamlet.post('/register', { event_types: ['x'], ...values })

function wait(seconds: number): void {
  nowMs += seconds * 1000
  rig.chat.realm.events.sweep()
}

const poll = (queue_id: string) => hamlet.call('GET', '/events', { queue_id, last_event_id: -1, dont_block: true })

async function expectLife(queueId: string, seconds: number): Promise<void> {
  wait(seconds)
  assert.equal((await poll(queueId)).status, 200, `after ${seconds} s`)
  wait(seconds)
  assert.equal((await poll(queueId)).status, 200, 'the last poll counts')
  wait(seconds + 1)
  const { body } = await poll(queueId)
  assert.deepEqual([body.code, body.queue_id], ['BAD_EVENT_QUEUE_ID', queueId])
}

for (const [sent, seconds] of [
  [undefined, 600],
  [1, 1],
  [1800, 1800],
  ['mobile', 43_200],
  ['"mobile"', 43_200],
  [604_800, 604_800],
  [604_801, 604_800],
  [1e30, 604_800],
] as const)
  test(`idle_queue_timeout ${sent}: the queue lives ${seconds} s after its last poll`, async () => {
    const { queue_id, idle_queue_timeout_secs } = await register({ idle_queue_timeout: sent })
    assert.equal(idle_queue_timeout_secs, seconds)
    await expectLife(queue_id, seconds)
  })

test('the older name goes on, with its own bound; both names at once are refused', async () => {
  const { queue_id, idle_queue_timeout_secs } = await register({ queue_lifespan_secs: 7200 })
  assert.equal(idle_queue_timeout_secs, 7200)
  await expectLife(queue_id, 7200)
  await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/register', { queue_lifespan_secs: 604_801 })
  const both = { idle_queue_timeout: 'mobile', queue_lifespan_secs: 600 }
  const { body } = await hamlet.refused('REQUEST_CONFUSING_VAR', 'POST', '/register', both)
  assert.deepEqual([body.var_name1, body.var_name2], ['idle_queue_timeout', 'queue_lifespan_secs'])
})

for (const wrong of [0, -1, 1.5, 'desktop', '"desktop"', 'MOBILE', '', 'null', 'true', '[600]', '1e999', 'NaN'])
  test(`idle_queue_timeout ${JSON.stringify(wrong)} is refused, and no queue is made`, async () => {
    const { body } = await hamlet.refused('REQUEST_VARIABLE_INVALID', 'POST', '/register', {
      idle_queue_timeout: wrong,
    })
    assert.equal(body.var_name, 'idle_queue_timeout')
    assert.equal(rig.chat.realm.events.size, 0)
  })

test('the time survives a restart, from which it counts anew', async () => {
  const { queue_id } = await register({ idle_queue_timeout: 'mobile' })
  rig.reopen()
  await expectLife(queue_id, 43_200)
})

test('queues of long life are bounded in number as others are: the one unused for the longest time goes', async () => {
  const first = await register({ idle_queue_timeout: 'mobile' })
  for (let count = 0; count < QUEUES_OF_USER_MAX; count++) {
    nowMs += 1000
    await register({ idle_queue_timeout: 'mobile' })
  }
  assert.equal(rig.chat.realm.events.size, QUEUES_OF_USER_MAX)
  assert.equal((await poll(first.queue_id)).body.code, 'BAD_EVENT_QUEUE_ID')
})

test('a spectator, who has no queue, is told no time', async () => {
  await rig.owner.patch('/realm', { enable_spectator_access: true })
  rig.channel('plaza', [rig.owner], { isWebPublic: true })
  const { status, body } = await rig.anonymous('POST', '/register', { client_gravatar: false })
  assert.deepEqual([status, body.queue_id, 'idle_queue_timeout_secs' in body], [200, null, false])
})
