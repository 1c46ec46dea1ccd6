/** What the appliance's administrator does for the organization. Design 2. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROLES } from '../../../firmware/chat/realm/roles.ts'
import { openTestChat } from '../support/chat.ts'

test('every owner, and nobody else, is told by the Notification Bot that an owner has a new password', async () => {
  const rig = await openTestChat()
  try {
    const second = rig.account('second', ROLES.owner)
    const others = [rig.account('admin', ROLES.administrator), rig.account('member')]
    const [ofSecond, ofOthers] = [await second.register(), await Promise.all(others.map((one) => one.register()))]
    await rig.chat.recoverOwner('olivia@example.com', 'another password of hers')
    await rig.owner.refused('INVALID_API_KEY', 'GET', '/users/me')

    const recovered = rig.clientOf(rig.owner.user)
    for (const owner of [recovered, second]) {
      const { messages } = await owner.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0 })
      assert.deepEqual(
        messages.map(({ sender_full_name, type }: { sender_full_name: string; type: string }) => [
          sender_full_name,
          type,
        ]),
        [['Notification Bot', 'private']],
      )
      assert.match(messages[0].content, /has set a new password for .*Olivia Owner/)
    }
    const messages = (events: { type: string }[]) => events.filter(({ type }) => type === 'message').length
    assert.equal(messages(await ofSecond.events()), 1)
    for (const queue of ofOthers) assert.equal(messages(await queue.events()), 0)
  } finally {
    rig.close()
  }
})

test('without such an owner nothing is changed, and nobody is told', async () => {
  const rig = await openTestChat()
  try {
    const admin = rig.account('admin', ROLES.administrator)
    for (const email of [admin.user.deliveryEmail, 'nobody@example.com'])
      await assert.rejects(rig.chat.recoverOwner(email, 'another password'), { code: 'notFound' })
    assert.deepEqual((await rig.owner.get('/messages', { anchor: 'newest', num_before: 5, num_after: 0 })).messages, [])
    await admin.get('/users/me')
  } finally {
    rig.close()
  }
})
