/** Rights that the page shows are those that the server grants: firmware/chat-page/model, without a browser. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRealmView } from '../../../firmware/chat-page/model/realm.ts'
import { mayDelete, mayEdit } from '../../../firmware/chat-page/model/rights.ts'
import type { Registered } from '../../../firmware/chat-page/model/types.ts'
import { chatSuite } from '../support/suite.ts'

const { rig, member, moderator } = await chatSuite({ member: 'member', moderator: 'moderator' })
const channel = rig.channel('general', [rig.owner, member, moderator])

for (const [when, passedS] of [
  ['within its time', 0],
  ['after its time', 3600],
] as const)
  test(`own messages can be edited and deleted ${when} as the page shows`, async () => {
    for (const client of [member, moderator, rig.owner]) {
      const { id } = await client.post('/messages', { type: 'channel', to: channel.id, topic: 't', content: 'first' })
      rig.advance(passedS)
      const view = createRealmView((await client.register()).snapshot as Registered)
      const { message } = await client.get(`/messages/${id}`)
      const nowS = rig.now() / 1000
      const shown = [mayEdit(view, message, nowS), mayDelete(view, message, nowS)]
      const edited = await client.call('PATCH', `/messages/${id}`, { content: 'second' })
      const deleted = await client.call('DELETE', `/messages/${id}`)
      assert.deepEqual(shown, [edited.status === 200, deleted.status === 200], client.user.fullName)
    }
  })
