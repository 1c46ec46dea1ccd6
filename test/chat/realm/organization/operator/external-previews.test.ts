/** Whether messages show pictures of other hosts, as people are told. Contract section 6.3. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  changeOperatorSettings,
  operatorSettings,
} from '../../../../../firmware/chat/realm/organization/operator/operator.ts'
import { chatSuite } from '../../../support/suite.ts'

const { rig } = await chatSuite()

test('each person is told when pictures of other hosts are shown and no longer; a value that stays is not told', async () => {
  const queues = await Promise.all([rig.owner, rig.account('member')].map((one) => one.register()))
  const told = async (externalPreviews: boolean): Promise<string[][]> => {
    changeOperatorSettings(rig.chat.realm, { externalPreviews })
    assert.equal(operatorSettings(rig.chat.realm).externalPreviews, externalPreviews)
    return Promise.all(
      queues.map(async (queue) =>
        (await queue.events())
          .filter(({ type }) => type === 'message')
          .map(({ message }) => `${message.sender_full_name}: ${message.content}`),
      ),
    )
  }
  assert.equal(operatorSettings(rig.chat.realm).externalPreviews, false)
  assert.deepEqual(await told(false), [[], []])
  for (const [value, words] of [
    [true, /^Notification Bot: .*show pictures and videos of other hosts.*can learn who reads a message/],
    [false, /^Notification Bot: .*show no pictures and videos of other hosts/],
  ] as const) {
    for (const [text, ...rest] of await told(value)) {
      assert.match(text!, words)
      assert.deepEqual(rest, [])
    }
    assert.deepEqual(await told(value), [[], []])
  }
  changeOperatorSettings(rig.chat.realm, { externalPreviews: true })
  rig.reopen()
  assert.equal(operatorSettings(rig.chat.realm).externalPreviews, true)
})
