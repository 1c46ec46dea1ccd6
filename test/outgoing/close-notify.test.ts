/** The stream below TLS to a log server that ends TCP first, as one may in answer to close_notify: all it sent is read, and nothing fails. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { finished } from 'node:stream/promises'
import { type TestContext, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { withoutEnd } from '../../firmware/outgoing/close-notify.ts'

async function openPair(t: TestContext): Promise<{ socket: Socket; peer: Socket }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const [peer] = (await once(server, 'connection')) as [Socket]
  t.after(() => {
    server.close()
    for (const one of [socket, peer]) one.destroy()
  })
  return { socket, peer }
}

test('its own end comes after that of a socket that has ended both ways', async (t) => {
  const { socket, peer } = await openPair(t)
  const ended = Promise.withResolvers<void>()
  const stream = withoutEnd(socket, ended.resolve)
  peer.end()
  await once(socket, 'finish')
  stream.end()
  await finished(stream, { readable: false })
  await ended.promise
})

test('what came before the end of TCP is read after the socket has closed', async (t) => {
  const { socket, peer } = await openPair(t)
  let hasEnded = false
  const stream = withoutEnd(socket, () => {
    hasEnded = true
  })
  peer.end('close_notify')
  stream.read(0) // TLS reads on later
  await once(socket, 'close')
  await wait(10)
  assert.equal(hasEnded, false)
  assert.equal(String(stream.read()), 'close_notify')
  while (!hasEnded) await wait(1)
})
