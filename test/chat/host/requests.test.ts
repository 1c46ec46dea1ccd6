/** Requests of a chat process that an attacker controls: the appliance keeps few of them, also of those whose response nobody reads. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { ChatConnection } from '../../../firmware/chat/host/chat-connection.ts'
import { createRequests } from '../../../firmware/chat/host/outgoing.ts'

const REQUEST = { url: 'https://hooks.example.org/', contentType: 'application/json', body: new Uint8Array(0) }

test('a process that reads no responses has few of its requests taken', async () => {
  let taken = 0
  const requests = createRequests(async () => {
    taken++
    return { problem: 'it has not listed its host', isFinal: true }
  })
  const unread: (() => void)[] = []
  const respond: ChatConnection['respond'] = () => new Promise((sent) => unread.push(sent))
  const asker = { respond } as ChatConnection
  const flood = async (from: number) => {
    for (let id = from; id < from + 1000; id++) void requests.begin(asker, { type: 'request', id, request: REQUEST })
    await nextTurn()
  }
  await flood(0)
  assert.equal(taken, 64)
  await flood(1000)
  assert.equal(unread.length, 64)
  for (const sent of unread.splice(0)) sent()
  await nextTurn()
  await flood(2000)
  assert.equal(taken, 128)
})
