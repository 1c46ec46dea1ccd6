/** Requests that the chat has the appliance send: one that no frame holds fails by itself, and ends nothing else. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeFrame } from '../../../firmware/channel/frames.ts'
import { OUTGOING_BYTES_MAX } from '../../../firmware/chat/link/link.ts'
import { createOutgoingRequests } from '../../../firmware/chat/process/outgoing-requests.ts'
import { OutgoingError } from '../../../firmware/outgoing/error.ts'

test('a request that is longer than a frame is refused before it is sent', async () => {
  const sent: number[] = []
  const requests = createOutgoingRequests((message) => {
    sent.push(encodeFrame(message).length)
    if (message.type === 'request') requests.hear({ type: 'response', id: message.id, response: ANSWER })
  })
  const post = (bytes: number) =>
    requests.post({
      url: 'https://hooks.example.org/',
      contentType: 'application/json',
      body: 'x'.repeat(bytes),
      signal: new AbortController().signal,
    })
  for (const bytes of [OUTGOING_BYTES_MAX + 1, 2 * OUTGOING_BYTES_MAX])
    await assert.rejects(post(bytes), (error) => error instanceof OutgoingError && error.isFinal)
  assert.deepEqual(sent, [])
  assert.deepEqual(await post(OUTGOING_BYTES_MAX), { status: 200, text: '' })
})

test('a request without an answer fails after a while, and is canceled', async () => {
  const sent: string[] = []
  const requests = createOutgoingRequests(({ type }) => void sent.push(type), 20)
  const { signal } = new AbortController()
  const asked = requests.post({ url: 'https://hooks.example.org/', contentType: 'a/b', body: '', signal })
  const guard = setTimeout(() => {}, 10_000) // the timer of the request keeps no process alive
  await assert.rejects(asked, (error) => error instanceof OutgoingError && !error.isFinal)
  clearTimeout(guard)
  assert.deepEqual(sent, ['request', 'cancelRequest'])
  requests.hear({ type: 'response', id: 1, response: ANSWER })
})

const ANSWER = { status: 200, body: new Uint8Array(0) }
