/** The chat is told of a larger audit log before the answer. Contract of the appliance, section 7.8. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatService } from '../../../firmware/chat/link/chat-service.ts'
import { makeOperationalRig } from '../../support/in-process.ts'

const LINE_BYTES = 512
const MORE_LINES = 1000

test('a change of the size is told to the chat at once, with the new size; a refused one is not', async (t) => {
  const told: number[] = []
  const chat = { state: 'none', tellAuditGrowth: () => void told.push(growthBytes()) } as unknown as ChatService
  const rig = await makeOperationalRig({ chat })
  t.after(rig.close)
  const growthBytes = () => rig.appliance.audit?.growthBytes() ?? 0
  const configure = (json: object) => rig.status('PUT', '/config/audit', { as: 'admin', json })
  const { uses } = (await rig.call('GET', '/config/audit', { as: 'admin' })).json<{ uses: number }>()

  assert.equal(await configure({ uses: uses + MORE_LINES }), 204)
  assert.deepEqual(told, [MORE_LINES * LINE_BYTES])
  assert.equal(await configure({ uses: 0 }), 400)
  assert.equal(await configure({ uses }), 204)
  assert.deepEqual(told, [MORE_LINES * LINE_BYTES, 0])
})
