/** A client whose handshake waits for the server is not blamed for the time, and is not the first to make room. */

import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import { createConnections } from '../../firmware/http/server/connections.ts'

function clientAt(remotePort: number) {
  const socket = Object.assign(new EventEmitter(), { remoteAddress: '192.0.2.1', remotePort, destroyed: false })
  return Object.assign(socket, {
    destroy() {
      socket.destroyed = true
      socket.emit('close')
    },
  }) as unknown as Socket
}

test('the time in which a handshake waits for others does not count', async (t) => {
  const connections = createConnections({ connectionsMax: 100, handshakeMs: 50 })
  t.after(() => connections.stop())
  const [silent, queued, resumed] = [clientAt(1), clientAt(2), clientAt(3)]
  for (const socket of [silent, queued, resumed]) assert.ok(connections.admit(socket))
  connections.queued(queued, true)
  connections.queued(resumed, true)
  connections.queued(resumed, false)
  while (!silent.destroyed || !resumed.destroyed) await wait(5)
  await wait(100)
  assert.equal(queued.destroyed, false)
  connections.queued(queued, false)
  while (!queued.destroyed) await wait(5)
})

test('clients that have sent nothing make room before those that wait for the server', (t) => {
  const connections = createConnections({ connectionsMax: 8, handshakeMs: 60_000 })
  t.after(() => connections.stop())
  const clients = [1, 2, 3, 4, 5, 6, 7, 8].map(clientAt)
  for (const socket of clients) assert.ok(connections.admit(socket))
  for (const socket of clients.slice(0, 7)) connections.queued(socket, true)
  const ended = () => clients.flatMap(({ destroyed }, n) => (destroyed ? [n] : []))
  const more = clientAt(9)
  assert.ok(connections.admit(more))
  assert.deepEqual(ended(), [7])
  connections.queued(more, true)
  assert.ok(connections.admit(clientAt(10)))
  assert.deepEqual(ended(), [0, 7])
})
