/** A connection is read again after the server has paused it for an answer that its client had not read. */

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import test from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { connect } from 'node:tls'
import { createLog } from '../../firmware/base/log.ts'
import { makeTlsIdentity } from '../../firmware/crypto/tls/identity.ts'
import { listenTls } from '../../firmware/http/server/listener.ts'

const ANSWER = 'x'.repeat(16_000_000) // more than the sockets of both ends take
const TURNS = 200

test('a client that asked again before it read a long answer is read once it has done so', {
  timeout: 30_000,
}, async (t) => {
  let asked = 0
  const identity = await makeTlsIdentity((bytes) => new Uint8Array(randomBytes(bytes)))
  const listener = await listenTls({
    app: {
      fetch: async (request: Request) => {
        await request.text()
        asked++
        await nextTurn() // answers outside the turn in which the request came
        return new Response(ANSWER, { headers: { 'content-length': String(ANSWER.length) } })
      },
    },
    host: '127.0.0.1',
    port: 0,
    identity: () => identity,
    log: createLog('error', () => {}),
    now: Date.now,
    limits: { closeMs: 200 },
  })
  const client = connect({ host: '127.0.0.1', port: listener.port, rejectUnauthorized: false })
  t.after(() => {
    client.destroy()
    return listener.close()
  })
  await once(client, 'secureConnect')
  let received = 0
  const ask = () => client.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 6\r\n\r\na body`)
  const answers = async (count: number): Promise<void> => {
    while (received < count * ANSWER.length) await nextTurn()
  }
  ask()
  while (asked === 0) await nextTurn()
  for (let turns = 0; turns < TURNS; turns++) await nextTurn() // client and server share the event loop: the answer is stuck
  ask()
  for (let turns = 0; turns < TURNS; turns++) await nextTurn()
  client.on('data', (chunk: Buffer) => {
    received += chunk.length
  })
  await answers(2)
  ask()
  await answers(3)
  assert.equal(asked, 3)
})
