/** Times that no client can show: contract rows E29, E31, E33. */

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { chatSuite } from '../../support/suite.ts'

const { hamlet } = await chatSuite({ hamlet: 'member' })

const LAST = Date.UTC(9999, 11, 31, 23, 59, 59) / 1000
const TOO_LATE = [LAST + 1, 8.64e12, 8.64e12 + 1, Number.MAX_SAFE_INTEGER]

it('a scheduled message or a reminder beyond the year 9999 is refused, and one at its end is kept', async () => {
  const { id } = await hamlet.post('/messages', { type: 'direct', to: [hamlet.user.id], content: 'Words' })
  const message = { type: 'direct', to: [hamlet.user.id], content: 'Later' }
  const { scheduled_message_id } = await hamlet.post('/scheduled_messages', {
    ...message,
    scheduled_delivery_timestamp: LAST,
  })
  await hamlet.post('/reminders', { message_id: id, scheduled_delivery_timestamp: LAST })
  for (const scheduled_delivery_timestamp of TOO_LATE) {
    const refused = async (method: string, path: string, values: object) => {
      const { body } = await hamlet.refused('BAD_REQUEST', method, path, { ...values, scheduled_delivery_timestamp })
      assert.equal(body.msg, 'Scheduled delivery time must be before the year 10000.')
    }
    await refused('POST', '/scheduled_messages', message)
    await refused('PATCH', `/scheduled_messages/${scheduled_message_id}`, {})
    await refused('POST', '/reminders', { message_id: id })
  }
  const { scheduled_messages } = await hamlet.get('/scheduled_messages')
  assert.deepEqual(
    scheduled_messages.map((one: Record<string, unknown>) => one.scheduled_delivery_timestamp),
    [LAST],
  )
})
